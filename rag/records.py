"""The values that travel through Citewell, none ever changed; this module imports nothing of ours.

file -> SourceRecord -> Paper -> Chunk -> index
question -> Hit -> Evidence -> text -> AnswerSentence + Citation -> Answer
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

Verdict = Literal["supported", "partial", "unsupported"]
Status = Literal["answered", "abstained"]


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """A place a paper was read from.

    ``file`` is the path relative to what was indexed, with ``/`` between its parts (inside a zip:
    ``archive.zip/member.txt``); ``row`` counts the records of the file from 1; a heading that leads the
    file has row 0.
    """

    file: str
    row: int

    def __str__(self) -> str:
        return f"{self.file}#{self.row}"


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One record as a file holds it, decoded and trimmed, otherwise untouched."""

    source: Source
    abstract: str
    title: str = ""
    authors: tuple[str, ...] = ()
    venue: str = ""
    year: int | None = None
    keywords: tuple[str, ...] = ()
    doi: str = ""
    arxiv: str = ""
    url: str = ""
    key: str = ""
    """The identifier the file itself gives the record (BEIR ``_id``, OpenReview id, BibTeX key)."""


class Printed:
    """A record known by its print and its place; the record itself is fetched when it is first looked at.

    Of equal prints come equal records, but for where they stand.
    """

    def __init__(self, print: str, source: Source, fetch: Callable[[], SourceRecord]) -> None:
        self.print = print
        self.source = source
        self._fetch = fetch

    @classmethod
    def of(cls, print: str, record: SourceRecord) -> Printed:
        """One that is there already."""
        return cls(print, record.source, lambda: record)

    @cached_property
    def record(self) -> SourceRecord:
        return self._fetch()


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in a source that is no paper. ``row`` is None when the whole file was skipped."""

    file: str
    row: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Split:
    """A user's decision: the record ``record_id`` is not the work of ``others``, record ids, sorted. ``source`` is
    where it stood then."""

    record_id: str
    others: tuple[str, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class Paper:
    """One work: its richest record, and every place it was found."""

    paper_id: str
    label: str
    abstract: str
    title: str = ""
    authors: tuple[str, ...] = ()
    venue: str = ""
    year: int | None = None
    keywords: tuple[str, ...] = ()
    doi: str = ""
    arxiv: str = ""
    url: str = ""
    key: str = ""
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of whole sentences of an abstract: ``text == abstract[start:end]``."""

    chunk_id: str
    paper_id: str
    start: int
    end: int
    text: str
    head: str = ""
    """What of the paper's title is embedded before the text."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A paper found for a question; ``rank`` counts from 1, ``score`` is in [0, 1], higher is better."""

    rank: int
    paper: Paper
    score: float
    dense: float = 0.0
    """Cosine of the question and the paper's best chunk."""
    lexical: float = 0.0
    """BM25 of the paper over the most that the question could have, in [0, 1]."""
    late: float = 0.0
    """Late interaction of the question's tokens and those of the paper's best chunk, a mean cosine."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A numbered sentence of an abstract, as the language model sees it: ``text == abstract[start:end]``."""

    number: int
    paper_id: str
    start: int
    end: int
    text: str
    score: float
    """How likely the sentence is to bear on the question, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Citation:
    """The exact words that bear a sentence out: ``quote == abstract[start:end]`` of the stored abstract."""

    marker: int
    paper_id: str
    label: str
    quote: str
    start: int
    end: int
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of the answer, its verdict and the markers of the citations that bear it out."""

    text: str
    verdict: Verdict
    citations: tuple[int, ...]
    reason: str = ""
    """Why the verdict is not "supported", in words for the reader; else empty."""
    quoted: bool = False
    """True where the sentence is the source's own."""
    original: str = ""
    """The English sentence that was checked, where ``text`` is its translation; else empty."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What Citewell says to a question. ``text`` holds the sentences with their ``[n]`` markers."""

    question: str
    resolved_question: str
    status: Status
    text: str
    sentences: tuple[AnswerSentence, ...]
    citations: tuple[Citation, ...]
    nearest: tuple[Hit, ...]
    confidence: float
    """Probability-like, in [0, 1]: compare it with the threshold, not with another library's."""
    reason: str = ""
    """For an abstention, its kind: not-in-library, not-a-question, unclear, premise; else empty."""
    signals: dict[str, float] = field(default_factory=dict)
    """What the confidence was made from, by the names of ``rag.abstain.FEATURES``; empty where nothing was asked."""
    timings_ms: dict[str, float] = field(default_factory=dict)
    """Milliseconds since the question came in: retrieve, first_token, total."""
    llm: str = ""
    index: str = ""
    guarantee: str = ""
    """For a library that was calibrated: the bound on wrong answers, or why it does not hold; else empty."""


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier turn of a conversation: what was asked (as resolved), answered, and from which papers."""

    question: str
    answer: str
    paper_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """Event: ``ahead`` questions of others have the language model first; 0 when the wait is over."""

    ahead: int


@dataclass(frozen=True, slots=True)
class Resolved:
    """Event: the question that is looked up, standing alone and in the library's language."""

    question: str


@dataclass(frozen=True, slots=True)
class Found:
    """Event: the papers found, best first; comes before the first word."""

    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """Event: a further piece of the raw text; what it says is not checked yet."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """Event: the last one, with every sentence checked."""

    answer: Answer


Event = Waiting | Resolved | Found | Token | Finished
