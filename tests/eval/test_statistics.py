from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.statistics import bootstrap_p, compare, compare_pairs, holm, interval, permutation_p


def test_a_planted_regression_is_called() -> None:
    rng = np.random.default_rng(1)
    old = {f"q{i}": float(v) for i, v in enumerate(rng.uniform(0.3, 1.0, 150))}
    worse = {i: v - 0.05 + float(rng.normal(0, 0.1)) for i, v in old.items()}
    (found,) = compare("old", {"old": old, "new": worse})
    assert (found.verdict, found.n) == ("worse", 150)
    assert found.low < found.difference < found.high < 0
    (back,) = compare("new", {"new": worse, "old": old})
    assert back.verdict == "better"


def test_null_comparisons_are_called_at_the_nominal_rate() -> None:
    rng = np.random.default_rng(2)
    rounds = 400
    called = sum(permutation_p(rng.normal(0, 0.2, 60).tolist(), rounds=400) <= 0.05 for _ in range(rounds))
    # 5% of 400 is 20; a binomial leaves [8, 34] less than once in 300
    assert 8 <= called <= 34


def test_questions_that_share_a_paper_are_not_counted_as_many() -> None:
    rng = np.random.default_rng(3)
    clusters = [i // 10 for i in range(100)]
    called_naive = called = 0
    for _ in range(150):
        shared = rng.normal(0, 0.3, 10)
        differences = [float(shared[c] + rng.normal(0, 0.05)) for c in clusters]
        called_naive += permutation_p(differences, rounds=200) <= 0.05
        called += permutation_p(differences, clusters, rounds=200) <= 0.05
    assert called <= 17
    assert called_naive > 50


def test_the_cluster_interval_is_wider_and_covers() -> None:
    values = [1.0] * 30 + [0.0] * 20
    clusters = [i // 10 for i in range(50)]
    naive, clustered = interval(values), interval(values, clusters)
    assert naive.mean == clustered.mean == 0.6
    assert (naive.clusters, clustered.clusters) == (50, 5)
    assert clustered.high - clustered.low > naive.high - naive.low


def test_intervals_cover_at_about_the_nominal_rate() -> None:
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(200):
        found = interval(rng.binomial(1, 0.8, 80).tolist(), rounds=400)
        covered += found.low <= 0.8 <= found.high
    assert covered >= 180


def test_no_spread_is_not_certainty() -> None:
    all_right = interval([1.0] * 60)
    assert (all_right.mean, all_right.high) == (1.0, 1.0)
    assert all_right.low == pytest.approx(0.025 ** (1 / 60))
    none = interval([0.0] * 60, [0] * 30 + [1] * 30)
    assert (none.mean, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(1 - 0.025**0.5)


def test_equal_systems_do_not_differ() -> None:
    assert permutation_p([0.0] * 10) == 1.0
    (found,) = compare("a", {"a": {"q": 1.0}, "b": {"q": 1.0}})
    assert (found.verdict, found.p_holm) == ("no difference", 1.0)


def test_systems_over_other_questions_are_not_compared() -> None:
    with pytest.raises(ValueError, match="not measured on the same questions"):
        compare("a", {"a": {"q": 1.0}, "b": {"r": 1.0}})


@pytest.mark.parametrize("values", [[], [float("nan")]])
def test_a_mean_of_nothing_fails(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        interval(values)


def test_holm_as_in_the_textbook() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_only_raises_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    ordered = [a for _, a in sorted(zip(p_values, adjusted, strict=True))]
    assert ordered == sorted(ordered)


def test_every_pair_is_compared_and_corrected_together() -> None:
    rng = np.random.default_rng(5)
    base = {f"q{i}": float(v) for i, v in enumerate(rng.uniform(0, 0.8, 80))}
    values = {
        "a": base,
        "b": {i: v + 0.1 + float(rng.normal(0, 0.05)) for i, v in base.items()},
        "c": {i: v + float(rng.normal(0, 0.05)) for i, v in base.items()},
    }
    found = compare_pairs([("a", "b"), ("a", "c"), ("b", "c")], values)
    assert [(c.a, c.b, c.verdict) for c in found] == [
        ("a", "b", "better"),
        ("a", "c", "no difference"),
        ("b", "c", "worse"),
    ]
    assert all(abs(c.p_holm - c.p_bootstrap) < 0.1 for c in found), "two tests of the same thing"


def test_a_bootstrap_of_nulls_calls_at_the_nominal_rate() -> None:
    rng = np.random.default_rng(6)
    called = sum(bootstrap_p(rng.normal(0, 0.2, 60).tolist(), rounds=400) <= 0.05 for _ in range(400))
    assert 8 <= called <= 36


def test_no_change_at_all_may_be_a_change_in_either_direction() -> None:
    (same,) = compare("a", {"a": {"p": 1.0, "q": 0.0}, "b": {"p": 1.0, "q": 0.0}})
    assert same.low == -same.high < 0
    (fallen,) = compare("a", {"a": {"p": 1.0, "q": 1.0}, "b": {"p": 0.0, "q": 0.0}})
    assert (fallen.low, fallen.difference) == (-1.0, -1.0)
    assert -1 < fallen.high < 0
