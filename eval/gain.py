"""``citewell eval gain``: what more splits into tuning and test questions buy, and when they buy no more.

The sample gain of several splits is the factor by which the test questions of one split would have to be multiplied for
its mean to be as sure as the mean over all splits (Eve, Varoquaux and Moreau, "Crossing the Validation Crisis",
arXiv 2606.12552, one of the papers of the seeds; the estimate below is this module's own).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eval.outcomes import Outcomes, read_outcomes
from eval.results import Json
from eval.statistics import SEED
from eval.tables import table
from rag.errors import CitewellError

FIRST = 5
"""Splits before which nothing is said about stopping: from fewer the variance between them is not known."""
SHOWN = (1, 2, 3, 5, 10, 20, 50, 100)

Split = Mapping[str, float]
"""The values of a split's test questions, by id."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How the means of splits vary: what averaging over splits takes away, and what it leaves."""

    between: float
    """s²: the variance of the splits' means around their own mean."""
    shared: float
    """c: the covariance of two splits' means, through the test questions that they share; at least 0."""

    def variance(self, splits: int) -> float:
        """Of the mean over ``splits`` splits: c + s² / K."""
        return self.shared + self.between / splits

    def gain(self, splits: int) -> float:
        """The sample gain of K splits: (c + s²) / (c + s² / K), from 1 up to K; 1 where nothing varies."""
        last = self.variance(splits)
        return self.variance(1) / last if last > 0 else 1.0


def measure_gain(
    paths: Sequence[Path],
    *,
    measure: str | None = None,
    system: str | None = None,
    less: str | None = None,
    splits: int = 50,
    share: float = 0.3,
    enough: float = 0.05,
) -> Json:
    """The sample gain over results: of one system's mean, or of its difference to the system ``less``.

    One file: ``splits`` test parts of about ``share`` are drawn from its questions, whole clusters at a time. Several:
    each is what was measured on one split, as where a system is fitted anew in each. Raises CitewellError where a
    system or a measure is not held, or there is too little to split.
    """
    found = [read_outcomes(path)[1] for path in paths]
    name = measure or ("right" if found[0].kind == "answers" else "nDCG@10")
    values = [_values(outcomes, name, system, less) for outcomes in found]
    clusters = {i: cluster for outcomes in found for i, cluster in outcomes.clusters.items()}
    parts = values if len(values) > 1 else draw_splits(values[0], clusters, splits=splits, share=share)
    told = {"measured": "gain", "measure": name, "system": system or next(iter(found[0].systems)), "less": less}
    return {**told, **sample_gain(parts, clusters, enough=enough)}


def _values(outcomes: Outcomes, measure: str, system: str | None, less: str | None) -> dict[str, float]:
    values = outcomes.of(system, measure)
    if less is None:
        return values
    other = outcomes.of(less, measure)
    return {i: value - other[i] for i, value in values.items() if i in other}


def spread_of(splits: Sequence[Split], clusters: Mapping[str, str]) -> Spread:
    """The spread of at least two splits; see ``sample_gain`` for the formulas."""
    sums, sizes = _by_cluster(splits, clusters)
    return _spread(sums, sizes, np.ones(sums.shape[1]))


def sample_gain(
    splits: Sequence[Split], clusters: Mapping[str, str], *, enough: float = 0.05, rounds: int = 300
) -> Json:
    """What K = 1, 2, … of ``splits`` buy, with 95% intervals, and after how many it was enough.

    Let M_s be the mean of split s over its n_s test questions, and K splits be averaged. For splits that are drawn
    alike, Var(mean of K) = c + s² / K, where c = Cov(M_s, M_t), and the sample variance of the M_s is an unbiased
    estimate of s² = Var(M_s) - c. What two splits have in common is the test questions that they share; with clusters
    of questions g that stand or fall together, and r_sg the sum of the differences from M_s in g,

        c = mean over s != t of  sum over g of  r_sg r_tg / (n_s n_t),

    at least 0. Then gain(K) = (c + s²) / (c + s² / K). Two cases it has to meet: folds that share no question have
    c = 0 and gain K; random parts of a share f of questions whose values do not depend on the split have
    gain(K) = K / (1 + (K - 1) f), at most 1 / f, since more than all questions there are not.

    ``gain`` is that of the first K splits by the spread of all; its interval is from clusters drawn anew. ``stop_after``
    is the first K, not below FIRST, at which all that was planned would narrow the interval by less than ``enough``:
    sqrt(variance(K) / variance(all)) < 1 + ``enough``, judged by the splits up to K only; None where it never was.
    What fitted systems owe to the tuning questions that their splits share is not seen: there c is a lower, and the gain
    an upper bound (Nadeau and Bengio 2003 show that no estimate from one data set is free of such a bias).

    Raises CitewellError for fewer than two splits, or one without a question.
    """
    if len(splits) < 2 or not all(splits):
        raise CitewellError(f"{len(splits)} splits; a sample gain takes two at least, each with a question")
    sums, sizes = _by_cluster(splits, clusters)
    groups = sums.shape[1]
    whole = _spread(sums, sizes, np.ones(groups))
    rng = np.random.default_rng(SEED)
    drawn = []
    for _ in range(rounds):
        weights = np.bincount(rng.integers(0, groups, size=groups), minlength=groups).astype(np.float64)
        if np.all(sizes @ weights > 0):
            drawn.append(_spread(sums, sizes, weights))
    means = sums.sum(axis=1) / sizes.sum(axis=1)
    test = float(np.mean([len(s) for s in splits]))
    counts = sorted({k for k in SHOWN if k < len(splits)} | {len(splits)})
    return {
        "splits": len(splits),
        "questions": len({i for s in splits for i in s}),
        "clusters": groups,
        "test_questions": test,
        "mean": float(means.mean()),
        "spread": asdict(whole),
        "most": 1 + whole.between / whole.shared if whole.shared > 0 else None,
        "gain": [_row(k, whole, drawn, test) for k in counts],
        "enough": enough,
        "stop_after": stop_after(sums, sizes, enough=enough),
    }


def stop_after(sums: NDArray[np.float64], sizes: NDArray[np.float64], *, enough: float) -> int | None:
    """After how many of the splits (rows) the rest were not worth their while; None: never."""
    planned = len(sums)
    for done in range(FIRST, planned):
        found = _spread(sums[:done], sizes[:done], np.ones(sums.shape[1]))
        if found.variance(done) <= found.variance(planned) * (1 + enough) ** 2:
            return done
    return None


def draw_splits(
    values: Mapping[str, float], clusters: Mapping[str, str], *, splits: int, share: float
) -> list[dict[str, float]]:
    """``splits`` random test parts of about ``share`` of the clusters each, whole clusters at a time; seeded."""
    names = sorted({clusters[i] for i in values})
    if not 0 < share < 1 or len(names) < 2:
        raise CitewellError(f"a test share of {share} of {len(names)} clusters of questions leaves no split to draw")
    rng = np.random.default_rng(SEED)
    size = min(max(1, round(share * len(names))), len(names) - 1)
    parts = [{names[g] for g in rng.permutation(len(names))[:size]} for _ in range(splits)]
    return [{i: value for i, value in values.items() if clusters[i] in part} for part in parts]


def print_gain(found: Json) -> str:
    """The gain by the number of splits, as text."""
    rows = [
        [
            str(r["splits"]),
            f"{r['gain']:.2f} ({r['low']:.2f}-{r['high']:.2f})",
            f"{r['questions']:.0f}",
            f"{100 * r['half_width']:.2f}",
        ]
        for r in found["gain"]
    ]
    stop = found["stop_after"]
    most = "without end" if found["most"] is None else f"at most {found['most']:.2f}"
    return "\n".join(
        [
            f"mean {100 * found['mean']:.1f} over {found['splits']} splits of {found['test_questions']:.0f} test questions "
            f"({found['questions']} questions in {found['clusters']} clusters)",
            table(["splits", "sample gain", "as good as questions", "± (95%, x100)"], rows),
            f"more splits: {most}; "
            + (
                f"after {stop} splits the rest would narrow the interval by less than {100 * found['enough']:.0f}%"
                if stop
                else f"all {found['splits']} splits were worth their while"
            ),
        ]
    )


def _row(splits: int, whole: Spread, drawn: Sequence[Spread], test: float) -> Json:
    gain = whole.gain(splits)
    low, high = np.quantile([s.gain(splits) for s in drawn], [0.025, 0.975]) if drawn else (gain, gain)
    return {
        "splits": splits,
        "gain": gain,
        "low": float(low),
        "high": float(high),
        "questions": test * gain,
        "half_width": 1.96 * float(np.sqrt(whole.variance(splits))),
    }


def _by_cluster(
    splits: Sequence[Split], clusters: Mapping[str, str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and number of values, (splits, clusters) each."""
    places = {name: g for g, name in enumerate(dict.fromkeys(clusters[i] for split in splits for i in split))}
    sums, sizes = np.zeros((len(splits), len(places))), np.zeros((len(splits), len(places)))
    for s, split in enumerate(splits):
        for i, value in split.items():
            sums[s, places[clusters[i]]] += value
            sizes[s, places[clusters[i]]] += 1
    return sums, sizes


def _spread(sums: NDArray[np.float64], sizes: NDArray[np.float64], weights: NDArray[np.float64]) -> Spread:
    """``weights``: how often each cluster was drawn; the copies of a cluster stand or fall together."""
    totals = sizes @ weights
    means = (sums @ weights) / totals
    scaled = (sums - means[:, None] * sizes) * weights / totals[:, None]
    products = scaled @ scaled.T
    count = len(means)
    shared = (products.sum() - np.trace(products)) / (count * (count - 1))
    return Spread(float(means.var(ddof=1)), max(0.0, float(shared)))
