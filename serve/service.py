"""What the programs' side of the server is given: the same library and engine as the page, when they are there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rag.library import Library
from serve.run import Engine


@dataclass(frozen=True, slots=True)
class Service:
    """Each function may be called at any time and from any thread, and does not wait: while the server is still
    preparing, ``library`` and ``engine`` raise NotReadyError. The library is there before the engine."""

    library: Callable[[], Library]
    engine: Callable[[], Engine]
    status: Callable[[], str]
    """What is going on, in one line."""
