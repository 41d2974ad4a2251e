"""What one browser session has asked and been told; immutable, so that each session holds its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from rag.filters import EVERYTHING, Filter
from rag.records import Answer, Finished, Found, Hit, Paper, Token, Turn
from serve.run import Failed, Papers, Step

RECENT = 20
"""Exchanges that are shown at once; the earlier ones of a long conversation when they are asked for."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and what became of it: an answer, an error, or what was written before it was stopped."""

    question: str
    answer: Answer | None = None
    hits: tuple[Hit, ...] = ()
    papers: dict[str, Paper] = field(default_factory=dict)
    """Every paper the answer cites or that was found, by id."""
    draft: str = ""
    error: str = ""
    stopped: bool = False
    thumb: Literal["", "up", "down"] = ""
    """What the reader thinks of the answer."""
    why: str = ""
    """And why, in their own words."""
    where: Filter = EVERYTHING
    """Which papers were looked at."""
    language: str = ""
    """The language that the answer was wanted in, by its English name; "" is that of the question."""

    def after(self, step: Step) -> Exchange:
        """The exchange after a step of its run."""
        match step:
            case Found(hits):
                return replace(self, hits=hits, papers=papers_by_id(hit.paper for hit in hits))
            case Token(text):
                return replace(self, draft=self.draft + text)
            case Papers(papers):
                return replace(self, papers=self.papers | papers_by_id(papers))
            case Finished(answer):
                return replace(self, answer=answer)
            case Failed(message, _):
                return replace(self, error=message)
            case _:
                return self


@dataclass(frozen=True, slots=True)
class Conversation:
    """The exchanges of a conversation, oldest first, and where it is kept: nowhere while ``key`` is empty."""

    exchanges: tuple[Exchange, ...] = ()
    key: str = ""
    title: str = ""
    version: int = 0
    """Counts what was written under the key; another number there means that the conversation went on elsewhere."""
    shown: int = RECENT
    """How many of the last exchanges are shown."""
    where: Filter = EVERYTHING
    """Which papers the next question is put to."""
    library: str = ""
    """The library it is held with; "" is the one the page is served for."""

    def __len__(self) -> int:
        return len(self.exchanges)

    def before(self, index: int) -> Conversation:
        """The conversation up to the exchange numbered ``index`` from 0, without it."""
        return replace(self, exchanges=self.exchanges[: max(0, index)])

    def and_then(self, exchange: Exchange) -> Conversation:
        return replace(self, exchanges=(*self.exchanges, exchange))

    def with_exchange(self, index: int, exchange: Exchange) -> Conversation:
        """The conversation with ``exchange`` in the place of the one numbered ``index``."""
        return replace(self, exchanges=(*self.exchanges[:index], exchange, *self.exchanges[index + 1 :]))

    def with_earlier(self) -> Conversation:
        """The conversation with RECENT more exchanges shown."""
        return replace(self, shown=self.shown + RECENT)

    @property
    def first_shown(self) -> int:
        """Number of the first exchange that is shown, from 0."""
        return max(0, len(self.exchanges) - self.shown)

    def turns(self) -> tuple[Turn, ...]:
        """What the query engine may look back on: the exchanges that came to an answer."""
        return tuple(
            Turn(e.answer.resolved_question, e.answer.text, cited_papers(e.answer)) for e in self.exchanges if e.answer
        )


def cited_papers(answer: Answer) -> tuple[str, ...]:
    """Ids of the papers an answer cites, in the order of their markers, each once."""
    return tuple(dict.fromkeys(citation.paper_id for citation in answer.citations))


def papers_by_id(papers: Iterable[Paper]) -> dict[str, Paper]:
    return {paper.paper_id: paper for paper in papers}
