"""How long something still takes, by how it has gone so far."""

from __future__ import annotations

import time
from collections.abc import Callable

_LEAST = 3.0
"""Seconds before anything is foretold."""


class Pace:
    """Follows work that goes through stages; each has a pace of its own."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stage = ""
        self._began = (0.0, 0)

    def left(self, stage: str, done: int, total: int) -> str:
        """Words for what ``stage`` still takes, "" while that cannot be told; ``done`` counts up to ``total``."""
        now = self._clock()
        if stage != self._stage or done < self._began[1]:
            self._stage, self._began = stage, (now, done)
        seconds, steps = now - self._began[0], done - self._began[1]
        if seconds < _LEAST or steps <= 0 or done >= total:
            return ""
        return spoken(seconds * (total - done) / steps)


def spoken(seconds: float) -> str:
    """A time to come, as roughly as it is known: "about 20 s left", "about 4 minutes left"."""
    if seconds < 55:
        return f"about {max(5, 5 * round(seconds / 5))} s left"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"about {minutes} {'minute' if minutes == 1 else 'minutes'} left"
    return f"about {round(seconds / 3600)} hours left"
