"""Whose question the language model takes next: the one with the smallest volume, and nobody is passed for ever.

The engine has a fixed number of slots, each with a cache that grows by one entry a token. What a question costs the
others is therefore an area, tokens held times steps held, not a time alone: "Smallest Volume First" in the terms of
the paper on geometry-aware online scheduling in ``seeds/``.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from llama_index.core.base.llms.types import ChatMessage

from rag.records import Waiting

_PATIENCE = 5_000.0
"""Volume that a second of waiting makes up for: a question of 50,000 (600 tokens of prompt, 75 of answer) is passed
only by what comes within its first 10 seconds."""
_SIGN_OF_LIFE = 0.25
"""Seconds after which whoever waits is told its place again, and may leave."""


def volume(prompt: int, output: int) -> float:
    """Area that a request takes of the cache: ``prompt`` tokens at first, one more at each of ``output`` steps."""
    return prompt * output + output * (output + 1) / 2


def tokens_of(messages: Sequence[ChatMessage]) -> int:
    """About how many tokens a prompt has: one in four bytes, in English and in Chinese alike."""
    return sum(len((m.content or "").encode("utf-8", "replace")) for m in messages) // 4


class Line:
    """Questions that want the language model; at most ``slots`` have it at a time. For any number of threads."""

    def __init__(self, slots: int = 1, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._slots = slots
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: list[Place] = []
        self._served: set[Place] = set()

    def place(self) -> Place:
        """A place that is not taken yet: ``Place.wait`` takes it, ``Place.close`` gives it back."""
        return Place(self)

    def __len__(self) -> int:
        """How many wait."""
        with self._changed:
            return len(self._waiting)


class Place:
    """One question's place in a line; used by one thread."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._key = (math.inf, math.inf)

    def wait(self, size: float) -> Iterator[Waiting]:
        """Returns when the language model is this question's, at once where it already is.

        Until then yields how many come before, four times a second; 0 at the end where there was a wait. ``size`` is
        the question's predicted volume. Closing the iterator, or the place, leaves the line.
        """
        line = self._line
        with line._changed:
            if self in line._served:
                return
            now = line._clock()
            # the order between two that wait never changes: each second is worth the same to both
            self._key = (size + _PATIENCE * now, now)
            line._waiting.append(self)
            line._waiting.sort(key=lambda place: place._key)
            self._admit()
        waited = False
        try:
            while True:
                with line._changed:
                    if self not in line._served and waited:
                        line._changed.wait(_SIGN_OF_LIFE)
                    if self in line._served:
                        break
                    ahead = 1 + line._waiting.index(self)
                waited = True
                yield Waiting(ahead)
        except GeneratorExit:
            self.close()
            raise
        if waited:
            yield Waiting(0)

    def close(self) -> None:
        """Leaves the line, or frees the slot for the next; may be called again."""
        with self._line._changed:
            if self in self._line._waiting:
                self._line._waiting.remove(self)
            self._line._served.discard(self)
            self._admit()

    def _admit(self) -> None:
        line = self._line
        while line._waiting and len(line._served) < line._slots:
            line._served.add(line._waiting.pop(0))
        line._changed.notify_all()
