"""How often somebody may do something."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

_MOST_KEYS = 10_000
"""Names or addresses remembered; the one that came longest ago is forgotten first."""


class Pace:
    """At most ``most`` times in ``seconds``, for each key apart. For any number of threads."""

    def __init__(self, most: int, seconds: float = 60.0, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, key: str) -> float:
        """Seconds until ``key`` may do it; 0.0 when it may now."""
        with self._lock:
            times = self._recent(key)
            return times[0] + self._seconds - self._clock() if len(times) >= self._most else 0.0

    def take(self, key: str) -> float:
        """Counts one where ``key`` may do it now; else gives the seconds to wait and counts nothing."""
        with self._lock:
            times = self._recent(key)
            if len(times) >= self._most:
                return times[0] + self._seconds - self._clock()
            times.append(self._clock())
            while len(self._times) > _MOST_KEYS:
                self._times.popitem(last=False)
            return 0.0

    def _recent(self, key: str) -> deque[float]:
        times = self._times.setdefault(key, deque())
        self._times.move_to_end(key)
        # as ``wait`` reckons, so that rounding never leaves one that is waited for 0 seconds
        while times and times[0] + self._seconds - self._clock() <= 0:
            times.popleft()
        return times
