"""The questions a library is measured with: one JSON object a line, read and checked before any work starts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from rag.errors import CitewellError

Kind = Literal["single", "paraphrase", "late", "two-paper", "chinese", "follow-up", "whole-library", "unanswerable"]
Split = Literal["tune", "calibrate", "test"]

KINDS: tuple[str, ...] = get_args(Kind)
SPLITS: tuple[str, ...] = get_args(Split)
_REQUIRED = ("id", "kind", "split", "question", "papers")
_TEXTS = ("id", "kind", "class", "split", "lang", "question", "english", "note")
_LISTS = ("history", "papers", "evidence", "near")
_KNOWN = {*_TEXTS, *_LISTS, "facts", "count"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question, what answers it, and what a right answer must hold."""

    id: str
    kind: str
    split: str
    question: str
    papers: tuple[str, ...]
    """The papers that answer it; empty for an unanswerable one."""
    facts: tuple[tuple[str, ...], ...] = ()
    """What a right answer holds: of each inner tuple at least one regular expression must match."""
    evidence: tuple[str, ...] = ()
    """The words of the abstracts that answer it."""
    history: tuple[str, ...] = ()
    """What was asked before, in turn."""
    near: tuple[str, ...] = ()
    """Papers close to an unanswerable question that yet do not answer it."""
    class_: str = ""
    """The class of an unanswerable question ("class" in the file)."""
    lang: str = "en"
    count: int | None = None
    """For a question about the whole library: how many papers it is about."""
    english: str = ""
    """A translation, for the reader."""
    note: str = ""

    @property
    def answerable(self) -> bool:
        return self.kind != "unanswerable"

    @property
    def stands_alone(self) -> bool:
        """True where it can be looked up as it is: in the library's language and without earlier turns."""
        return self.lang == "en" and not self.history


def default_questions() -> Path:
    """The questions about the seeds that come with Citewell."""
    return Path(str(files("eval").joinpath("questions.jsonl")))


def load_questions(path: Path) -> list[Question]:
    """The questions of a JSONL file, in its order.

    Raises CitewellError with file, line and value where a line is no such question, an id comes twice, a fact is no
    regular expression, or there are none at all.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # splitlines() would cut at a raw U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise CitewellError(f"{path} cannot be read ({error}); give a JSONL file of questions in UTF-8") from error
    questions: dict[str, Question] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        question = _question(line, f"{path} line {number}")
        if question.id in questions:
            raise CitewellError(f"{path} line {number}: the id {question.id!r} comes twice; give each question its own")
        questions[question.id] = question
    if not questions:
        raise CitewellError(f"{path} holds no question; each line must be a JSON object with {', '.join(_REQUIRED)}")
    return list(questions.values())


def select(
    questions: Sequence[Question], *, split: str = "all", kinds: Collection[str] | None = None
) -> list[Question]:
    """The questions of a split ("all": of every one) and of ``kinds`` (None: of every one), in their order.

    Raises CitewellError for an unknown split or kind, or where nothing is left.
    """
    if split not in (*SPLITS, "all"):
        raise CitewellError(f"unknown split {split!r}; take one of {', '.join((*SPLITS, 'all'))}")
    unknown = sorted(set(kinds or ()) - set(KINDS))
    if unknown:
        raise CitewellError(f"unknown kind {unknown[0]!r}; take some of {', '.join(KINDS)}")
    chosen = [q for q in questions if split in ("all", q.split) and (kinds is None or q.kind in kinds)]
    if not chosen:
        raise CitewellError(f"no question of split {split!r} and kinds {', '.join(sorted(kinds or KINDS))}")
    return chosen


def spread(questions: list[Question], limit: int | None) -> list[Question]:
    """``limit`` of the questions, at even distances, so that every kind of an ordered file has its share."""
    if limit is None or limit >= len(questions):
        return questions
    if limit < 1:
        raise CitewellError(f"--limit is {limit}; it must be at least 1")
    return [questions[i * len(questions) // limit] for i in range(limit)]


def require_papers(questions: Sequence[Question], held: Iterable[str], library: str) -> None:
    """Raises CitewellError where no question's paper is in the library: the file is about another one."""
    known = set(held)
    missing = [(q.id, p) for q in questions for p in q.papers if p not in known]
    if missing:
        question, paper = missing[0]
        raise CitewellError(
            f"question {question!r} names the paper {paper!r}, which the library {library!r} does not hold "
            f"({len(missing)} such); index what the questions are about, or name its library with --library"
        )


def as_line(question: Question) -> str:
    """The question as a line of a questions file, what is empty left out."""
    item = {"id": question.id, "kind": question.kind, "class": question.class_, "split": question.split}
    fields: dict[str, Any] = {**item, "lang": question.lang, "question": question.question}
    for name in ("english", "history", "papers", "near", "facts", "evidence", "count", "note"):
        fields[name] = getattr(question, name)
    kept = {k: v for k, v in fields.items() if v not in ("", (), None) or k in _REQUIRED}
    return json.dumps(kept, ensure_ascii=False)


def fingerprint(path: Path) -> str:
    """SHA-256 of a questions file: 64 hex digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def cluster_of(questions: Sequence[Question]) -> dict[str, str]:
    """For each question's id the cluster it belongs to: questions that share a paper are not independent.

    Questions are joined through the papers that answer them, or are near to them; one about the whole library, or about
    more than two papers, is a cluster by itself, since it would join all others.
    """
    parent: dict[str, str] = {}

    def root(item: str) -> str:
        parent.setdefault(item, item)
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    def papers_of(question: Question) -> tuple[str, ...]:
        papers = question.papers or question.near
        return papers if len(papers) <= 2 and question.kind != "whole-library" else ()

    for question in questions:
        papers = papers_of(question)
        for paper in papers[1:]:
            one, other = sorted((root(papers[0]), root(paper)))
            parent[other] = one
    return {q.id: root(papers_of(q)[0]) if papers_of(q) else f"question:{q.id}" for q in questions}


def _question(line: str, place: str) -> Question:
    try:
        item = json.loads(line)
    except ValueError as error:
        raise CitewellError(f"{place} is not JSON ({error}); each line must be an object") from error
    if not isinstance(item, dict):
        raise CitewellError(f"{place} is no JSON object: {line.strip()[:60]}")
    _check_shape(item, place)
    if item["kind"] not in KINDS:
        raise CitewellError(f"{place}: unknown kind {item['kind']!r}; take one of {', '.join(KINDS)}")
    if item["split"] not in SPLITS:
        raise CitewellError(f"{place}: unknown split {item['split']!r}; take one of {', '.join(SPLITS)}")
    if (item["kind"] == "unanswerable") == bool(item["papers"]):
        raise CitewellError(
            f"{place}: question {item['id']!r} of kind {item['kind']!r} has {len(item['papers'])} papers; "
            "unanswerable ones have none, all others at least one"
        )
    if item["kind"] == "follow-up" and not item.get("history"):
        raise CitewellError(f"{place}: follow-up {item['id']!r} has no history; give the questions asked before it")
    return Question(
        id=item["id"],
        kind=item["kind"],
        split=item["split"],
        question=item["question"],
        papers=tuple(item["papers"]),
        facts=tuple(tuple(alternatives) for alternatives in item.get("facts", [])),
        evidence=tuple(item.get("evidence", [])),
        history=tuple(item.get("history", [])),
        near=tuple(item.get("near", [])),
        class_=item.get("class", ""),
        lang=item.get("lang", "en"),
        count=item.get("count"),
        english=item.get("english", ""),
        note=item.get("note", ""),
    )


def _check_shape(item: Mapping[str, Any], place: str) -> None:
    for key in _REQUIRED:
        if key not in item:
            raise CitewellError(f"{place} lacks {key!r}; a question needs {', '.join(_REQUIRED)}")
    for key, value in item.items():
        if key not in _KNOWN:
            raise CitewellError(f"{place}: unknown field {key!r}; known ones: {', '.join(sorted(_KNOWN))}")
        if key in _TEXTS and not isinstance(value, str):
            raise CitewellError(f"{place}: {key!r} is {value!r}; it must be a text")
        if key in _LISTS and not _texts(value):
            raise CitewellError(f"{place}: {key!r} is {value!r}; it must be a list of texts")
    if not item["question"].strip() or not item["id"].strip():
        raise CitewellError(f"{place}: the id or the question is empty")
    count = item.get("count")
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 0):
        raise CitewellError(f"{place}: 'count' is {count!r}; it must be a number of papers")
    facts = item.get("facts", [])
    if not isinstance(facts, list) or not all(_texts(alternatives) and alternatives for alternatives in facts):
        raise CitewellError(f"{place}: 'facts' is {facts!r}; it must be a list of lists of regular expressions")
    for pattern in (p for alternatives in facts for p in alternatives):
        try:
            re.compile(pattern)
        except re.error as error:
            raise CitewellError(f"{place}: the fact {pattern!r} is no regular expression ({error})") from error


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)
