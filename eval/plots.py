"""Plots as inline SVG: lines and points in a unit square, drawn by hand so that a page needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_SIZE, _LEFT, _BOTTOM, _TOP, _RIGHT = 300, 46, 40, 14, 14

Point = tuple[float, float]


def risk_coverage(curve: Sequence[Point], *, risk_wanted: float = 0.05) -> str:
    """Selective risk over coverage, as steps, with the wanted risk as a broken line."""
    top = max([0.2, *(risk for _, risk in curve)])
    line = [(x, y / top) for x, y in curve]
    body = _line(line) + _rule(risk_wanted / top, f"{100 * risk_wanted:.0f}%")
    return _plot(body, "coverage (share of questions answered)", "risk (share of these wrong)", top=top)


def reliability_diagram(bins: Sequence[tuple[float, float, int]]) -> str:
    """Share right over mean confidence, a disc for each bin, its area by how many; the diagonal is a perfect match."""
    most = max((n for *_, n in bins), default=1)
    discs = "".join(
        f'<circle cx="{_x(c):.1f}" cy="{_y(r):.1f}" r="{3 + 9 * (n / most) ** 0.5:.1f}" class="dot">'
        f"<title>confidence {c:.2f}, right {r:.2f}, {n} answers</title></circle>"
        for c, r, n in bins
    )
    diagonal = f'<line x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}" class="rule"/>'
    return _plot(diagonal + discs, "confidence", "share right", top=1.0)


def bars(rows: Sequence[tuple[str, float, float, float]]) -> str:
    """A bar for each (name, value, low, high), all in [0, 1], with its interval."""
    step, left, width = 26, 240, 300
    height = step * len(rows) + 8
    parts = []
    for i, (name, value, low, high) in enumerate(rows):
        y = 6 + i * step
        ends = (left + width * low, left + width * high)
        parts.append(
            f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{left}" y="{y}" width="{width * value:.1f}" height="16" class="bar">'
            f"<title>{escape(name)}: {100 * value:.1f}% ({100 * low:.1f}-{100 * high:.1f})</title></rect>"
            f'<line x1="{ends[0]:.1f}" y1="{y + 8}" x2="{ends[1]:.1f}" y2="{y + 8}" class="axis"/>'
            f'<text x="{left + width + 8}" y="{y + 13}">{100 * value:.1f}</text>'
        )
    whole = left + width + 60
    return f'<svg viewBox="0 0 {whole} {height}" width="{whole}" role="img">{"".join(parts)}</svg>'


def _plot(body: str, x_name: str, y_name: str, *, top: float) -> str:
    ticks = "".join(
        f'<text x="{_x(v):.1f}" y="{_SIZE - _BOTTOM + 15}" text-anchor="middle">{v:g}</text>'
        f'<text x="{_LEFT - 6}" y="{_y(v) + 4:.1f}" text-anchor="end">{v * top:.2g}</text>'
        for v in (0, 0.25, 0.5, 0.75, 1)
    )
    middle = (_SIZE - _BOTTOM + _TOP) / 2
    wide, high = _SIZE - _LEFT - _RIGHT, _SIZE - _TOP - _BOTTOM
    return (
        f'<svg viewBox="0 0 {_SIZE} {_SIZE}" width="{_SIZE}" height="{_SIZE}" role="img">'
        f'<rect x="{_LEFT}" y="{_TOP}" width="{wide}" height="{high}" class="frame"/>'
        f"{ticks}{body}"
        f'<text x="{(_SIZE + _LEFT) / 2}" y="{_SIZE - 6}" text-anchor="middle">{escape(x_name)}</text>'
        f'<text transform="translate(11 {middle}) rotate(-90)" text-anchor="middle">{escape(y_name)}</text></svg>'
    )


def _line(points: Sequence[Point]) -> str:
    path = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)
    return f'<polyline points="{path}" class="line"/>'


def _rule(y: float, name: str) -> str:
    return (
        f'<line x1="{_x(0)}" y1="{_y(y):.1f}" x2="{_x(1)}" y2="{_y(y):.1f}" class="rule"/>'
        f'<text x="{_x(1) - 4}" y="{_y(y) - 4:.1f}" text-anchor="end">{escape(name)}</text>'
    )


def _x(value: float) -> float:
    return _LEFT + value * (_SIZE - _LEFT - _RIGHT)


def _y(value: float) -> float:
    return _SIZE - _BOTTOM - value * (_SIZE - _TOP - _BOTTOM)
