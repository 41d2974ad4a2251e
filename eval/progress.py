"""Progress on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def progress(items: Sequence[Item], what: str, *, every: float = 60.0) -> Iterator[Item]:
    """The items, one by one; where stderr is no terminal, a line is written each ``every`` seconds."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        yield from tqdm(items, desc=what, unit="")
        return
    started = told = time.monotonic()
    for done, item in enumerate(items):
        now = time.monotonic()
        if now - told >= every:
            left = (now - started) / done * (len(items) - done) if done else 0.0
            print(f"{what}: {done} of {len(items)}, about {left / 60:.0f} min left", file=sys.stderr, flush=True)
            told = now
        yield item
