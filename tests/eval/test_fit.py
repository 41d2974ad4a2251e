from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.fit import fit_confidence, logistic
from rag.abstain import FEATURES


def test_logistic_regression_finds_the_direction_that_tells_the_labels_apart() -> None:
    rows = np.array([[x, 0.3] for x in np.linspace(-2, 2, 41)])
    weights, bias = logistic(rows, (rows[:, 0] > 0).astype(float), penalty=0.1)
    assert weights[0] > 3
    assert weights[1] == pytest.approx(0.0, abs=0.5)
    assert bias == pytest.approx(0.0, abs=0.5)


@given(st.integers(0, 1))
def test_logistic_regression_of_equal_labels_keeps_the_weights_at_zero(label: int) -> None:
    weights, bias = logistic(np.zeros((8, 2)), np.full(8, float(label)), penalty=1.0)
    assert weights.tolist() == [0.0, 0.0]
    assert (bias > 0) == bool(label)


def test_a_fitted_confidence_answers_where_right_answers_outweigh_wrong_ones() -> None:
    def record(fit: float, *, right: bool) -> dict[str, object]:
        return {"signals": dict.fromkeys(FEATURES, 0.0) | {"dense": fit}, "right": right}

    records = [record(0.8 + i / 1000, right=True) for i in range(40)]
    records += [record(0.2 + i / 1000, right=False) for i in range(40)]
    model = json.loads(fit_confidence([*records, {"signals": {}, "right": False}]))
    weight, bias = model["weights"][FEATURES.index("dense")], model["bias"][0]

    def confidence(fit: float) -> float:
        return float(1 / (1 + np.exp(-(weight * fit + bias))))

    assert model["features"] == list(FEATURES)
    assert confidence(0.239) < model["threshold"][0] <= confidence(0.8)
