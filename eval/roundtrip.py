"""Whether a question that was made may stay: it finds its paper, and its paper answers it with what it was made from.

Every test gives the reason for which a question is dropped, or "".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property

from llama_index.core.llms.llm import LLM

from eval.facts import missing_facts
from eval.questions import Question
from rag.cite import split_claims
from rag.figures import names
from rag.fold import plain
from rag.library import Library
from rag.mismatch import mismatches
from rag.prompt import answer_prompt
from rag.records import Evidence, Paper
from rag.retrieve import CitewellRetriever
from rag.terms import terms
from rag.verify import Judgement, Verifier, passages_of

TOP = 5
"""A question must find its papers among this many."""
_SAME = 0.8
"""Share of common words, of all words of two questions, from which they are one question asked twice."""
_ANSWERED = 0.7
"""Share of a question's words, weighed by rarity, that one abstract holds where it may well answer the question."""
_OPENS = re.compile(
    r"(?:what|which|who|whose|whom|when|where|why|how|by|on|in|to|for|with|from|over|under|at|of|after|before|during|among|between|through|without|against|does|do|did|is|"
    r"are|was|were|can|could)\b",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?:it|they|we|our|ours|us|this|these|those|the (?:given |above |following |proposed )?"
    r"(?:sentence|passage|text|abstract|answer|authors?|paper|study|article|method|approach|framework|work|topic))\b",
    re.IGNORECASE,
)
_ASKS_FOR = {
    "figure": re.compile(
        r"\b(?:how|what|which (?:share|percentage|fraction|proportion|number|rate|accuracy|value|score|size|factor|amount))\b",
        re.I,
    ),
    "name": re.compile(
        r"^(?!.*\bhow (?:many|much|often|long|large|fast)\b).*\b(?:what|which|who|whom|whose|where)\b", re.I
    ),
    "way": re.compile(
        r"\b(?:how(?! (?:many|much|often|long|large|fast)\b)|why|(?:by|through|with|in|on|from) (?:what|which)"
        r"|what (?:makes|allows|enables|causes|leads|helps)|(?:what|which)\b.*\b(?:method|technique|approach|mechanism|way|means|cause|reason|"
        r"strategy|procedure|trick|kind)s?)\b",
        re.I,
    ),
}
"""How a question asks that a figure, a name or a way answers."""
_IN_PERCENT = re.compile(
    r"\bhow\b|percent|share|fraction|proportion|\brates?\b|accura|correct|precision|recall|score|\bF1\b|auroc|\bauc\b|error|improve|"
    r"reduc|increas|decreas|gain|drop|coverage|probab|sparsity|success|savings?|speed",
    re.I,
)
"""What is told in percent: of anything else, "91% of the bandwidth" is a share and not the thing."""
_ASKS_WHICH = re.compile(
    r"\b(?:which|what) (?:\w+ )?(?:model|method|framework|approach|system|algorithm|architecture|technique)\b", re.I
)
_RARE = 0.45
"""Share of the inverse document frequency of a word that no paper holds, from which a word is one of few papers."""
_TELLING = 2
"""Words of few papers that a question must share with its paper, or one of its name."""
_ASKING = frozenset(terms("what which who why when where how much many does do did is are was were can could use used"))


class Roundtrip:
    """The tests, over one library and one language model."""

    def __init__(self, retriever: CitewellRetriever, llm: LLM) -> None:
        self._retriever = retriever
        self._llm = llm
        self.library: Library = retriever.library

    @cached_property
    def verifier(self) -> Verifier:
        return Verifier(self.library.embedder, self.library.snapshot().words.idf)

    def form(self, question: str) -> str:
        """A question stands alone: one sentence that asks, and no word that points outside it."""
        words = question.split()
        if not question.endswith("?") or not _OPENS.match(question) or question.count("?") > 1:
            return "no single question"
        if not 5 <= len(words) <= 40:
            return "too short or too long"
        if match := _POINTS.search(question):
            return f"points outside itself (“{match.group().lower()}”)"
        return ""

    def leak(self, question: str, facts: Sequence[Sequence[str]]) -> str:
        """The question does not hold its own answer."""
        return "" if len(missing_facts(facts, question)) == len(facts) else "gives its answer away"

    def asks_for(self, question: str, sort: str, words: str = "") -> str:
        """The question asks for what its answer ``words`` is: how many for a figure, how or why for a way …"""
        fits = _ASKS_FOR[sort].search(question) and ("%" not in words or _IN_PERCENT.search(question))
        return "" if fits else f"does not ask for its answer (a {sort})"

    def vague(self, question: str, paper: Paper) -> str:
        """The question says what it is about: it shares words with its paper that few others hold."""
        rare = self._rare(question, paper)
        named = rare & set(terms(paper.label))
        return "" if named or len(rare) >= _TELLING else "does not say what it is about"

    def general(self, question: str, paper: Paper) -> str:
        """A question that is to be asked of another paper by its name asks for what its own has, beside the name."""
        rare = self._rare(question, paper) - set(terms(paper.label))
        return "" if len(rare) >= _TELLING else "could be asked of any paper"

    def _rare(self, question: str, paper: Paper) -> set[str]:
        """The words of few papers that a question shares with a paper, as stems."""
        idf = self.library.snapshot().words.idf
        shared = (set(terms(question)) - _ASKING) & set(terms(f"{paper.label} {plain(paper.abstract)}"))
        return {t for t in shared if idf(t) >= _RARE * idf("\0")}

    def invention(self, question: str, papers: Sequence[Paper]) -> str:
        """Names and figures of the question stand in its papers."""
        held = " ".join(f"{p.label} {p.title} {p.abstract}" for p in papers)
        found = [m for m in mismatches(question, held, context=held, loose=True) if m.kind in ("name", "number")]
        return "holds a name or figure that its paper lacks" if found else ""

    def unfound(self, question: str, papers: Sequence[str]) -> str:
        """Its papers are among the first TOP found."""
        found = {p.paper_id for p in self._found(question)}
        return "" if set(papers) <= found else f"does not find its paper among the first {TOP}"

    def unread(self, question: Question, paper: Paper) -> str:
        """Read against the whole abstract, the language model comes to the same answer, and the quote bears it out."""
        said = self.read(question.question, paper)
        if missing_facts(question.facts, said):
            return "its paper is read to answer otherwise"
        own = names(f"of {paper.label}")
        if _ASKS_WHICH.search(question.question) and own & names(f": {said}") - names(f": {question.question}"):
            return "its paper is read to answer with its own name"
        quotes = set(question.evidence)
        for claim in (c.text for c in split_claims(said)):
            if len(missing_facts(question.facts, claim)) == len(question.facts):
                continue  # it speaks of something else
            judged = self._judged(claim, paper, question.question)
            if judged.verdict == "supported" and quotes & {p.text for p in judged.support}:
                return ""
        return "the quoted sentence does not bear the answer out"

    def read(self, question: str, paper: Paper) -> str:
        """What the language model says to a question, given the sentences of its paper alone."""
        passages = passages_of(paper)
        evidence = [Evidence(n, paper.paper_id, p.start, p.end, p.text, 1.0) for n, p in enumerate(passages[:14], 1)]
        reply = self._llm.chat(answer_prompt(question, evidence, {paper.paper_id: paper.label}), max_tokens=90)
        return reply.message.content or ""

    def shared(self, question: Question) -> str:
        """No other paper found holds a sentence with the facts that speaks of what is asked."""
        asked = self._asked(question.question)
        for paper in self._found(question.question):
            if paper.paper_id in question.papers:
                continue
            for passage in passages_of(paper):
                if not missing_facts(question.facts, passage.text) and self._covered(asked, passage.text) >= _ANSWERED:
                    return "another paper answers it too"
        return ""

    def covered(self, question: str, papers: Sequence[Paper] | None = None, *, besides: Collection[str] = ()) -> str:
        """For a question that is to have no answer: none of ``papers`` (None: of those found) holds most of its words.

        ``besides`` are stems that do not count: those of the paper's name.
        """
        asked = {t: w for t, w in self._asked(question).items() if t not in besides}
        for paper in papers or self._found(question):
            if asked and self._covered(asked, f"{paper.label} {paper.abstract}") >= _ANSWERED:
                return "an abstract holds most of what it asks"
        return ""

    def borne_out(self, question: str, papers: Sequence[Paper] | None = None) -> str:
        """For a question that is to have no answer: no sentence of ``papers`` (None: of those found) says what it
        takes for granted."""
        for paper in papers or self._found(question):
            if self._judged(question.rstrip("?"), paper, question).verdict == "supported":
                return "a sentence bears it out"
        return ""

    def _found(self, question: str) -> list[Paper]:
        return [hit.paper for hit in self._retriever.search(question, k=TOP)]

    def _asked(self, question: str) -> dict[str, float]:
        idf = self.library.snapshot().words.idf
        return {t: idf(t) for t in set(terms(question)) - _ASKING}

    def _covered(self, asked: dict[str, float], text: str) -> float:
        held = set(terms(text))
        return sum(w for t, w in asked.items() if t in held) / (sum(asked.values()) or 1.0)

    def _judged(self, claim: str, paper: Paper, asked: str) -> Judgement:
        return self.verifier.judge(claim, passages_of(paper), labels={paper.paper_id: paper.label}, asked=asked)


def same(one: str, other: str) -> bool:
    """Whether two questions are one, asked twice: their words are nearly the same, and so are their names."""
    a, b = set(terms(one)), set(terms(other))
    return len(a & b) >= _SAME * len(a | b) and names(f": {one}") == names(f": {other}")
