"""Asking the engine the questions of a file, each only once: answers are kept on disk under all that decides them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from eval.questions import Question
from eval.results import Json, code_print, write_json
from rag import guarantee
from rag.build import library_folder, llm_name, load_llm, open_catalogue, open_engine
from rag.config import Config
from rag.contract import answer_json
from rag.errors import QuestionError
from rag.records import Turn

if TYPE_CHECKING:
    from llama_index.core.llms.llm import LLM

    from eval.recorded import RecordedLLM
    from rag.answer import CitewellQueryEngine

_INDEX_KEYS = ("embedder", "chunker", "words", "corpus")


class Asker:
    """The engine with a memory. Neither it nor the language model is loaded before something must be asked.

    An answer is kept in ``<data>/eval-cache/answers`` under a print of the question, the turns before it, the index,
    the language model, the settings that reach the prompt, and Citewell's own source: a change of any of them answers
    anew, and a run that was stopped goes on where it was. What the language model says is recorded by prompt beside it;
    an answer made from the record has no timings. Its tokens are those of all prompts it took, and none are told where
    the model did not count them.
    """

    def __init__(
        self,
        config: Config,
        *,
        fresh: bool = False,
        llm: Callable[[Config], LLM] = load_llm,
        code: str | None = None,
        threshold: float | None = None,
    ) -> None:
        """``fresh`` asks everything anew (once); ``threshold`` is as in ``CitewellQueryEngine``.

        Raises IndexStateError where the library was not indexed.
        """
        self._threshold = threshold
        self._config = config
        self._fresh = fresh
        self._load_llm = llm
        self._folder = config.data / "eval-cache" / "answers"
        self._asked: set[str] = set()
        catalogue = open_catalogue(config)
        meta = catalogue.meta()
        self.papers = {p.paper_id: p for p in catalogue.papers()}
        catalogue.close()
        calibration = guarantee.load(library_folder(config)) if threshold is None else None
        self.basis: Json = {
            "index": {key: meta.get(key, "") for key in _INDEX_KEYS},
            "llm": llm_name(config),
            "context": config.context,
            "evidence_tokens": config.evidence_tokens,
            "papers": config.papers,
            "code": code or code_print(),
            **({} if threshold is None else {"threshold": threshold}),
            **({} if calibration is None else {"calibrated": calibration.threshold}),
        }

    @cached_property
    def llm(self) -> RecordedLLM:
        """The language model behind its record: a change of Citewell that leaves a prompt as it was asks nothing."""
        from eval.recorded import RecordedLLM

        return RecordedLLM.before(
            lambda: self._load_llm(self._config),
            name=str(self.basis["llm"]),
            context_window=self._config.context,
            folder=self._config.data / "eval-cache" / "llm",
            fresh=self._fresh,
        )

    @cached_property
    def engine(self) -> CitewellQueryEngine:
        return open_engine(self._config, llm=lambda config: self.llm, threshold=self._threshold)

    @cached_property
    def _loaded(self) -> None:
        self.engine.library.embedder.encode(["warm"])
        self.llm.inner.complete("Say yes.", max_tokens=1)

    def warm(self) -> None:
        """Loads the models, once, so that what the first question takes is not the loading."""
        return self._loaded

    def ask(self, question: Question) -> Json:
        """The answer, in the form of the command line with "kept" (whether it was on disk); after its history."""
        return self.turn(question.question, self.history(question))

    def turn(self, question: str, history: Sequence[Turn]) -> Json:
        """The answer to one turn of a conversation. A question that cannot be asked is a record with "error"."""
        path = self._path("answer", question, history)
        kept = self._read(path)
        if kept is not None:
            return {**kept["answer"], "kept": True}
        replayed, uncounted, tokens = self.llm.replayed, self.llm.uncounted, dict(self.llm.tokens)
        try:
            answer = self.engine.ask(question, history=history)
        except QuestionError as error:
            return {**no_answer(question, str(error)), "kept": False}
        found = answer_json(answer) | {"confidence": answer.confidence, "signals": answer.signals}
        spent = {name: count - tokens[name] for name, count in self.llm.tokens.items()}
        found["tokens"] = spent if self.llm.uncounted == uncounted else {}
        if self.llm.replayed > replayed:
            found["timings_ms"] = {}  # what a record took says nothing of the model
        found["nearest"] = [{k: v for k, v in hit.items() if k != "text"} for hit in found["nearest"]]
        self._write(path, {"question": question, "history": [asdict(t) for t in history], "answer": found})
        return {**found, "kept": False}

    def history(self, question: Question) -> list[Turn]:
        """The turns before ``question``: what was asked before it is itself asked, in turn."""
        turns: list[Turn] = []
        for earlier in question.history:
            answer = self.turn(earlier, turns)
            cited = tuple(dict.fromkeys(c["paper_id"] for c in answer["citations"]))
            turns.append(Turn(answer["resolved_question"], answer["answer"], cited))
        return turns

    def resolved(self, question: Question) -> str:
        """The question as the engine looks it up: standing alone and in English."""
        if question.stands_alone:
            return question.question
        history = self.history(question)
        answered = self._read(self._path("answer", question.question, history))
        if answered is not None:
            return str(answered["answer"]["resolved_question"])
        path = self._path("resolved", question.question, history)
        kept = self._read(path)
        if kept is not None:
            return str(kept["resolved"])
        from rag.resolve import resolve

        last = history[-1].paper_ids if history else ()
        labels = [self.papers[i].label for i in last if i in self.papers][:2]
        found = resolve(question.question, history, labels, self.llm).resolved
        self._write(path, {"question": question.question, "resolved": found})
        return found

    def _path(self, what: str, question: str, history: Sequence[Turn]) -> Path:
        key = json.dumps([what, question, [asdict(t) for t in history], self.basis], sort_keys=True, ensure_ascii=False)
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def _read(self, path: Path) -> Json | None:
        if self._fresh and path.name not in self._asked:
            return None
        try:
            kept: Json = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None  # not asked yet, or damaged: it is asked (again)
        return kept

    def _write(self, path: Path, value: Json) -> None:
        self._asked.add(path.name)
        write_json(path, value)


def no_answer(question: str, error: str) -> Json:
    """What stands for an answer that there is none of, and why, in the form of ``citewell ask --json``."""
    return {
        "question": question,
        "resolved_question": question,
        "status": "abstained",
        "answer": "",
        "sentences": [],
        "citations": [],
        "nearest": [],
        "confidence": 0.0,
        "reason": "error",
        "signals": {},
        "timings_ms": {},
        "tokens": {},
        "llm": "",
        "index": "",
        "error": error,
    }
