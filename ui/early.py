"""A question asked before the language model is there: its sources are shown meanwhile, and what is being waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

from rag.filters import Filter
from rag.library import Library
from rag.records import Found, Turn
from rag.retrieve import CitewellRetriever
from serve.run import Engine, Preparing, Step

_PAUSE = 0.5
"""Seconds after which it is said again what is going on."""


class Early:
    """Stands in for an engine that is on its way; for any number of threads."""

    def __init__(
        self,
        done: threading.Event,
        engine: Callable[[], Engine],
        *,
        opened: Callable[[], Library | None],
        status: Callable[[], str],
        papers: int,
    ) -> None:
        """``engine`` is called once ``done`` is set and may raise CitewellError; ``opened`` gives the library as soon as it
        is open, ``status`` what is going on in one line; ``papers`` is how many sources are shown."""
        self._done = done
        self._engine = engine
        self._opened = opened
        self._status = status
        self._papers = papers

    @property
    def library(self) -> Library:
        return self._engine().library

    def stream(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        where: Filter | None = None,
        language: str = "",
    ) -> Iterator[Step]:
        """Preparing…, and Found as soon as the library is open; then the events of the engine."""
        found = False
        while not self._done.is_set():
            if not found and (library := self._opened()) is not None:
                found = True
                yield Found(tuple(CitewellRetriever(library).search(question, k=self._papers, where=where)))
            yield Preparing(self._status())
            self._done.wait(_PAUSE)
        yield from self._engine().stream(question, history=history, where=where, language=language)
