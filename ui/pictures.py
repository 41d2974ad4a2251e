"""The pictures of the libraries of a page: each made once, however many look at it meanwhile, and kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from rag.errors import IndexStateError
from rag.library import Library
from rag.sync import Progress
from ui.atlas import Atlas, atlas_of, kept_at
from ui.job import Job

Draw = Callable[[Library, Path, Progress], Atlas]


def _drawn(library: Library, folder: Path, on_progress: Progress) -> Atlas:
    return atlas_of(library, folder, on_progress=on_progress)


class Pictures:
    """Safe to share between threads."""

    def __init__(self, draw: Draw = _drawn) -> None:
        self._draw = draw
        self._lock = threading.Lock()
        self._held: dict[Path, tuple[str, Atlas]] = {}
        self._jobs: dict[Path, Job[tuple[str, Atlas]]] = {}

    def of(self, library: Library, folder: Path) -> tuple[str, Atlas] | Job[tuple[str, Atlas]]:
        """The picture of the library as it is now with its name, or the one job that is making it.

        ``folder`` is where it is kept, another for every library. Raises IndexStateError where it could not be made; to ask
        once more tries anew.
        """
        name = kept_at(library, folder).name
        with self._lock:
            job = self._jobs.get(folder)
            if job is not None and not job.running:
                del self._jobs[folder]
                if job.result is None:
                    raise IndexStateError(f"the map could not be made: {job.fault}")
                self._held[folder] = job.result
            if folder in self._held and self._held[folder][0] == name:
                return self._held[folder]
            if folder not in self._jobs:
                self._jobs[folder] = Job("citewell-map", lambda progress: (name, self._draw(library, folder, progress)))
            return self._jobs[folder]

    def named(self, folder: Path, name: str) -> Atlas | None:
        """The picture ``name``, while it is the newest of its library."""
        with self._lock:
            held = self._held.get(folder)
        return held[1] if held is not None and held[0] == name else None
