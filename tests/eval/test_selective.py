from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.selective import reliability, selective

_CONFIDENCES = st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9]) | st.floats(0, 1)
_PAIRS = st.lists(st.tuples(_CONFIDENCES, st.booleans()), min_size=1, max_size=60)


def test_a_small_case_by_hand() -> None:
    found = selective([0.9, 0.8, 0.7, 0.6], [0, 1, 0, 1])
    assert found.aurc == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert found.augrc == pytest.approx(0.25 * (0 + 0.125 + 0.25 + 0.375))
    assert found.coverage_at_5 == 0.25
    assert found.curve == ((0.25, 0.0), (0.5, 0.5), (0.75, pytest.approx(1 / 3)), (1.0, 0.5))


@given(_PAIRS)
def test_augrc_is_the_closed_form(pairs: list[tuple[float, bool]]) -> None:
    """(1 - AUROC_f) acc (1 - acc) + (1 - acc)^2 / 2, where AUROC_f is that of right against wrong, ties half."""
    right = np.array([c for c, wrong in pairs if not wrong])
    wrong = np.array([c for c, bad in pairs if bad])
    accuracy = len(right) / len(pairs)
    above = (right[:, None] > wrong).mean() + (right[:, None] == wrong).mean() / 2 if len(right) and len(wrong) else 0.5
    expected = (1 - above) * accuracy * (1 - accuracy) + (1 - accuracy) ** 2 / 2
    found = selective([c for c, _ in pairs], [float(bad) for _, bad in pairs])
    assert found.augrc == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_a_constant_confidence_gets_no_credit(wrong: list[bool]) -> None:
    losses = [float(w) for w in wrong]
    risk = float(np.mean(losses))
    found = selective([0.7] * len(losses), losses)
    assert found.aurc == pytest.approx(risk)
    assert found.augrc == pytest.approx(risk / 2)
    assert found.coverage_at_5 == (1.0 if risk <= 0.05 else 0.0)


@given(_PAIRS)
def test_the_order_of_the_file_does_not_matter(pairs: list[tuple[float, bool]]) -> None:
    one = selective([c for c, _ in pairs], [float(w) for _, w in pairs])
    other = selective([c for c, _ in reversed(pairs)], [float(w) for _, w in reversed(pairs)])
    assert one.aurc == pytest.approx(other.aurc)
    assert one.augrc == pytest.approx(other.augrc)
    assert one.coverage_at_5 == other.coverage_at_5


def test_nothing_to_order_fails() -> None:
    with pytest.raises(ValueError, match="at least one"):
        selective([], [])


def test_bins_of_reliability() -> None:
    bins = reliability([0.05, 0.95, 1.0, 0.92], [False, True, True, False])
    assert [(round(b.confidence, 3), round(b.right, 3), b.n) for b in bins] == [(0.05, 0.0, 1), (0.957, 0.667, 3)]
