"""``citewell eval bench``: how long a search and an answer take, warm, as a person at the page would wait."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eval.progress import progress
from eval.questions import Question, fingerprint, load_questions, require_papers, select, spread
from eval.results import Json, citewell_version
from eval.tables import table
from rag.build import load_llm, open_engine
from rag.config import Config
from rag.records import Finished, Found, Token, Turn
from rag.retrieve import CitewellRetriever

if TYPE_CHECKING:
    from llama_index.core.llms.llm import LLM

    from rag.answer import CitewellQueryEngine

_SEARCHES = 100
_WARM_UP = "Which of the papers has the largest gain, and over what?"


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds from the question to what is seen of its answer; None where there was no such thing."""

    id: str
    kind: str
    answered: bool
    sources: float | None
    first_word: float | None
    whole: float


def measure_times(
    config: Config, path: Path, *, split: str = "all", limit: int = 20, llm: Callable[[Config], LLM] = load_llm
) -> Json:
    """Times ``limit`` answers, spread over the questions, then searches for up to 100 other questions.

    Nothing comes from a cache that a person would not have: each question is asked once, in an engine that has
    answered one other question before. The turns before a follow-up are asked first and not timed.
    """
    questions = select(load_questions(path), split=split)
    chosen = spread(questions, limit)
    engine = open_engine(config, llm=llm)
    require_papers(chosen, {p.paper_id for p in engine.library.papers()}, config.library)
    load_before = os.getloadavg()[0]
    engine.ask(_WARM_UP)
    answers = [time_answer(engine, question) for question in progress(chosen, "answers")]
    rest = [q.question for q in questions if q not in chosen][:_SEARCHES]
    # words not embedded before: the embedder remembers what it has seen
    searches = time_searches(engine, rest or [f"{q.question} (?)" for q in chosen])
    answered = [t for t in answers if t.answered]
    return {
        "measured": "bench",
        "citewell": citewell_version(),
        "questions": {"file": path.name, "sha256": fingerprint(path), "split": split, "limit": limit},
        "library": config.library,
        "index": engine.library.snapshot().fingerprint,
        "llm": config.llm_model if config.llm_url else config.llm,
        "machine": {"cores": os.cpu_count(), "processor": platform.machine(), "load_before": round(load_before, 2)},
        "search_ms": spread_of(searches),
        "answers_ms": {
            which: {
                name: spread_of([value for t in rows if (value := getattr(t, name)) is not None])
                for name in ("sources", "first_word", "whole")
            }
            for which, rows in (("answered", answered), ("all", answers))
        },
        "answers": [{name: getattr(t, name) for name in Times.__slots__} for t in answers],
    }


def time_answer(engine: CitewellQueryEngine, question: Question) -> Times:
    """One question, watched event by event."""
    history: list[Turn] = []
    for earlier in question.history:
        answer = engine.ask(earlier, history=history)
        cited = tuple(dict.fromkeys(c.paper_id for c in answer.citations))
        history.append(Turn(answer.resolved_question, answer.text, cited))
    started = time.perf_counter()
    sources = first_word = None
    answered = False
    for event in engine.stream(question.question, history=history):
        now = 1000 * (time.perf_counter() - started)
        if isinstance(event, Found):
            sources = round(now, 1)
        elif isinstance(event, Token) and first_word is None and event.text.strip():
            first_word = round(now, 1)
        elif isinstance(event, Finished):
            answered = event.answer.status == "answered"
    whole = round(1000 * (time.perf_counter() - started), 1)
    return Times(question.id, question.kind, answered, sources, first_word, whole)


def time_searches(engine: CitewellQueryEngine, questions: Sequence[str]) -> list[float]:
    """Milliseconds of each search, the question's embedding included."""
    retriever = CitewellRetriever(engine.library)
    times = []
    for question in questions:
        started = time.perf_counter()
        retriever.search(question, k=10)
        times.append(1000 * (time.perf_counter() - started))
    return times


def spread_of(values: Sequence[float]) -> Json:
    """Median, 95th percentile and number; None for no values."""
    if not values:
        return {"p50": None, "p95": None, "n": 0}
    return {
        "p50": round(float(np.median(values)), 1),
        "p95": round(float(np.quantile(values, 0.95)), 1),
        "n": len(values),
    }


def print_times(results: Json) -> str:
    """The table, in seconds."""

    def seconds(value: float | None) -> str:
        return "-" if value is None else f"{value / 1000:.3f}" if value < 1000 else f"{value / 1000:.1f}"

    found = {"search": results["search_ms"]}
    for which, times in results["answers_ms"].items():
        found.update({f"{name.replace('_', ' ')} ({which})": row for name, row in times.items()})
    rows = [[name, str(row["n"]), seconds(row["p50"]), seconds(row["p95"])] for name, row in found.items()]
    machine = results["machine"]
    where = f"{machine['cores']} cores, load before {machine['load_before']}"
    return f"{table(['seconds', 'n', 'median', 'p95'], rows)}\n{where}"
