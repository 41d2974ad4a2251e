"""How sure a figure is: bootstrap intervals, paired permutation tests, Holm's correction. Seeded, so repeatable."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

SEED = 20240707


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over ``n`` questions in ``clusters`` independent groups, with its 95% interval."""

    mean: float
    low: float
    high: float
    n: int
    clusters: int


def interval(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None, *, rounds: int = 2000, level: float = 0.95
) -> Interval:
    """The mean of ``values`` with a percentile bootstrap interval.

    Where ``clusters`` (one a value) are given, whole clusters are drawn, since questions about one paper stand or
    fall together. Where all values are 0, or all are 1, no drawing shows any spread: the interval is then Clopper and
    Pearson's for that many independent clusters. Raises ValueError for no values or one that is not finite.
    """
    sums, sizes = _by_cluster(values, clusters)
    total = float(sums.sum() / sizes.sum())
    groups = len(sums)
    if set(values) <= {0.0} or set(values) <= {1.0}:
        tail = (1 - level) / 2
        hits = groups if total else 0
        low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, 1))
        high = 1.0 if hits else float(beta.ppf(1 - tail, 1, groups))
        return Interval(total, low, high, len(values), groups)
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(0, groups, size=(rounds, groups))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(total, float(low), float(high), len(values), groups)


@dataclass(frozen=True, slots=True)
class Comparison:
    """System ``b`` less system ``a`` over the same questions, with the interval of the difference and its p-value."""

    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    """``p`` corrected for all comparisons made together."""
    p_bootstrap: float
    """The p-value of the paired bootstrap test, corrected likewise: a second opinion, which decides nothing."""
    n: int

    @property
    def verdict(self) -> str:
        """ "better", "worse" or "no difference" of ``b``, at the 5% level after the correction."""
        if self.p_holm > 0.05:
            return "no difference"
        return "better" if self.difference > 0 else "worse"


def permutation_p(
    differences: Sequence[float], clusters: Sequence[Hashable] | None = None, *, rounds: int = 5000
) -> float:
    """The two-sided p-value of a paired permutation test: the signs of the differences are drawn anew.

    All differences of a cluster change their sign together. With the observed signs among the drawn ones, so that
    the test is exact at any number of rounds: p = (1 + as extreme) / (1 + rounds). All differences 0: p = 1.
    """
    sums, _ = _by_cluster(differences, clusters)
    observed = abs(float(sums.sum()))
    if not np.any(sums):
        return 1.0
    rng = np.random.default_rng(SEED)
    signs = rng.integers(0, 2, size=(rounds, len(sums)), dtype=np.int8) * 2 - 1
    as_extreme = int((np.abs(signs @ sums) >= observed - 1e-12 * max(1.0, observed)).sum())
    return (1 + as_extreme) / (1 + rounds)


def bootstrap_p(
    differences: Sequence[float], clusters: Sequence[Hashable] | None = None, *, rounds: int = 5000
) -> float:
    """The two-sided p-value of a paired bootstrap test: how often chance alone gives a mean difference as far from 0.

    The differences less their mean are drawn with replacement, whole clusters at a time (the shift method of Smucker,
    Allan and Carterette, CIKM 2007). p = (1 + as extreme) / (1 + rounds). All differences 0: p = 1.
    """
    sums, sizes = _by_cluster(differences, clusters)
    if not np.any(sums):
        return 1.0
    observed = float(sums.sum() / sizes.sum())
    drawn = np.random.default_rng(SEED).integers(0, len(sums), size=(rounds, len(sums)))
    means = (sums - observed * sizes)[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    as_extreme = int((np.abs(means) >= abs(observed) - 1e-12).sum())
    return (1 + as_extreme) / (1 + rounds)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: adjusted p-values in the order given (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for place, i in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - place) * p_values[i]))
        adjusted[i] = running
    return adjusted


def compare(
    baseline: str,
    values: Mapping[str, Mapping[str, float]],
    *,
    clusters: Mapping[str, Hashable] | None = None,
    rounds: int = 5000,
) -> list[Comparison]:
    """Every other system of ``values`` (system -> question id -> value) against ``baseline``, corrected together.

    Raises ValueError where two systems were not measured on the same questions.
    """
    return compare_pairs([(baseline, name) for name in values if name != baseline], values, clusters, rounds=rounds)


def compare_pairs(
    pairs: Sequence[tuple[str, str]],
    values: Mapping[str, Mapping[str, float]],
    clusters: Mapping[str, Hashable] | None = None,
    *,
    rounds: int = 5000,
) -> list[Comparison]:
    """As ``compare``, for any ``pairs`` (a, b) of systems: b against a."""
    found = []
    for a, b in pairs:
        ids = sorted(values[a])
        if sorted(values[b]) != ids:
            raise ValueError(f"{b!r} and {a!r} were not measured on the same questions")
        groups = None if clusters is None else [clusters[i] for i in ids]
        differences = [values[b][i] - values[a][i] for i in ids]
        found.append(
            (
                _of_differences(differences, groups),
                permutation_p(differences, groups, rounds=rounds),
                bootstrap_p(differences, groups, rounds=rounds),
            )
        )
    by_signs, by_draws = holm([p for _, p, _ in found]), holm([p for *_, p in found])
    return [
        Comparison(a, b, spread.mean, spread.low, spread.high, p, by_signs[i], by_draws[i], spread.n)
        for i, ((a, b), (spread, p, _)) in enumerate(zip(pairs, found, strict=True))
    ]


def _of_differences(differences: Sequence[float], clusters: Sequence[Hashable] | None) -> Interval:
    """As ``interval``; where no two differ by anything, as far below 0 as above, and where all fell, as where all rose."""
    found = interval(differences, clusters)
    if set(differences) == {0.0}:
        return replace(found, low=-found.high)
    if set(differences) == {-1.0}:
        risen = interval([1.0] * len(differences), clusters)
        return replace(found, low=-risen.high, high=-risen.low)
    return found


def _by_cluster(
    values: Sequence[float], clusters: Sequence[Hashable] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and size of each cluster's values, clusters in order of appearance."""
    given = np.asarray(values, dtype=np.float64)
    if not len(given) or not np.all(np.isfinite(given)):
        raise ValueError(f"{len(given)} values, not all finite; a mean needs at least one and all of them finite")
    if clusters is None:
        return given, np.ones_like(given)
    places = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
    rows = np.array([places[name] for name in clusters])
    sums = np.bincount(rows, weights=given).astype(np.float64)
    return sums, np.bincount(rows).astype(np.float64)
