"""Whether a library bears a sentence out, contradicts it, or does not speak of it; with the exact words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rag.cite import Checked, cited
from rag.errors import QuestionError
from rag.mismatch import mismatches
from rag.records import Citation, Paper
from rag.retrieve import CitewellRetriever, check_question
from rag.stance import CLASSES, Stance, stance
from rag.verify import Judgement, Verifier, passages_of

Label = Literal["supported", "contradicted", "unsupported"]
_SPOKEN_OF = 0.6
"""The share of a sentence that its support must hold before a disagreement decides."""
_OWN_WORDS = 0.8
"""The share from which a sentence passes for made of the source's words. Both by inner folds of SciFact's train."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The verdict on a sentence of one's own; ``score`` is the probability that the library bears it out."""

    sentence: str
    verdict: Label
    score: float
    citations: tuple[Citation, ...]
    reason: str


class Checker:
    """Checks sentences against a library."""

    def __init__(self, retriever: CitewellRetriever, *, papers: int = 5) -> None:
        """``papers`` is how many of the nearest papers a sentence is held against."""
        self._retriever = retriever
        self._papers = papers

    def check(self, sentence: str, *, paper_id: str | None = None) -> Verification:
        """The verdict on ``sentence`` by the whole library, or by one paper.

        Raises QuestionError for an empty or too long sentence, or a paper the library does not hold.
        """
        said = check_question(sentence)
        papers = self._candidates(said, paper_id)
        library = self._retriever.library
        verifier = Verifier(library.embedder, library.snapshot().words.idf)
        judgement = verifier.judge(
            said, [p for paper in papers for p in passages_of(paper)], labels={p.paper_id: p.label for p in papers}
        )
        read = max(
            (
                stance(said, passages_of(paper), library.embedder, library.snapshot().words.idf)
                for paper in papers
                if paper.abstract.strip()
            ),
            key=lambda s: 1.0 - s.unsupported,
            default=None,
        )
        ruled = by_rules(said, judgement)
        verdict = ruled or read_as(read)
        if read is not None and ruled is None and verdict != judgement.verdict:
            # the words are not the source's: what was read from it is told, not what the rules found
            judgement = replace(judgement, support=read.passages, score=read.supported, reason=_REASONS[verdict])
        _, citations = cited([Checked(said, judgement)], {p.paper_id: p for p in papers})
        shown = tuple(citations) if verdict != "unsupported" else ()
        return Verification(said, verdict, judgement.score, shown, judgement.reason)

    def _candidates(self, sentence: str, paper_id: str | None) -> Sequence[Paper]:
        if paper_id is None:
            return [h.paper for h in self._retriever.search(sentence, k=self._papers)]
        papers = self._retriever.library.papers([paper_id])
        if not papers:
            raise QuestionError(f"the library holds no paper {paper_id!r}; 'citewell papers' lists the ids")
        return papers


_REASONS = {
    "supported": "the source says so in other words",
    "contradicted": "the source says otherwise",
    "unsupported": "no sentence of the library says this",
}


def by_rules(sentence: str, judgement: Judgement) -> Label | None:
    """The verdict on a sentence that is made of the source's words; None on another, which the rules cannot judge."""
    kinds = _told(sentence, judgement)
    if judgement.coverage >= _SPOKEN_OF and kinds & {"number", "negation", "direction"}:
        return "contradicted"
    if judgement.coverage >= _SPOKEN_OF and "name" in kinds and judgement.verdict != "supported":
        return "unsupported"
    if judgement.verdict != "unsupported" and judgement.coverage >= _OWN_WORDS:
        return "supported"
    return None


def read_as(read: Stance | None) -> Label:
    """The likeliest of what a paper says of a sentence in other words; no paper says nothing."""
    if read is None:
        return "unsupported"
    return CLASSES[int(np.argmax([read.supported, read.contradicted, read.unsupported]))]


def _told(sentence: str, judgement: Judgement) -> set[str]:
    """The kinds of disagreement between a sentence and its support."""
    joined = " ".join(p.text for p in judgement.support)
    return {m.kind for m in mismatches(sentence, joined, context=joined)}
