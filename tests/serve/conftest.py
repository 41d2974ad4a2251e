"""A scripted engine over three papers, and a real server in front of it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn

from rag.errors import ModelError, QuestionError
from rag.filters import Filter
from rag.line import Line
from rag.records import (
    Answer,
    AnswerSentence,
    Citation,
    Event,
    Finished,
    Found,
    Hit,
    Paper,
    Resolved,
    Source,
    Token,
    Turn,
)
from serve.api import build_api
from serve.service import Service

ORCA = Paper("p-orca", "ORCA", "We present ORCA, which calibrates. It needs no labels.", sources=(Source("a.txt", 1),))
FOO = Paper("p-foo", "Foo <b>", "Foo is a graph method.", sources=(Source("a.txt", 2), Source("b.txt", 1)))
PAPERS = {paper.paper_id: paper for paper in (ORCA, FOO)}
QUOTE = "ORCA, which calibrates"


class FakeLibrary:
    name = "test"

    def papers(self, paper_ids: Sequence[str] | None = None) -> list[Paper]:
        return [PAPERS[i] for i in (PAPERS if paper_ids is None else paper_ids) if i in PAPERS]

    def snapshot(self) -> Any:
        return SimpleNamespace(words=SimpleNamespace(paper_ids=list(PAPERS)))

    def __len__(self) -> int:
        return len(PAPERS)


@dataclass
class FakeEngine:
    """Answers by script, one question at a time. Keeps what it was asked, in order, and which it was made to leave."""

    library: Any = field(default_factory=FakeLibrary)
    line: Line = field(default_factory=Line)
    asked: list[tuple[str, tuple[Turn, ...]]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    go_on: threading.Event = field(default_factory=threading.Event)
    """What "hold" waits for."""

    def stream(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        where: Filter | None = None,
        language: str = "",
    ) -> Iterator[Event]:
        done = False
        try:
            yield Resolved(question)
            yield Found((Hit(1, ORCA, 0.9), Hit(2, FOO, 0.25)))
            with closing(self.line.place()) as place:
                yield from place.wait(len(question))
                self.asked.append((question, tuple(history)))
                if "empty" in question:
                    raise QuestionError("the question is empty; ask something")
                if "broken" in question:
                    raise ModelError("the language model x failed;\ncheck it")
                if "crash" in question:
                    raise ValueError("secret")
                while "hold" in question and not self.go_on.is_set():
                    yield Token("")
                    self.go_on.wait(0.05)
                for piece in ("ORCA ", "calibrates [1]."):
                    yield Token(piece)
                yield Finished(answer_to(question))
            done = True
        finally:
            if not done:
                self.left.append(question)


def answer_to(question: str) -> Answer:
    if "weather" in question:
        text = "The library holds no answer to this question."
        return Answer(question, question, "abstained", text, (), (), (Hit(1, FOO, 0.25),), 0.1, reason="not-in-library")
    start = ORCA.abstract.index(QUOTE)
    cited = Citation(1, ORCA.paper_id, ORCA.label, QUOTE, start, start + len(QUOTE), ORCA.sources)
    said = AnswerSentence("ORCA calibrates.", "supported", (1,))
    return Answer(question, question, "answered", "ORCA calibrates. [1]", (said,), (cited,), (), 0.9, llm="fake")


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.02)


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """A server of its own on a free port of this machine; gives its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            until(lambda: server.started)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)
            server.force_exit = True
            thread.join(30)


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def address(engine: FakeEngine) -> Iterator[str]:
    """Where the API answers, with ``engine`` behind it."""
    service = Service(library=lambda: engine.library, engine=lambda: engine, status=lambda: "2 papers")
    with serving(build_api(service)) as url:
        yield url


@pytest.fixture(scope="session")
def helpers() -> Any:
    return SimpleNamespace(until=until, serving=serving, answer_to=answer_to, ORCA=ORCA, FOO=FOO, Engine=FakeEngine)
