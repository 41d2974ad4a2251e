"""Plots as inline SVG: lines, points and bars, drawn by hand so that a page needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

_WIDE, _HIGH, _LEFT, _BOTTOM, _TOP, _RIGHT = 340, 290, 46, 40, 12, 14
_COLOURS = 6
_LEGEND = 16

Point = tuple[float, float]


def risk_coverage(curve: Sequence[Point], *, risk_wanted: float = 0.05) -> str:
    """Selective risk over coverage, with the wanted risk as a broken line."""
    top = _round_up(max([0.2, *(risk for _, risk in curve)]))
    rule = _rule(risk_wanted / top, f"{100 * risk_wanted:.0f}%")
    body = _line([(x, y / top) for x, y in curve], 0) + rule
    return _plot(body, "coverage (share of questions answered)", "risk (share of these wrong)", y_top=top)


def precision_recall(curves: Mapping[str, Sequence[Point]]) -> str:
    """Precision over recall, a line for each name; nothing for no curve."""
    drawn = "".join(_line(points, place) for place, points in enumerate(curves.values()))
    return _plot(drawn, "recall", "precision", names=list(curves)) if curves else ""


def times(curves: Mapping[str, Sequence[float]]) -> str:
    """The share that was there within so many seconds, a line for each name; nothing for no times."""
    known = {name: sorted(values) for name, values in curves.items() if values}
    if not known:
        return ""
    top = _round_up(max(values[-1] for values in known.values()))
    drawn = ""
    for place, values in enumerate(known.values()):
        steps: list[Point] = [(0.0, 0.0)]
        for count, value in enumerate(values, 1):
            steps += [(value / top, (count - 1) / len(values)), (value / top, count / len(values))]
        drawn += _line([*steps, (1.0, 1.0)], place)
    return _plot(drawn, "seconds", "share there by then", x_top=top, names=list(known))


def reliability_diagram(bins: Sequence[tuple[float, float, int]]) -> str:
    """Share right over mean confidence, a disc for each bin, its area by how many; the diagonal is a perfect match."""
    most = max((n for *_, n in bins), default=1)
    discs = "".join(
        f'<circle cx="{_x(c):.1f}" cy="{_y(r):.1f}" r="{3 + 9 * (n / most) ** 0.5:.1f}" class="dot">'
        f"<title>confidence {c:.2f}, right {r:.2f}, {n} answers</title></circle>"
        for c, r, n in bins
    )
    diagonal = f'<line x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}" class="rule"/>'
    return _plot(diagonal + discs, "confidence", "share right")


def bars(rows: Sequence[tuple[str, float, float, float]]) -> str:
    """A bar for each (name, value, low, high), all in [0, 1], with its interval; nothing for no row."""
    if not rows:
        return ""
    step, left, width = 27, 160, 240
    parts = []
    for i, (name, value, low, high) in enumerate(rows):
        y = 6 + i * step
        ends = (left + width * max(0.0, low), left + width * min(1.0, high))
        parts.append(
            f'<text x="{left - 8}" y="{y + 12}" text-anchor="end" class="name">{escape(_short(name, 27))}</text>'
            f'<rect x="{left}" y="{y}" width="{width}" height="16" rx="3" class="track"/>'
            f'<rect x="{left}" y="{y}" width="{width * value:.1f}" height="16" rx="3" class="bar">'
            f"<title>{escape(name)}: {100 * value:.1f}% ({100 * low:.1f}-{100 * high:.1f})</title></rect>"
            f'<line x1="{ends[0]:.1f}" y1="{y + 8}" x2="{ends[1]:.1f}" y2="{y + 8}" class="axis"/>'
            + "".join(f'<line x1="{x:.1f}" y1="{y + 4}" x2="{x:.1f}" y2="{y + 12}" class="axis"/>' for x in ends)
            + f'<text x="{left + width + 8}" y="{y + 12}" class="name">{100 * value:.1f}</text>'
        )
    whole, height = left + width + 44, step * len(rows) + 6
    return f'<svg viewBox="0 0 {whole} {height}" width="{whole}" role="img">{"".join(parts)}</svg>'


def differences(rows: Sequence[tuple[str, float, float, float]]) -> str:
    """A point with its interval for each (name, difference, low, high), in [-1, 1], around 0; nothing for no row."""
    if not rows:
        return ""
    reach = _round_up(max(0.02, *(abs(v) for _, *values in rows for v in values)))
    step, left, width = 25, 170, 230
    height = step * len(rows) + 24
    parts = [
        f'<line x1="{left + width / 2}" y1="0" x2="{left + width / 2}" y2="{height - 20}" class="rule"/>',
        *(
            f'<text x="{left + width * (v + 1) / 2:.1f}" y="{height - 6}" text-anchor="middle">{100 * v * reach:+.3g}</text>'
            for v in (-1, 0, 1)
        ),
    ]
    for i, (name, value, low, high) in enumerate(rows):
        y = 12 + i * step
        at, start, end = (left + width * (v / reach + 1) / 2 for v in (value, low, high))
        parts.append(
            f'<text x="{left - 10}" y="{y + 4}" text-anchor="end" class="name">{escape(_short(name, 29))}</text>'
            f'<line x1="{start:.1f}" y1="{y}" x2="{end:.1f}" y2="{y}" class="axis"/>'
            f'<circle cx="{at:.1f}" cy="{y}" r="4.5" class="dot">'
            f"<title>{escape(name)}: {100 * value:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})</title></circle>"
        )
    whole = left + width + 24
    return f'<svg viewBox="0 0 {whole} {height}" width="{whole}" role="img">{"".join(parts)}</svg>'


def _plot(
    body: str, x_name: str, y_name: str, *, x_top: float = 1.0, y_top: float = 1.0, names: Sequence[str] = ()
) -> str:
    ticks = "".join(
        f'<line x1="{_x(v):.1f}" y1="{_y(0)}" x2="{_x(v):.1f}" y2="{_y(1)}" class="grid"/>'
        f'<line x1="{_x(0)}" y1="{_y(v):.1f}" x2="{_x(1)}" y2="{_y(v):.1f}" class="grid"/>'
        f'<text x="{_x(v):.1f}" y="{_HIGH - _BOTTOM + 15}" text-anchor="middle">{v * x_top:.3g}</text>'
        f'<text x="{_LEFT - 6}" y="{_y(v) + 4:.1f}" text-anchor="end">{v * y_top:.2g}</text>'
        for v in (0, 0.25, 0.5, 0.75, 1)
    )
    middle = (_HIGH - _BOTTOM + _TOP) / 2
    legend = "".join(
        f'<line x1="{_LEFT}" y1="{_HIGH + 8 + _LEGEND * i}" x2="{_LEFT + 18}" y2="{_HIGH + 8 + _LEGEND * i}" '
        f'class="line c{i % _COLOURS}"/>'
        f'<text x="{_LEFT + 24}" y="{_HIGH + 12 + _LEGEND * i}" class="name">{escape(_short(name, 44))}</text>'
        for i, name in enumerate(names)
    )
    height = _HIGH + (_LEGEND * len(names) + 4 if names else 0)
    return (
        f'<svg viewBox="0 0 {_WIDE} {height}" width="{_WIDE}" height="{height}" role="img">{ticks}{body}'
        f'<text x="{(_WIDE + _LEFT) / 2}" y="{_HIGH - 7}" text-anchor="middle">{escape(x_name)}</text>'
        f'<text transform="translate(11 {middle}) rotate(-90)" text-anchor="middle">{escape(y_name)}</text>{legend}</svg>'
    )


def _line(points: Sequence[Point], place: int) -> str:
    path = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)
    return f'<polyline points="{path}" class="line c{place % _COLOURS}"/>'


def _rule(y: float, name: str) -> str:
    return (
        f'<line x1="{_x(0)}" y1="{_y(y):.1f}" x2="{_x(1)}" y2="{_y(y):.1f}" class="rule"/>'
        f'<text x="{_x(1) - 4}" y="{_y(y) - 4:.1f}" text-anchor="end">{escape(name)}</text>'
    )


def _round_up(value: float) -> float:
    """The next of 1, 2, 4, 5 or 10 times a power of ten, so that ticks are round."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 5, 10) if value <= step * power * (1 + 1e-9))


def _short(name: str, most: int = 32) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _x(value: float) -> float:
    return _LEFT + value * (_WIDE - _LEFT - _RIGHT)


def _y(value: float) -> float:
    return _HIGH - _BOTTOM - value * (_HIGH - _TOP - _BOTTOM)
