"""Figures of the literature, reproduced: what the harness measures is what others measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval.collections import load_collection
from eval.measures import mean, measure, ranking
from eval.systems import bm25


def _of_bm25(folder: Path, *measures: str) -> list[float]:
    collection = load_collection(folder)
    values = measure(collection.qrels, bm25(collection.documents, collection.judged()), measures)
    return [round(mean(values[m]), 3) for m in measures]


def test_bm25_on_scifact(shared: Path) -> None:
    assert _of_bm25(shared / "data" / "scifact", "nDCG@10", "R@100") == pytest.approx([0.687, 0.913], abs=0.0015)


def test_bm25_on_cranfield(shared: Path) -> None:
    found = _of_bm25(shared / "data" / "cranfield", "AP", "nDCG@10", "R@100")
    assert found == pytest.approx([0.310, 0.389, 0.738], abs=0.0015)


def test_a_constant_scorer_gets_no_credit() -> None:
    """Where every document scores alike, the order is that of the ids, which know nothing: it is as good as chance."""
    rng = np.random.default_rng(41)
    names = [f"d{i:02}" for i in range(50)]
    qrels: dict[str, dict[str, int]] = {f"q{i}": {str(rng.choice(names)): 1} for i in range(500)}
    run: dict[str, dict[str, float]] = {q: dict.fromkeys([*found, *names], 0.5) for q, found in qrels.items()}
    values = measure(qrels, run)
    assert mean(values["R@1"]) == pytest.approx(1 / 50, abs=0.02), "though each run lists the right one first"
    assert mean(values["R@10"]) == pytest.approx(10 / 50, abs=0.06)
    assert ranking(run["q0"]) == names


def test_the_best_order_gets_all_credit_and_the_worst_none() -> None:
    names = [f"d{i:03}" for i in range(200)]
    qrels = {"q": {"d150": 1, "d151": 1}}
    best: dict[str, dict[str, Any]] = {"q": {n: float(n in qrels["q"]) for n in names}}
    worst = {"q": {n: -float(n in qrels["q"]) for n in names}}
    assert {m: found["q"] for m, found in measure(qrels, best).items()} == {
        "nDCG@10": 1.0,
        "R@1": 0.5,
        "R@5": 1.0,
        "R@10": 1.0,
        "R@100": 1.0,
        "RR@10": 1.0,
        "AP": 1.0,
    }
    assert [found["q"] for m, found in measure(qrels, worst).items() if m != "AP"] == [0.0] * 6
