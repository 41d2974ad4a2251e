"""Work that takes longer than a page may be kept waiting: done in a thread of its own, which says how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from rag.errors import CitewellError
from rag.sync import Progress

Result = TypeVar("Result")


class Job(Generic[Result]):
    """One piece of work on its way: ``stage``, ``done`` and ``total`` as it last told them, then ``result`` or ``fault``."""

    def __init__(self, name: str, work: Callable[[Progress], Result]) -> None:
        """Begins ``work`` at once; ``name`` is the thread's."""
        self.stage, self.done, self.total = "", 0, 0
        self.result: Result | None = None
        self.fault = ""
        self._work = work
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def wait(self) -> None:
        """Until it has come to an end."""
        self._thread.join()

    def _progress(self, stage: str, done: int, total: int) -> None:
        self.stage, self.done, self.total = stage, done, total

    def _run(self) -> None:
        try:
            self.result = self._work(self._progress)
        except CitewellError as error:
            self.fault = str(error)
        except Exception as error:  # told on the page, which stays up
            self.fault = f"something went wrong inside Citewell ({type(error).__name__}: {error}); nothing was lost"
