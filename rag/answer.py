"""The query engine: a question to a stream of events that ends with a checked answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, cast

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms.llm import LLM
from llama_index.core.prompts.mixin import PromptMixinType
from llama_index.core.schema import QueryBundle

from rag import abstain
from rag.cite import Checked, check_claims, cited, complete, split_claims, whole, without_markers, written
from rag.count import Counted, count
from rag.errors import CitewellError, ModelError
from rag.evidence import EvidencePicker
from rag.filters import Filter
from rag.guarantee import NOT_CALIBRATED, Standing
from rag.language import language_of
from rag.leaning import leaning
from rag.library import Snapshot
from rag.line import Line, tokens_of, volume
from rag.mismatch import mismatches
from rag.premise import premise_of, speaking_of, wrong_premise
from rag.prompt import answer_prompt, from_english_prompt, premise_prompt, told_prompt
from rag.records import Answer, Event, Evidence, Finished, Found, Hit, Resolved, Token, Turn
from rag.resolve import Question, needs_model, resolve
from rag.retrieve import CitewellRetriever, check_question, node_of
from rag.survey import survey_of
from rag.verify import Passage, Verifier, passages_of

_CARRIED = 0.1
"""What it is worth to a paper that the last answer rests on it, where the question leans on that answer."""
_OUTPUT = 80
"""Tokens of a usual answer in English, and half as much again for a question that is rewritten or translated (medians
over ``eval/results/answers-test.json``)."""
_ABSTENTIONS = {
    "not-in-library": {
        "English": "The library holds no answer to this question.",
        "Chinese": "文献库中没有这个问题的答案。",
    },
    "not-in-library within": {
        "English": "None of the {papers} papers within the filter ({filter}) answers this question.",
        "Chinese": "筛选范围（{filter}）内的 {papers} 篇论文都没有回答这个问题。",
    },
    "unclear": {
        "English": "What do you mean? Name a method, a task or a data set, so that I can look it up.",
        "Chinese": "请说得更具体一些：指的是哪种方法、任务或数据集？",
    },
    "premise": {
        "English": "The question takes for granted what the paper does not say. It says: “{words}”",
        "Chinese": "问题的前提与论文不符。论文的原文是：“{words}”",
    },
    "not-a-question": {
        "English": "Hello! Ask me something about the {papers} papers of this library.",
        "Chinese": "您好！请就文献库中的 {papers} 篇论文提问。",
    },
    "not-a-question within": {
        "English": "Hello! Ask me something about the {papers} papers within the filter ({filter}).",
        "Chinese": "您好！请就筛选范围（{filter}）内的 {papers} 篇论文提问。",
    },
}


class CitewellQueryEngine(BaseQueryEngine):
    """Answers from a library, every sentence with the exact words that bear it out, or abstains.

    A LlamaIndex query engine: ``query`` gives a ``Response`` whose metadata holds the ``Answer``. It keeps nothing
    between calls, so threads may share it: a conversation's earlier turns are an argument.
    """

    def __init__(
        self,
        retriever: CitewellRetriever,
        llm: LLM,
        *,
        evidence_tokens: int = 260,
        papers: int = 6,
        threshold: float | None = None,
        line: Line | None = None,
        stands: Callable[[Snapshot], Standing] | None = None,
    ) -> None:
        """``evidence_tokens`` bounds the evidence of a prompt; ``papers`` is how many are looked at for an answer;
        ``threshold`` is the confidence from which to answer, where it is not to be the fitted one (0: always);
        ``line`` is where questions wait for ``llm`` (default: one of its own with one slot);
        ``stands`` tells whether a bound on wrong answers is in force for the library as it is, and the threshold that
        keeps it."""
        super().__init__(callback_manager=CallbackManager([]))
        self.library = retriever.library
        self._retriever = retriever
        self._llm = llm
        self.line = line or Line()
        self._evidence_tokens = evidence_tokens
        self._papers = papers
        self._threshold = threshold
        self._stands = stands
        self._standing = ("", NOT_CALIBRATED)

    def standing(self) -> Standing:
        """Whether a bound on wrong answers is in force, looked at anew when the library has changed."""
        if self._stands is None:
            return NOT_CALIBRATED
        snapshot = self.library.snapshot()
        if self._standing[0] != snapshot.fingerprint:
            self._standing = (snapshot.fingerprint, self._stands(snapshot))
        return self._standing[1]

    def ask(
        self, question: str, *, history: Sequence[Turn] = (), where: Filter | None = None, language: str = ""
    ) -> Answer:
        """The checked answer from the papers that ``where`` lets through (None: the retriever's own filter), in
        ``language`` as ``stream`` has it.

        Raises QuestionError for a question that cannot be asked or where no paper fits, ModelError when the language
        model fails.
        """
        answer = None
        for event in self.stream(question, history=history, where=where, language=language):
            if isinstance(event, Finished):
                answer = event.answer
        assert answer is not None, "a stream ends with Finished"
        return answer

    def stream(
        self, question: str, *, history: Sequence[Turn] = (), where: Filter | None = None, language: str = ""
    ) -> Iterator[Event]:
        """Events as they come: Resolved, Found, Token…, Finished; Waiting… before the language model is asked, where
        others have it. Closing the iterator stops the language model and lets the next one have it.

        ``language`` is the one to answer in, by its English name; empty: the question's."""
        chosen = self._retriever.where if where is None else where
        return _Run(self, check_question(question), history, chosen, language).events()

    def _query(self, query_bundle: QueryBundle) -> Response:
        answer = self.ask(query_bundle.query_str)
        papers = {p.paper_id: p for p in self.library.papers([c.paper_id for c in answer.citations])}
        nodes = [node_of(Hit(n, paper, 1.0)) for n, paper in enumerate(papers.values(), 1)]
        return Response(response=answer.text, source_nodes=nodes, metadata={"answer": answer})

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return self._query(query_bundle)

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}


class _Run:
    """One question on its way to its answer."""

    def __init__(
        self, engine: CitewellQueryEngine, question: str, history: Sequence[Turn], where: Filter, language: str
    ) -> None:
        self._engine = engine
        self._library = engine.library
        self._llm = engine._llm
        self._question = question
        self._language = language
        self._history = history
        self._started = time.monotonic()
        self._timings: dict[str, float] = {}
        self._signals: dict[str, float] = {}
        self._where = where
        self._snapshot = engine.library.snapshot()
        self._within = engine.library.within(where, self._snapshot)
        if self._within is not None and not self._within.paper_ids:
            raise where.nothing_fits()
        self._picker = EvidencePicker(engine.library.embedder, self._snapshot.words.idf)
        self._place = engine.line.place()

    def events(self) -> Iterator[Event]:
        with closing(self._place):
            yield from self._events()

    def _events(self) -> Iterator[Event]:
        if abstain.is_greeting(self._question):
            self._mark("retrieve")
            yield Finished(
                self._abstained(
                    Question(self._question, self._question, self._language or language_of(self._question), False),
                    (),
                    0.0,
                    "not-a-question",
                )
            )
            return
        last = self._history[-1].paper_ids if self._history else ()
        labels = [p.label for p in self._library.papers(last)][:2]
        if needs_model(self._question, self._history):  # else the sources are shown before the wait
            prompt = tokens_of(answer_prompt(self._question, [], {})) + self._engine._evidence_tokens
            yield from self._place.wait(volume(prompt, _OUTPUT + _OUTPUT // 2))
        with self._explained():
            question = resolve(self._question, self._history, labels, self._llm)
        if self._language:
            question = replace(question, language=self._language)
        yield Resolved(question.resolved)
        if not question.follows and abstain.is_unclear(question.resolved):
            self._mark("retrieve")
            yield Finished(self._abstained(question, (), 0.0, "unclear"))
            return
        asked = None if question.follows else survey_of(question.resolved)
        if asked is not None:
            yield from self._surveyed(question, count(asked, self._library, self._where))
            return
        hits = self._hits(question, last)
        self._mark("retrieve")
        yield Found(tuple(hits))
        if abstain.hopeless(hits):
            yield Finished(self._abstained(question, hits, 0.0, "not-in-library"))
            return
        paper, idf = hits[0].paper, self._snapshot.words.idf
        second = self._picker.second_paper(question.resolved, hits)
        premise = premise_of(question.resolved) if second is None else ""  # of two papers nothing is taken for granted
        passages = passages_of(paper) if premise else []
        against = wrong_premise(question.resolved, passages, paper.label, idf) if premise else None
        if against is not None:
            yield Finished(self._abstained(question, hits, 0.0, "premise", against=against))
            return
        labels_of = {h.paper.paper_id: h.paper.label for h in hits}
        evidence = self._picker.pick(question.resolved, hits, budget=self._engine._evidence_tokens)
        messages = answer_prompt(question.resolved, evidence, labels_of)
        yield from self._place.wait(volume(tokens_of(messages), _OUTPUT))
        told = yield from self._leaning(told_prompt(question.resolved, evidence, labels_of))
        self._signals["told"] = round(told, 4)
        if told <= abstain.UNTOLD and self._threshold() > 0:
            yield Finished(self._abstained(question, hits, 0.0, "not-in-library"))
            return
        if premise and (yield from self._leaning(premise_prompt(premise, evidence, labels_of))) < 0:
            against = speaking_of(premise, passages, paper.label, idf)
            yield Finished(self._abstained(question, hits, 0.0, "premise", against=against))
            return
        said = ""
        with closing(self._deltas(messages)) as deltas:
            for delta in deltas:
                said += delta
                if question.language != "English":
                    yield Token("")  # the draft is not in the language of the question
                    continue
                if delta:
                    self._mark("first_token")
                yield Token(delta)
        own, checked, failed = self._check(question, said, hits, second, evidence)
        row = abstain.features(
            question.resolved, hits, evidence, own, failed, told, self._snapshot, self._library.embedder
        )
        confidence = abstain.confidence(row)
        self._signals |= zip(abstain.FEATURES, (round(float(x), 4) for x in row), strict=True)
        if not checked or confidence < self._threshold():
            yield Finished(self._abstained(question, hits, confidence, "not-in-library"))
            return
        if question.language != "English":
            translated: list[Checked] = []
            for item in checked:
                if translated:
                    yield Token(" ")
                text = ""
                with closing(self._deltas(from_english_prompt(item.text, question.language))) as deltas:
                    for delta in deltas:
                        text += delta
                        if delta:
                            self._mark("first_token")
                        yield Token(delta)
                translated.append(_translation(item, " ".join(without_markers(text).split())))
            checked = translated
        yield Finished(self._answered(question, hits, checked, confidence))

    def _surveyed(self, question: Question, counted: Counted) -> Iterator[Event]:
        """The answer to a question about the whole library: no language model, every paper counted is cited."""
        hits = [Hit(n, paper, 1.0) for n, paper in enumerate(counted.papers, 1)]
        self._mark("retrieve")
        yield Found(tuple(hits))
        if not hits:
            nearest = self._search(question.resolved, self._engine._papers)
            yield Finished(self._abstained(question, nearest, 0.0, "not-in-library"))
            return
        answer = self._answered(question, hits, counted.items, 1.0)
        yield Token(answer.text)
        yield Finished(answer)

    def _hits(self, question: Question, last: Sequence[str]) -> list[Hit]:
        """The best papers. For a question that leans on the last turn, that turn's papers are among them, and first
        where they fit about as well as others."""
        wanted = self._engine._papers
        hits = self._search(question.resolved, 4 * wanted)
        if question.follows:
            hits = [replace(h, score=min(1.0, h.score + _CARRIED)) if h.paper.paper_id in last else h for h in hits]
            hits.sort(key=lambda h: (-h.score, h.paper.paper_id))
        return [replace(h, rank=n) for n, h in enumerate(hits[:wanted], 1)]

    def _search(self, question: str, k: int) -> list[Hit]:
        return self._engine._retriever.search(question, k=k, where=self._where)

    def _check(
        self, question: Question, said: str, hits: Sequence[Hit], second: Hit | None, evidence: Sequence[Evidence]
    ) -> tuple[list[Checked], list[Checked], int]:
        """The answer as far as the model's own sentences hold, the answer to be shown, and how many did not hold; ``second``
        is the paper that the question needs beside the first."""
        kept, failed = check_claims(
            split_claims(said),
            question.resolved,
            evidence,
            [h.paper for h in hits],
            Verifier(self._library.embedder, self._snapshot.words.idf),
            across=second is not None,
        )
        needed = [hits[0].paper, second.paper] if second is not None else []
        own, shown = (
            complete(
                claims,
                len(failed),
                question.resolved,
                evidence,
                needed,
                self._snapshot.words.idf,
                at_most=3 if self._picker.other_words(hits) else 2,
            )
            for claims in (kept, whole(kept, question.resolved))
        )
        return own, shown, len(failed)

    def _leaning(self, messages: list[ChatMessage]) -> Generator[Event, None, float]:
        """How far the language model leans to yes. Raises ModelError where it fails."""
        with self._explained():
            return (yield from leaning(self._llm, messages))

    def _deltas(self, messages: list[ChatMessage]) -> Generator[str, None, None]:
        """Pieces of the language model's text. Raises ModelError where it fails, whichever it is."""
        with self._explained(), closing(cast(Any, self._llm.stream_chat(messages))) as responses:
            for response in responses:
                yield cast(ChatResponse, response).delta or ""

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Whatever a language model raises becomes a ModelError that names it."""
        try:
            yield
        except CitewellError:
            raise
        except Exception as error:  # hosted models raise errors of their own client libraries
            name = self._llm.metadata.model_name
            raise ModelError(
                f"the language model {name} failed ({type(error).__name__}: {error}); "
                "check that its server runs and that 'llm_url', 'llm_model' and 'llm_key' are right"
            ) from error

    def _threshold(self) -> float:
        if self._engine._threshold is not None:
            return self._engine._threshold
        calibrated = self._engine.standing().threshold
        return abstain.threshold() if calibrated is None else calibrated

    def _mark(self, name: str) -> None:
        self._timings.setdefault(name, round(1000 * (time.monotonic() - self._started), 1))

    def _answered(
        self, question: Question, hits: Sequence[Hit], checked: Sequence[Checked], confidence: float
    ) -> Answer:
        sentences, citations = cited(checked, {h.paper.paper_id: h.paper for h in hits})
        return self._answer(
            question,
            status="answered",
            text=written(sentences),
            sentences=tuple(sentences),
            citations=tuple(citations),
            nearest=tuple(hits),
            confidence=confidence,
        )

    def _abstained(
        self,
        question: Question,
        hits: Sequence[Hit],
        confidence: float,
        reason: str,
        *,
        against: Passage | None = None,
    ) -> Answer:
        """A refusal to answer; ``against`` is the paper's own sentence that says why."""
        texts = _ABSTENTIONS.get(f"{reason} within" if self._where else reason, _ABSTENTIONS[reason])
        text = texts.get(question.language, texts["English"])
        papers = len(self._library) if self._within is None else len(self._within)
        return self._answer(
            question,
            status="abstained",
            text=text.format(papers=papers, filter=self._where, words=against.text if against else ""),
            sentences=(),
            citations=(),
            nearest=tuple(hits),
            confidence=confidence,
            reason=reason,
        )

    def _answer(self, question: Question, **values: Any) -> Answer:
        self._mark("first_token")
        self._mark("total")
        return Answer(
            question=question.asked,
            resolved_question=question.resolved,
            signals=self._signals,
            timings_ms=dict(self._timings),
            llm=self._llm.metadata.model_name,
            index=self._snapshot.fingerprint,
            guarantee=self._engine.standing().text,
            **values,
        )


def _translation(item: Checked, text: str) -> Checked:
    """A checked sentence in the question's language; the original stays where the translation lost or made figures."""
    lost = [m for m in mismatches(text, item.text, context=item.text, loose=True) if m.kind == "number"]
    lost += [m for m in mismatches(item.text, text, loose=True) if m.kind == "number"]
    return item if lost or not text else Checked(text, item.judgement, original=item.text)
