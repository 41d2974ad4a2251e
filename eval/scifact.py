"""SciFact's claims (Wadden et al. 2020): each with the abstracts it was written about, and what they say of it.

The folder holds ``corpus.jsonl.gz`` (abstracts as lists of sentences) and ``claims_<split>.jsonl``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rag.errors import CitewellError
from rag.records import Paper
from rag.verify import Passage

Stance = Literal["supported", "contradicted", "unsupported"]
_STANCES: dict[str, Stance] = {"SUPPORT": "supported", "CONTRADICT": "contradicted"}


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence held against one abstract."""

    id: str
    text: str
    paper_id: str
    stance: Stance
    """What the abstract says: "unsupported" where it neither bears the claim out nor speaks against it."""
    sentences: tuple[int, ...] = ()
    """The sentences of the abstract, from 0, that say so."""


@dataclass(frozen=True, slots=True)
class SciFact:
    """The abstracts by id, and their sentences as passages."""

    papers: Mapping[str, Paper]
    passages: Mapping[str, tuple[Passage, ...]]

    @classmethod
    def load(cls, folder: Path) -> SciFact:
        """Raises CitewellError where the folder holds no such corpus."""
        papers, passages = {}, {}
        path = folder / "corpus.jsonl.gz"
        try:
            with gzip.open(path, "rt", encoding="utf-8") as file:
                for line in file:
                    row = json.loads(line)
                    ident, text = str(row["_id"]), ""
                    found = []
                    for sentence in row["sentences"]:
                        said = " ".join(sentence.replace("\\n", " ").split())
                        text += f" {said}" if text else said
                        found.append(Passage(ident, len(text) - len(said), len(text), said))
                    papers[ident] = Paper(ident, row["title"], text, title=row["title"])
                    passages[ident] = tuple(found)
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            raise CitewellError(f"{path} is no corpus of SciFact ({error}); give the folder that holds it") from error
        return cls(papers, passages)


def claims(folder: Path, split: str) -> list[Claim]:
    """The claims of a split with each abstract they cite, in the order of the file.

    Raises CitewellError where the file is missing or holds something else.
    """
    path = folder / f"claims_{split}.jsonl"
    found = []
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for paper in dict.fromkeys([*row["cited_doc_ids"], *(e["doc_id"] for e in row["evidence"])]):
                evidence = [e for e in row["evidence"] if e["doc_id"] == paper]
                stance: Stance = _STANCES[evidence[0]["label"]] if evidence else "unsupported"
                where = sorted({n for e in evidence for n in e["sentences"]})
                found.append(Claim(str(row["id"]), row["claim"], str(paper), stance, tuple(where)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CitewellError(f"{path} holds no claims of SciFact ({error}); give the folder that holds them") from error
    return found
