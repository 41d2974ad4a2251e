"""One question on its way: waits its turn, runs the engine in a thread of its own, can be stopped at any time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from rag.errors import CitewellError
from rag.library import Library
from rag.records import Event, Finished, Paper, Turn

logger = logging.getLogger(__name__)


class Engine(Protocol):
    """What the page needs of ``rag.answer.CitewellQueryEngine``."""

    library: Library

    def stream(self, question: str, *, history: Sequence[Turn] = ()) -> object: ...


@dataclass(frozen=True, slots=True)
class Waiting:
    """``ahead`` questions of other people come first."""

    ahead: int


@dataclass(frozen=True, slots=True)
class Started:
    """The engine is being called."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The question came to nothing; ``message`` is for the reader."""

    message: str


@dataclass(frozen=True, slots=True)
class Papers:
    """Cited papers that were not among those found."""

    papers: tuple[Paper, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """No more will come; ``stopped`` when somebody asked for that."""

    stopped: bool


Step = Waiting | Started | Event | Papers | Failed | Ended


class Line:
    """People waiting for one engine, first come, first served."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[object] = []

    def join(self) -> object:
        """A ticket; give it back with ``leave``."""
        ticket = object()
        with self._lock:
            self._waiting.append(ticket)
        return ticket

    def ahead(self, ticket: object) -> int:
        """How many come before the ticket; 0 when it is its turn."""
        with self._lock:
            return self._waiting.index(ticket)

    def leave(self, ticket: object) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._waiting.remove(ticket)


class Run:
    """A question put to the engine once. ``steps`` yields what happens; ``stop`` may be called from any thread."""

    def __init__(
        self,
        get_engine: Callable[[], Engine],
        line: Line,
        question: str,
        history: Sequence[Turn],
        *,
        pause: float = 0.2,
    ) -> None:
        self.question = question
        self.history = tuple(history)
        self.discarded = False
        """Set when the conversation has moved on and nobody wants to see the rest."""
        self._get_engine = get_engine
        self._line = line
        self._pause = pause
        self._stop = threading.Event()
        self._claimed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._steps: asyncio.Queue[Step] = asyncio.Queue()

    def __deepcopy__(self, memo: object) -> Run:
        return self  # gr.State copies its values; a run is the one thing that must stay itself

    @property
    def running(self) -> bool:
        return not self._stop.is_set()

    def claim(self) -> bool:
        """True the first time: whoever claims a run is to show its steps."""
        first, self._claimed = not self._claimed, True
        return first

    def stop(self, *, discard: bool = False) -> None:
        """Show no more, and close the engine's generator at its next sign of life."""
        self.discarded = self.discarded or discard
        self._stop.set()
        self._put(Ended(stopped=True))

    async def steps(self) -> AsyncIterator[Step]:
        """Waiting…, Started, the engine's events, and Ended at last (Failed before it where something went wrong)."""
        self._loop = asyncio.get_running_loop()
        ticket = self._line.join()
        thread: threading.Thread | None = None
        try:
            told = 0
            while not self._stop.is_set() and (ahead := self._line.ahead(ticket)):
                if ahead != told:
                    told = ahead
                    yield Waiting(ahead)
                await asyncio.sleep(self._pause)
            if self._stop.is_set():
                yield Ended(stopped=True)
                return
            yield Started()
            thread = threading.Thread(target=self._work, args=(ticket,), name="citewell-answer", daemon=True)
            thread.start()
            while True:
                step = await self._steps.get()
                yield step
                if isinstance(step, Ended):
                    return
        finally:  # also when the browser has gone
            self._stop.set()
            if thread is None:
                self._line.leave(ticket)

    def ready(self) -> list[Step]:
        """What has come in the meantime, without waiting."""
        steps = []
        while not self._steps.empty():
            steps.append(self._steps.get_nowait())
        return steps

    def _put(self, step: Step) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the server has shut its loop down
                self._loop.call_soon_threadsafe(self._steps.put_nowait, step)

    def _work(self, ticket: object) -> None:
        try:
            engine = self._get_engine()
            stream = engine.stream(self.question, history=self.history)
            try:
                for event in stream:  # type: ignore[attr-defined]
                    if self._stop.is_set():
                        break
                    if isinstance(event, Finished):
                        self._put(Papers(tuple(_cited(engine, event))))
                    self._put(event)
            finally:
                if (close := getattr(stream, "close", None)) is not None:
                    close()
        except CitewellError as error:
            self._put(Failed(str(error)))
        except Exception as error:
            logger.exception("answering %r failed", self.question)
            self._put(
                Failed(
                    f"Something went wrong inside Citewell ({type(error).__name__}: {error}). "
                    "Try again; its log says more."
                )
            )
        finally:
            self._line.leave(ticket)
            stopped = self._stop.is_set()
            self._stop.set()
            self._put(Ended(stopped=stopped))


def _cited(engine: Engine, event: Finished) -> list[Paper]:
    ids = list(dict.fromkeys(citation.paper_id for citation in event.answer.citations))
    return engine.library.papers(ids) if ids else []
