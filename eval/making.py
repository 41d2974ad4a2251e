"""Questions about a library of one's own: the language model words them, rules decide what is asked and what stays."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms.llm import LLM

from eval.make_prompts import ask_prompt, elsewhere_prompt, reword_prompt
from eval.questions import Question
from eval.roundtrip import Roundtrip, same
from eval.spans import spans_of
from eval.splits import split_of
from eval.unanswerable import SUBJECTS, detail_questions, name_of, stems_of, swapped, turned
from rag.figures import names
from rag.fold import plain
from rag.records import Paper
from rag.terms import terms
from rag.verify import passages_of

MADE_KINDS = ("single", "paraphrase", "two-paper", "unanswerable")
_TRIES = 8
"""Drafts of a kind that may fail for each question of it that is wanted."""
_PAIRED = 2
"""Pairs that a paper may be half of."""
_ALIKE = 0.35
"""Cosine of a question and the same in other words, below which it asks something else."""
_SUBJECT = re.compile(
    r"\b(?:the|this|their|our) (?:proposed |new |novel )?(?:method|framework|approach|model|paper|study|work|authors?)\b"
)


@dataclass(slots=True)
class Made:
    """What came of it."""

    questions: list[Question] = field(default_factory=list)
    dropped: dict[str, Counter[str]] = field(default_factory=dict)
    """Kind -> reason -> how many drafts."""


class Maker:
    """Makes questions about the papers of a library. The same seed, library and model make the same questions."""

    def __init__(
        self, roundtrip: Roundtrip, llm: LLM, papers: Sequence[Paper], *, seed: int, splits: Mapping[str, str]
    ) -> None:
        """``splits`` are those of papers that other questions are about already."""
        self._test = roundtrip
        self._llm = llm
        self._seed = seed
        self._splits = splits
        self._papers = sorted(papers, key=lambda p: p.paper_id)
        random.Random(seed).shuffle(self._papers)
        self._accepted: dict[str, list[Question]] = {}
        self._drafts: dict[str, Iterator[Question]] = {}
        self._used: Counter[str] = Counter()
        self._asked: list[str] = []
        self.made = Made()

    def make(self, kind: str, wanted: int) -> Iterator[Question]:
        """At most ``wanted`` questions of a kind, one by one; fewer where no more come through the tests."""
        source = {
            "single": self._singles,
            "paraphrase": self._paraphrases,
            "two-paper": self._pairs,
            "unanswerable": self._unanswerable,
        }[kind]()
        dropped = self.made.dropped.setdefault(kind, Counter())
        given = 0
        while given < wanted and dropped.total() < _TRIES * wanted:
            question = next(source, None)
            if question is None:
                return
            if any(same(question.question, q) for q in self._asked):
                dropped["asked before"] += 1
                continue
            given += 1
            self._asked.append(question.question)
            self.made.questions.append(question)
            yield question

    def _singles(self) -> Iterator[Question]:
        """One question a paper, then a second one each, and so on."""
        return _in_turn([self._of(paper) for paper in self._papers])

    def _of(self, paper: Paper) -> Iterator[Question]:
        """Questions about one paper that nothing else was made of yet."""
        while (question := self._single(paper, self._used[paper.paper_id])) is not None:
            self._used[paper.paper_id] += 1
            yield question

    def _single(self, paper: Paper, number: int) -> Question | None:
        """The question about ``paper`` with that number, from 0, however often it is asked for."""
        accepted = self._accepted.setdefault(paper.paper_id, [])
        drafts = self._drafts.setdefault(paper.paper_id, self._worded(paper))
        while len(accepted) <= number:
            question = next(drafts, None)
            if question is None:
                return None
            accepted.append(question)
        return accepted[number]

    def _worded(self, paper: Paper) -> Iterator[Question]:
        """Questions about one paper that came through all tests, its sentences in an order of the seed's."""
        idf = self._test.library.snapshot().words.idf
        readable = plain(paper.abstract)
        known = {n for n in names(f": {readable}") if readable.lower().count(n) > 1} | names(f"of {paper.label}")
        spans = [
            (passage.text, span)
            for passage in passages_of(paper)
            for span in spans_of(passage.text, idf=idf, known=known)
        ]
        random.Random(f"{self._seed} {paper.paper_id}").shuffle(spans)
        for sentence, span in spans:
            text = self._said(ask_prompt(paper.label, sentence, span.words))
            text = _SUBJECT.sub(name_of(paper), text) if name_of(paper) else text
            question = self._question("single", text, [paper], facts=span.facts, evidence=(sentence,))
            question = replace(question, note=f"answer: {span.words}")
            test = self._test
            fault = (
                test.form(text)
                or test.leak(text, span.facts)
                or test.asks_for(text, span.sort, span.words)
                or test.invention(text, [paper])
                or test.vague(text, paper)
                or test.unfound(text, question.papers)
                or test.shared(question)
                or test.unread(question, paper)
            )
            if self._kept("single", fault):
                yield question

    def _paraphrases(self) -> Iterator[Question]:
        """Questions in other words than their abstract's."""
        by_id = {p.paper_id: p for p in self._papers}
        for single in self._singles():
            paper = by_id[single.papers[0]]
            forbidden = self._common(f"{single.question} {single.note.removeprefix('answer:')}", paper)
            text = self._said(reword_prompt(single.question, forbidden))
            again = self._common(text, paper)
            if again:
                text = self._said(reword_prompt(single.question, list(dict.fromkeys([*forbidden, *again]))))
            question = replace(
                self._question("paraphrase", text, [paper], facts=single.facts), evidence=single.evidence
            )
            question = replace(question, note=single.note)
            fault = (
                self._test.form(text)
                or ("has words of its abstract" if self._common(text, paper) else "")
                or self._drifted(single.question, text)
                or self._test.leak(text, single.facts)
                or self._test.unfound(text, single.papers)
                or self._test.unread(question, paper)
            )
            if self._kept("paraphrase", fault):
                yield question

    def _common(self, text: str, paper: Paper) -> list[str]:
        """The words of ``text`` whose stems the paper holds, stop words and asking words left out."""
        held = set(terms(f"{paper.label} {plain(paper.abstract)}"))
        words = dict.fromkeys(re.findall(r"[^\W_][\w-]*", text))
        return [w for w in words if set(terms(w)) & held and w.lower() not in _ASKING]

    def _drifted(self, question: str, reworded: str) -> str:
        one, other = self._test.library.embedder.remember([question, reworded])
        return "" if float(one @ other) >= _ALIKE else "asks something else than before"

    def _pairs(self) -> Iterator[Question]:
        """Two questions in one, about two papers of a split that share a rare term."""
        taken: Counter[str] = Counter()
        for one, other in self._neighbours():
            if max(taken[one.paper_id], taken[other.paper_id]) >= _PAIRED:
                continue
            halves = [next(self._of(paper), None) for paper in (one, other)]
            if halves[0] is None or halves[1] is None:
                continue
            taken.update([one.paper_id, other.paper_id])
            text = _joined(halves[0].question, halves[1].question)
            question = self._question(
                "two-paper",
                text,
                [one, other],
                facts=halves[0].facts + halves[1].facts,
                evidence=halves[0].evidence + halves[1].evidence,
            )
            question = replace(question, note=f"{halves[0].note}; {halves[1].note}")
            if self._kept("two-paper", self._test.unfound(text, question.papers)):
                yield question

    def _neighbours(self) -> list[tuple[Paper, Paper]]:
        """Pairs of papers of one split, those that share the rarest terms first."""
        words = self._test.library.snapshot().words
        most = words.idf("\0")
        stems = {p.paper_id: {t for t in terms(plain(p.abstract)) if words.idf(t) > 0.3 * most} for p in self._papers}
        pairs = [
            (sum(words.idf(t) for t in stems[a.paper_id] & stems[b.paper_id]), a, b)
            for i, a in enumerate(self._papers)
            for b in self._papers[i + 1 :]
            if self._split([a]) == self._split([b])
        ]
        pairs.sort(key=lambda item: (-item[0], item[1].paper_id, item[2].paper_id))
        return [(a, b) for shared, a, b in pairs if shared]

    def _unanswerable(self) -> Iterator[Question]:
        return _in_turn([self._details(), self._presuppositions(), self._elsewhere()])

    def _details(self) -> Iterator[Question]:
        for text, paper, why in detail_questions(self._papers):
            if self._kept("unanswerable", self._test.borne_out(text, [paper])):
                yield self._without(text, "detail", [paper], why)

    def _presuppositions(self) -> Iterator[Question]:
        """The contrary of what a paper says, or what another does, taken for granted."""
        for number in range(3):
            for paper in self._papers:
                single = self._single(paper, number)
                if single is None:
                    continue
                text = turned(single.question, single.evidence[0])
                if text and self._kept("unanswerable", self._test.form(text)):
                    yield self._without(text, "false-presupposition", [paper], f"it says: {single.evidence[0]}")
                    continue
                if not self._kept("unanswerable", self._test.general(single.question, paper)):
                    continue
                for other in self._others(paper):
                    text = swapped(single.question, paper, other)
                    fault = text and (
                        self._test.covered(text, [other], besides=stems_of(other))
                        or self._test.borne_out(text, [other])
                    )
                    if text and self._kept("unanswerable", fault):
                        why = f"{name_of(paper)} does this, not {name_of(other)}"
                        yield self._without(text, "false-presupposition", [other], why)
                        break

    def _others(self, paper: Paper) -> list[Paper]:
        """The other papers of its split, from the next on."""
        place = self._papers.index(paper)
        turned_round = self._papers[place + 1 :] + self._papers[:place]
        return [p for p in turned_round if self._split([p]) == self._split([paper])]

    def _elsewhere(self) -> Iterator[Question]:
        subjects = list(SUBJECTS)
        random.Random(self._seed).shuffle(subjects)
        for subject in subjects:
            text = self._said(elsewhere_prompt(subject))
            if self._kept(
                "unanswerable", self._test.form(text) or self._test.covered(text) or self._test.borne_out(text)
            ):
                yield self._without(text, "outside", [], f"about {subject}")

    def _kept(self, kind: str, fault: str) -> bool:
        """Whether a draft has no fault; one that has is counted under it."""
        if fault:
            self.made.dropped.setdefault(kind, Counter())[fault] += 1
        return not fault

    def _said(self, messages: list[ChatMessage]) -> str:
        """The first line of what the language model says, without what it puts around a question."""
        content = self._llm.chat(messages, max_tokens=60).message.content or ""
        line = next((line.strip() for line in content.splitlines() if line.strip()), "")
        return re.sub(r"^(?:question|q)\s*:\s*", "", line, flags=re.IGNORECASE).strip(' "“”*')

    def _question(
        self,
        kind: str,
        text: str,
        papers: Sequence[Paper],
        *,
        facts: tuple[tuple[str, ...], ...] = (),
        evidence: tuple[str, ...] = (),
    ) -> Question:
        return Question(
            id=f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:10]}",
            kind=kind,
            split=self._split(papers) if papers else split_of(text, {}),
            question=text,
            papers=tuple(p.paper_id for p in papers),
            facts=facts,
            evidence=evidence,
        )

    def _without(self, text: str, class_: str, near: Sequence[Paper], note: str) -> Question:
        """A question without an answer, ``near`` the papers that it seems to be about."""
        question = self._question("unanswerable", text, near)
        return replace(question, papers=(), near=question.papers, class_=class_, note=note)

    def _split(self, papers: Sequence[Paper]) -> str:
        return split_of(papers[0].paper_id, self._splits)


_ASKING = frozenset(
    [
        "what",
        "which",
        "who",
        "why",
        "when",
        "where",
        "how",
        "much",
        "many",
        "does",
        "do",
        "did",
        "is",
        "are",
        "was",
        "were",
        "can",
        "could",
        "use",
        "used",
    ]
)


def _joined(one: str, other: str) -> str:
    """Two questions, each of which begins with an asking word, as one."""
    return f"{one.rstrip('?')}, and {other[0].lower()}{other[1:]}"


def _in_turn(sources: Iterable[Iterator[Question]]) -> Iterator[Question]:
    """One of each, again and again, until none gives any more."""
    left = list(sources)
    while left:
        for source in list(left):
            question = next(source, None)
            if question is None:
                left.remove(source)
            else:
                yield question
