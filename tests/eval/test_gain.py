"""The sample gain against what simulated benchmarks do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eval.gain import FIRST, draw_splits, print_gain, sample_gain, spread_of
from rag.cli import main
from rag.errors import CitewellError

ALONE = {f"q{i}": f"q{i}" for i in range(1000)}


def _simulated(
    make: Callable[[np.random.Generator], list[dict[str, float]]], *, rounds: int = 400
) -> tuple[float, float]:
    """The sample gain of all splits as many simulated benchmarks have it, and the mean of its estimates."""
    rng = np.random.default_rng(11)
    first, averaged, between, shared = [], [], [], []
    for _ in range(rounds):
        splits = make(rng)
        means = [np.mean(list(split.values())) for split in splits]
        first.append(means[0])
        averaged.append(np.mean(means))
        found = spread_of(splits, ALONE)
        between.append(found.between)
        shared.append(found.shared)
    c, s = float(np.mean(shared)), float(np.mean(between))
    return float(np.var(first) / np.var(averaged)), (c + s) / (c + s / len(splits))


def test_random_parts_of_fixed_values_gain_no_more_than_all_questions() -> None:
    def make(rng: np.random.Generator) -> list[dict[str, float]]:
        values = rng.binomial(1, 0.7, 100)
        return [{f"q{i}": float(values[i]) for i in rng.permutation(100)[:25]} for _ in range(10)]

    true, estimated = _simulated(make)
    expected = 10 / (1 + 9 * 0.25)
    assert true == pytest.approx(expected, rel=0.2)
    assert estimated == pytest.approx(expected, rel=0.1)


def test_folds_that_share_no_question_gain_as_many_as_they_are() -> None:
    def make(rng: np.random.Generator) -> list[dict[str, float]]:
        values = rng.normal(0.5, 0.2, 100)
        return [{f"q{i}": float(values[i]) for i in range(100) if i % 5 == fold} for fold in range(5)]

    true, estimated = _simulated(make)
    assert true == pytest.approx(5, rel=0.2)
    assert estimated == pytest.approx(5, rel=0.01)


def test_luck_of_each_split_is_averaged_away() -> None:
    """Systems that are fitted anew in each split, some luckier than others: more to gain than 1 / share."""

    def make(rng: np.random.Generator) -> list[dict[str, float]]:
        values = rng.normal(0.5, 0.2, 100)
        splits = []
        for _ in range(10):
            luck = rng.normal(0, 0.04)
            splits.append({f"q{i}": float(values[i] + luck) for i in rng.permutation(100)[:50]})
        return splits

    true, estimated = _simulated(make)
    assert true == pytest.approx(estimated, rel=0.25)
    assert estimated > 3 > 10 / (1 + 9 * 0.5)


def test_one_system_over_drawn_splits() -> None:
    rng = np.random.default_rng(12)
    values = {f"q{i}": float(v) for i, v in enumerate(rng.binomial(1, 0.8, 200))}
    clusters = {f"q{i}": f"paper {i // 4}" for i in range(200)}
    splits = draw_splits(values, clusters, splits=40, share=0.3)
    assert [len(s) for s in splits] == [60] * 40, "whole papers at a time"
    assert all(len({i for i in s if clusters[i] == "paper 1"}) in (0, 4) for s in splits)
    assert draw_splits(values, clusters, splits=40, share=0.3) == splits
    found = sample_gain(splits, clusters)
    by_count = {row["splits"]: row for row in found["gain"]}
    assert list(by_count) == [1, 2, 3, 5, 10, 20, 40]
    assert by_count[1]["gain"] == 1.0
    gains = [row["gain"] for row in found["gain"]]
    assert gains == sorted(gains)
    assert by_count[40]["low"] <= by_count[40]["gain"] <= by_count[40]["high"]
    assert by_count[40]["gain"] == pytest.approx(40 / (1 + 39 * 0.3), rel=0.3)
    assert by_count[40]["questions"] == pytest.approx(60 * by_count[40]["gain"])
    assert found["stop_after"] is not None
    assert FIRST <= found["stop_after"] < 40
    assert "more splits: at most" in print_gain(found)


def test_it_stops_later_where_more_is_to_gain_and_never_where_each_split_is_new() -> None:
    rng = np.random.default_rng(13)
    values = {f"q{i}": float(v) for i, v in enumerate(rng.normal(0.5, 0.2, 300))}
    stops = [
        sample_gain(draw_splits(values, ALONE, splits=60, share=share), ALONE, rounds=20)["stop_after"]
        for share in (0.8, 0.2)
    ]
    assert stops[0] < stops[1]
    folds = [{i: v for i, v in values.items() if int(i[1:]) % 10 == fold} for fold in range(10)]
    found = sample_gain(folds, ALONE, rounds=20)
    assert (found["stop_after"], found["most"]) == (None, None)
    assert "all 10 splits were worth their while" in print_gain(found)


def test_what_never_varies_has_nothing_to_gain() -> None:
    found = sample_gain([{"q1": 1.0, "q2": 1.0}, {"q1": 1.0}], ALONE)
    assert [row["gain"] for row in found["gain"]] == [1.0, 1.0]


def test_too_little_to_split_is_said() -> None:
    with pytest.raises(CitewellError, match="1 splits; a sample gain takes two"):
        sample_gain([{"q1": 1.0}], ALONE)
    with pytest.raises(CitewellError, match=r"a test share of 0\.3 of 1 clusters"):
        draw_splits({"q1": 1.0}, ALONE, splits=3, share=0.3)


def test_the_command_takes_a_measure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "gain", str(tmp_path / "none.json"), "--measure", "right"]) == 1
    assert "none.json cannot be read as results" in capsys.readouterr().err
