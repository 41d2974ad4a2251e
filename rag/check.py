"""Whether a library bears a sentence out, contradicts it, or does not speak of it; with the exact words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rag.cite import Checked, cited
from rag.errors import QuestionError
from rag.mismatch import mismatches
from rag.records import Citation, Paper
from rag.retrieve import CitewellRetriever, check_question
from rag.verify import Verifier, passages_of


@dataclass(frozen=True, slots=True)
class Verification:
    """The verdict on a sentence of one's own; ``score`` is the probability that ``citations`` bear it out."""

    sentence: str
    verdict: Literal["supported", "contradicted", "unsupported"]
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
        joined = " ".join(p.text for p in judgement.support)
        kinds = {m.kind for m in mismatches(said, joined, context=joined)}
        speaks = judgement.coverage >= 0.5
        if judgement.verdict == "supported" or (judgement.verdict == "partial" and not kinds):
            verdict: Literal["supported", "contradicted", "unsupported"] = "supported"
        elif speaks and kinds & {"number", "negation", "direction"}:
            verdict = "contradicted"
        else:
            verdict = "unsupported"
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
