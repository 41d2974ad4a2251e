"""Tables for a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from eval.statistics import Interval


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns two blanks apart, the first to the left, the others to the right; wide signs count for two."""
    widths = [max(_width(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = []
    for row in [heads, *rows]:
        cells = zip(row, widths, strict=True)
        lines.append("  ".join(_padded(cell, width, left=i == 0) for i, (cell, width) in enumerate(cells)).rstrip())
    return "\n".join([lines[0], "-" * max(len(line) for line in lines), *lines[1:]])


def percent(value: Interval | None) -> str:
    """``93.1 (88.0-97.2)``, times 100; a dash for none."""
    return "-" if value is None else f"{100 * value.mean:.1f} ({100 * value.low:.0f}-{100 * value.high:.0f})"


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _padded(text: str, width: int, *, left: bool) -> str:
    fill = " " * (width - _width(text))
    return text + fill if left else fill + text
