"""One question on its way: the engine in a thread of its own, its events on the event loop, stopped at any time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request

from rag.errors import CitewellError
from rag.filters import EVERYTHING, Filter
from rag.library import Library
from rag.records import Answer, Event, Finished, Paper, Turn, Waiting

logger = logging.getLogger(__name__)

_SIGN_OF_LIFE = 2.0
"""Seconds after which whoever waits is told the same place again."""


class Engine(Protocol):
    """What the page needs of ``rag.answer.CitewellQueryEngine``."""

    @property
    def library(self) -> Library:
        """What it answers from."""

    def stream(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        where: Filter | None = None,
        language: str = "",
    ) -> Iterator[Step]: ...


@dataclass(frozen=True, slots=True)
class Failed:
    """The question came to nothing; ``message`` is for the reader, ``cause`` for programs."""

    message: str
    cause: Exception


@dataclass(frozen=True, slots=True)
class Papers:
    """Cited papers that were not among those found."""

    papers: tuple[Paper, ...]


@dataclass(frozen=True, slots=True)
class Preparing:
    """The language model is not there yet; ``words`` say what is going on."""

    words: str


@dataclass(frozen=True, slots=True)
class Ended:
    """No more will come; ``stopped`` when somebody asked for that."""

    stopped: bool


Step = Event | Papers | Preparing | Failed | Ended


class Run:
    """A question put to the engine once. ``steps`` yields what happens; ``stop`` may be called from any thread."""

    def __init__(
        self,
        get_engine: Callable[[], Engine],
        question: str,
        history: Sequence[Turn],
        *,
        where: Filter = EVERYTHING,
        language: str = "",
    ) -> None:
        """``where`` is which papers are looked at, ``language`` the one to answer in ("": the question's)."""
        self.question = question
        self.history = tuple(history)
        self.where = where
        self.language = language
        self.discarded = False
        """Set when the conversation has moved on and nobody wants to see the rest."""
        self._get_engine = get_engine
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

    async def steps(self) -> AsyncGenerator[Step, None]:
        """The engine's events, and Ended at last (Failed before it where something went wrong)."""
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, name="citewell-answer", daemon=True).start()
        try:
            while True:
                step = await self._steps.get()
                yield step
                if isinstance(step, Ended):
                    return
        finally:  # also when the browser has gone
            self._stop.set()

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

    def _work(self) -> None:
        told, told_at = None, 0.0
        try:
            engine = self._get_engine()
            stream = engine.stream(self.question, history=self.history, where=self.where, language=self.language)
            try:
                for event in stream:
                    if self._stop.is_set():
                        break
                    if isinstance(event, Finished):
                        self._put(Papers(tuple(_cited(engine, event))))
                    if event == told and time.monotonic() - told_at < _SIGN_OF_LIFE:
                        continue
                    if isinstance(event, Waiting | Preparing):
                        told, told_at = event, time.monotonic()
                    self._put(event)
            finally:
                if (close := getattr(stream, "close", None)) is not None:
                    close()
        except CitewellError as error:
            self._put(Failed(str(error), error))
        except Exception as error:
            logger.exception("answering %r failed", self.question)
            self._put(
                Failed(
                    f"Something went wrong inside Citewell ({type(error).__name__}: {error}). "
                    "Try again; its log says more.",
                    error,
                )
            )
        finally:
            stopped = self._stop.is_set()
            self._stop.set()
            self._put(Ended(stopped=stopped))


def _cited(engine: Engine, event: Finished) -> list[Paper]:
    ids = list(dict.fromkeys(citation.paper_id for citation in event.answer.citations))
    return engine.library.papers(ids) if ids else []


async def answer_of(run: Run, request: Request) -> Answer:
    """What a run comes to; it is stopped when the client goes. Raises the fault it failed with."""
    watcher = asyncio.create_task(_stop_when_gone(run, request))
    try:
        async with contextlib.aclosing(run.steps()) as steps:
            async for step in steps:
                if isinstance(step, Finished):
                    return step.answer
                if isinstance(step, Failed):
                    raise step.cause
    finally:
        watcher.cancel()
    raise HTTPException(499, "the client has gone")


async def _stop_when_gone(run: Run, request: Request) -> None:
    while not await request.is_disconnected():
        await asyncio.sleep(0.2)
    run.stop()
