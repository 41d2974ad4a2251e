"""How well confidences order answers: risk and coverage.

Every question counts: n questions with a confidence and a loss, 1 where answering it went wrong. Answering those of
the highest confidence first, coverage is the share answered, selective risk the share of these that went wrong,
generalised risk the share of all n that were answered and went wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Selective:
    """Areas and a coverage in [0, 1]; for ``aurc`` and ``augrc`` lower is better, for ``coverage`` higher."""

    aurc: float
    augrc: float
    coverage_at_5: float
    curve: tuple[tuple[float, float], ...]
    """(coverage, selective risk) at every confidence there is, from the highest down."""


def selective(confidences: Sequence[float], losses: Sequence[float]) -> Selective:
    """Risk-coverage of n >= 1 questions.

    - AURC: the mean over i = 1..n of the selective risk of the i most confident (Geifman and El-Yaniv 2017).
    - AUGRC: the area under generalised risk over coverage by the trapezoid rule, equal to (1 - AUROC_f) acc (1 - acc)
      + (1 - acc)^2 / 2 (Traub et al., arXiv 2407.01032).
    - C@5: the largest coverage at which the selective risk is at most 5%.

    Questions of equal confidence cannot be told apart: they are answered together, each with the mean loss of all of
    them, so that a constant confidence gets no credit for the order of a file.
    """
    if not confidences or len(confidences) != len(losses):
        raise ValueError(f"{len(confidences)} confidences and {len(losses)} losses; as many are needed, at least one")
    sizes, means = _groups(np.asarray(confidences, dtype=np.float64), np.asarray(losses, dtype=np.float64))
    n = len(losses)
    spread = np.repeat(means, sizes)
    risks = np.cumsum(spread) / np.arange(1, n + 1)
    covered = np.cumsum(sizes) / n
    wrong = np.cumsum(sizes * means) / n
    at = np.concatenate([[0.0], covered])
    generalised = np.concatenate([[0.0], wrong])
    augrc = float(np.sum(np.diff(at) * (generalised[1:] + generalised[:-1]) / 2))
    good = covered[wrong / covered <= 0.05 + 1e-12]
    return Selective(
        aurc=float(risks.mean()),
        augrc=augrc,
        coverage_at_5=float(good.max()) if len(good) else 0.0,
        curve=tuple((float(c), float(w / c)) for c, w in zip(covered, wrong, strict=True)),
    )


@dataclass(frozen=True, slots=True)
class Bin:
    """A bin of a reliability diagram: mean confidence, share that was right, and how many."""

    confidence: float
    right: float
    n: int


def reliability(confidences: Sequence[float], right: Sequence[bool], *, bins: int = 10) -> list[Bin]:
    """Bins of equal width over [0, 1] that hold anything, from the lowest."""
    found: dict[int, list[int]] = {}
    for i, value in enumerate(confidences):
        found.setdefault(min(int(value * bins), bins - 1), []).append(i)
    return [
        Bin(
            float(np.mean([confidences[i] for i in rows])),
            float(np.mean([right[i] for i in rows])),
            len(rows),
        )
        for _, rows in sorted(found.items())
    ]


def _groups(
    confidences: NDArray[np.float64], losses: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Size and mean loss of each group of equal confidence, the most confident first."""
    values, places, sizes = np.unique(-confidences, return_inverse=True, return_counts=True)
    sums = np.bincount(places, weights=losses, minlength=len(values))
    return sizes.astype(np.int64), sums / sizes
