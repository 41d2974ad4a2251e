"""What one browser session has asked and been told; immutable, so that each session holds its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from rag.records import Answer, Hit, Paper, Turn


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


@dataclass(frozen=True, slots=True)
class Conversation:
    """The exchanges of a session, oldest first."""

    exchanges: tuple[Exchange, ...] = ()

    def __len__(self) -> int:
        return len(self.exchanges)

    def before(self, index: int) -> Conversation:
        """The conversation up to the exchange numbered ``index`` from 0, without it."""
        return replace(self, exchanges=self.exchanges[: max(0, index)])

    def and_then(self, exchange: Exchange) -> Conversation:
        return replace(self, exchanges=(*self.exchanges, exchange))

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
