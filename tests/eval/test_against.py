"""A run against an earlier one: a planted regression is called, chance is not, and what changed is listed."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from eval.against import compare_runs, print_change
from rag.errors import CitewellError


def _retrieval(values: dict[str, float], *, kinds: int = 2, texts: str = "?") -> dict[str, Any]:
    """Results of retrieval in which each question has one value, for every measure, and a paper of its own."""
    records = [
        {
            "id": name,
            "kind": ("single", "late", "paraphrase")[place % kinds],
            "question": f"{name}{texts}",
            "papers": [f"p{name}"],
            "ranks": {f"p{name}": 1 if value > 0.5 else None},
            "values": {"nDCG@10": value, "all@5": float(value > 0.5)},
        }
        for place, (name, value) in enumerate(values.items())
    ]
    return {"measured": "retrieval", "citewell": "1", "code": "abc", "index": "i", "records": records}


def _rows(change: dict[str, Any], group: str = "all") -> dict[str, dict[str, Any]]:
    return {row["measure"]: row for row in change["rows"] if row["group"] == group}


def _drawn(rng: np.random.Generator, n: int = 120) -> dict[str, float]:
    return {f"q{i}": float(v) for i, v in enumerate(rng.uniform(0.2, 1.0, n))}


def test_a_planted_regression_is_called_in_the_whole_and_in_its_class() -> None:
    rng = np.random.default_rng(21)
    old = _drawn(rng)
    new = {i: v - (0.25 if place % 2 else 0.0) for place, (i, v) in enumerate(old.items())}
    change = compare_runs(_retrieval(new), _retrieval(old))
    assert _rows(change)["nDCG@10"]["verdict"] == "worse"
    assert _rows(change, "late")["nDCG@10"]["verdict"] == "worse"
    assert _rows(change, "single")["nDCG@10"]["verdict"] == "no difference"
    row = _rows(change)["nDCG@10"]
    assert row["difference"] == pytest.approx(-0.125)
    assert row["low"] < row["difference"] < row["high"] < 0
    back = compare_runs(_retrieval(old), _retrieval(new))
    assert _rows(back)["nDCG@10"]["verdict"] == "better"
    fallen = [i for i, v in old.items() if v > 0.5 >= new[i]]
    assert [c["id"] for c in change["broken"]] == fallen
    assert [c["id"] for c in back["fixed"]] == fallen
    assert change["fixed"] == back["broken"] == []
    assert change["broken"][0] | {"id": "", "question": ""} == {
        "id": "",
        "kind": "late",
        "question": "",
        "measure": "all@5",
    }
    assert f"broken ({len(fallen)}):" in print_change(change)


def test_a_hundred_null_comparisons_are_called_at_the_nominal_rate() -> None:
    rng = np.random.default_rng(22)
    called = 0
    for _ in range(100):
        old = _drawn(rng, 60)
        new = {i: v + float(rng.normal(0, 0.2)) for i, v in old.items()}
        called += _rows(compare_runs(_retrieval(new, kinds=1), _retrieval(old, kinds=1)))["nDCG@10"]["verdict"] != (
            "no difference"
        )
    # 5 are expected; a binomial leaves [0, 12] less than once in 500
    assert called <= 12


def test_the_same_run_twice_is_no_difference() -> None:
    run = _retrieval(_drawn(np.random.default_rng(23)))
    change = compare_runs(run, copy.deepcopy(run))
    assert change["verdicts"] == {"better": 0, "worse": 0, "no difference": len(change["rows"])}
    assert (change["fixed"], change["broken"], change["questions"]) == ([], [], 120)


def test_only_questions_of_both_in_the_same_words_are_compared() -> None:
    old = _retrieval({"a": 1.0, "b": 0.0, "c": 1.0})
    new = _retrieval({"b": 1.0, "c": 1.0, "d": 1.0})
    new["records"][1]["question"] = "c in other words?"
    change = compare_runs(new, old)
    assert (change["questions"], change["only_new"], change["only_old"]) == (1, ["c", "d"], ["a", "c"])
    assert [c["id"] for c in change["fixed"]] == ["b"]
    with pytest.raises(CitewellError, match="no question in common"):
        compare_runs(_retrieval({"x": 1.0}), old)
    with pytest.raises(CitewellError, match="results of 'retrieval' cannot be held against results of 'answers'"):
        compare_runs(old, {"measured": "answers", "citewell": "1", "records": []})
