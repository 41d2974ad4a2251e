"""How far two who judge the same things agree, beyond chance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.statistics import SEED, Interval, interval


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two verdicts, yes or no, on each of n things."""

    raw: Interval
    """The share they agree on."""
    kappa: float | None
    """Cohen's: (raw - chance) / (1 - chance), in [-1, 1]; None where both always say the same one thing."""
    low: float | None
    high: float | None
    """The 95% interval of ``kappa``; None where it cannot be told."""
    both: int
    first_only: int
    second_only: int
    neither: int


def agreement(
    first: Sequence[bool], second: Sequence[bool], clusters: Sequence[Hashable], *, rounds: int = 2000
) -> Agreement:
    """The agreement of ``first`` and ``second``, with intervals from whole clusters drawn anew (Cohen 1960).

    Raises ValueError for nothing to judge or lists of unequal length.
    """
    if not len(first) == len(second) == len(clusters):
        raise ValueError(f"{len(first)} and {len(second)} verdicts in {len(clusters)} clusters; as many are needed")
    raw = interval([float(a == b) for a, b in zip(first, second, strict=True)], clusters)
    places = {name: g for g, name in enumerate(dict.fromkeys(clusters))}
    counts = np.zeros((len(places), 4))
    for a, b, name in zip(first, second, clusters, strict=True):
        counts[places[name], 2 * (not a) + (not b)] += 1
    whole = counts.sum(axis=0)
    rng = np.random.default_rng(SEED)
    drawn = _kappas(counts[rng.integers(0, len(counts), size=(rounds, len(counts)))].sum(axis=1))
    known = drawn[np.isfinite(drawn)]
    kappa = float(_kappas(whole[None])[0])
    told = bool(np.isfinite(kappa)) and len(known) > rounds // 2
    low, high = np.quantile(known, [0.025, 0.975]) if told else (None, None)
    return Agreement(
        raw,
        kappa if np.isfinite(kappa) else None,
        None if low is None else float(low),
        None if high is None else float(high),
        *(int(n) for n in whole),
    )


def _kappas(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kappa of each row (yes yes, yes no, no yes, no no); NaN where chance alone would agree always."""
    n = counts.sum(axis=1)
    raw = (counts[:, 0] + counts[:, 3]) / n
    first, second = (counts[:, 0] + counts[:, 1]) / n, (counts[:, 0] + counts[:, 2]) / n
    chance = first * second + (1 - first) * (1 - second)
    left = 1 - chance
    possible = left > 1e-12
    return np.where(possible, (raw - chance) / np.where(possible, left, 1.0), np.nan)
