"""Collections to measure over: BEIR folders, Cranfield, records that hold their authors' one-line summaries, and the
files of TREC (qrels, runs)."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from eval.measures import Qrels, Run, ranking
from eval.results import write_text
from rag.errors import CitewellError
from rag.fold import fold

RECORD_SPLITS = ("summary", "summary-train", "title")
"""What the records of a file are asked for with."""
_TITLES = 1000


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a collection."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, queries by id, and which documents are relevant to which queries."""

    name: str
    documents: tuple[Document, ...]
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]

    def judged(self) -> dict[str, str]:
        """The queries that have judgements, by id."""
        return {i: text for i, text in self.queries.items() if i in self.qrels}


def load_collection(folder: Path, *, split: str = "test") -> Collection:
    """The collection in ``folder``: BEIR's files, or Cranfield's; or the records of a file. Raises CitewellError where it
    is none of them."""
    if folder.is_file():
        return load_records(folder, split=split)
    if (folder / "cran.all.1400").is_file():
        return load_cranfield(folder)
    return load_beir(folder, split=split)


def load_beir(folder: Path, *, split: str = "test") -> Collection:
    """``corpus.jsonl``, ``queries.jsonl`` (either may be gzipped) and ``qrels/SPLIT.tsv``."""
    documents = tuple(
        Document(str(item["_id"]), str(item.get("title") or ""), str(item["text"]))
        for item in _jsonl(_existing(folder, "corpus.jsonl"), ("_id", "text"))
    )
    queries = {
        str(item["_id"]): str(item["text"]) for item in _jsonl(_existing(folder, "queries.jsonl"), ("_id", "text"))
    }
    qrels = read_qrels(folder / "qrels" / f"{split}.tsv")
    unknown = sorted(qrels.keys() - queries.keys())
    if unknown:
        raise CitewellError(f"{folder}/qrels/{split}.tsv judges query {unknown[0]!r}, which queries.jsonl lacks")
    return Collection(folder.resolve().name, documents, queries, qrels)


def load_records(path: Path, *, split: str) -> Collection:
    """JSON lines with ``title``, ``abstract`` and perhaps ``tldr``, the author's one-line summary (gzipped or not).

    The queries are, by ``split``: "summary" or "summary-train", the summaries of one and the other half of the papers
    that have one; "title", the titles of 1,000 papers. Either asks for its own paper. A record of a paper that came
    before (the same title and abstract) is left out. Raises CitewellError for another split, or a file with no query.
    """
    if split not in RECORD_SPLITS:
        raise CitewellError(f"{path} is a file of records, without a split {split!r}; take {', '.join(RECORD_SPLITS)}")
    found: dict[tuple[str, str], tuple[Document, str]] = {}
    for number, item in enumerate(_jsonl(path, ("title", "abstract")), 1):
        title, abstract, summary = (str(item.get(key) or "") for key in ("title", "abstract", "tldr"))
        if abstract.strip():
            key = (fold(title), fold(abstract))
            found.setdefault(key, (Document(str(item.get("id") or number), title, abstract), summary.strip()))
    papers = list(found.values())
    if split == "title":
        named = sorted((d for d, _ in papers if d.title.strip()), key=lambda d: _drawn(d.id))
        queries = {d.id: d.title for d in named[:_TITLES]}
    else:
        half = RECORD_SPLITS.index(split)
        queries = {d.id: summary for d, summary in papers if summary and _drawn(d.id)[0] % 2 == half}
    if not queries:
        raise CitewellError(f"{path} holds no {'title' if split == 'title' else 'tldr'} to ask with")
    return Collection(path.name, tuple(d for d, _ in papers), queries, {i: {i: 1} for i in queries})


def _drawn(paper_id: str) -> bytes:
    return hashlib.sha256(paper_id.encode()).digest()


def load_cranfield(folder: Path) -> Collection:
    """``cran.all.1400``, ``cran.qry``, ``cranqrel``.

    The judgements number the queries 1..225 by their place in ``cran.qry``, not by the ids printed there; the join
    by printed ids gives MAP .009. Its relevance codes count downwards (1 complete answer … 4 minimum interest, -1
    none at all): 1-4 are relevant here, all alike.
    """
    documents = tuple(
        Document(fields["I"].strip(), _one_line(fields.get("T", "")), _one_line(fields.get("W", "")))
        for fields in _smart(folder / "cran.all.1400")
    )
    queries = {
        str(place): _one_line(fields.get("W", "")) for place, fields in enumerate(_smart(folder / "cran.qry"), 1)
    }
    qrels: dict[str, dict[str, int]] = {}
    for number, line in enumerate(_text(folder / "cranqrel").split("\n"), 1):
        if parts := line.split():
            if len(parts) != 3:
                raise CitewellError(f"{folder / 'cranqrel'} line {number}: {line!r} is not 'query document relevance'")
            qrels.setdefault(parts[0], {})[parts[1]] = int(int(parts[2]) > 0)
    return Collection("cranfield", documents, queries, qrels)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Judgements in TREC's form (``query 0 document relevance``) or BEIR's (``query document relevance``, a head)."""
    qrels: dict[str, dict[str, int]] = {}
    for number, line in enumerate(_text(path).split("\n"), 1):
        parts = line.split()
        if not parts or (number == 1 and parts[-1] == "score"):
            continue
        try:
            query, document, relevance = (parts[0], parts[2], parts[3]) if len(parts) == 4 else parts
            qrels.setdefault(query, {})[document] = int(relevance)
        except ValueError as error:
            raise CitewellError(
                f"{path} line {number}: {line[:80]!r} is no judgement; 'query 0 document relevance' is"
            ) from error
    if not qrels:
        raise CitewellError(f"{path} holds no judgement")
    return qrels


def read_run(path: Path) -> dict[str, dict[str, float]]:
    """A run in TREC's form: ``query Q0 document rank score name``. A score that is no finite number is refused."""
    run: dict[str, dict[str, float]] = {}
    for number, line in enumerate(_text(path).split("\n"), 1):
        parts = line.split()
        if not parts:
            continue
        if len(parts) != 6:
            raise CitewellError(
                f"{path} line {number}: {line[:80]!r} is no line of a run; 'query Q0 document rank score name' is"
            )
        query, _, document, _, score, _ = parts
        try:
            value = float(score)
        except ValueError as error:
            raise CitewellError(f"{path} line {number}: the score {score!r} is no number") from error
        if not math.isfinite(value):
            raise CitewellError(
                f"{path} line {number}: the score of document {document!r} is {score}; it must be finite"
            )
        if document in run.get(query, {}):
            raise CitewellError(f"{path} line {number}: document {document!r} comes twice for query {query!r}")
        run.setdefault(query, {})[document] = value
    return run


def write_run(path: Path, run: Run, name: str) -> None:
    """Writes ``run`` in TREC's form, in its total order; scores in full, so that reading gives the same run."""
    lines = [
        f"{query} Q0 {document} {rank} {scores[document]!r} {name}"
        for query, scores in run.items()
        for rank, document in enumerate(ranking(scores), 1)
    ]
    write_text(path, "\n".join(lines) + "\n")


def write_qrels(path: Path, qrels: Qrels) -> None:
    """Writes judgements in TREC's form."""
    lines = [f"{query} 0 {document} {value}" for query, found in qrels.items() for document, value in found.items()]
    write_text(path, "\n".join(lines) + "\n")


def _existing(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise CitewellError(f"{folder} holds no {name} (or {name}.gz); give a folder in BEIR's form, or Cranfield's")


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise CitewellError(f"{path} cannot be read ({error})") from error


def _jsonl(path: Path, needed: tuple[str, ...]) -> Iterator[Mapping[str, object]]:
    for number, line in enumerate(io.StringIO(_text(path), newline="\n"), 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except ValueError as error:
            raise CitewellError(f"{path} line {number} is not JSON ({error})") from error
        if not isinstance(item, dict) or any(key not in item for key in needed):
            raise CitewellError(f"{path} line {number} lacks one of {', '.join(needed)}: {line[:60]!r}")
        yield item


def _smart(path: Path) -> Iterator[dict[str, str]]:
    """Records of a file in SMART's form: ``.I 1`` opens one, ``.T``, ``.W`` and the like open its fields."""
    record: dict[str, str] = {}
    field = ""
    for line in _text(path).split("\n"):
        match = re.fullmatch(r"\.([A-Z])(?: (.*))?", line)
        if match and match[1] == "I":
            if record:
                yield record
            record, field = {"I": match[2] or ""}, ""
        elif match:
            field = match[1]
            record.setdefault(field, "")
        elif field:
            record[field] += line + "\n"
    if record:
        yield record


def _one_line(text: str) -> str:
    return " ".join(text.split())
