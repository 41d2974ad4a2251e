from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import guarantee
from rag.errors import CitewellError
from rag.guarantee import GRID, Calibration, Setup, Trial, learn_then_test, needed, similarity, sketch, standing

SETUP = Setup(parts={"language model": "A", "code": "1"}, papers=3, sketch=sketch(["p1", "p2", "p3"]))
CALIBRATION = Calibration(
    threshold=0.5,
    answered=93,
    wrong=1,
    questions=140,
    alpha=0.05,
    delta=0.05,
    tested=(Trial(0.5, 93, 1, 0.0498), Trial(0.48, 99, 4, 0.44)),
    questions_file="questions.jsonl",
    questions_sha256="00",
    setup=SETUP,
)


@pytest.mark.parametrize(("wrong", "answers"), [(0, 59), (1, 93), (2, 124), (5, 208)])
def test_so_many_answers_are_needed_to_be_sure(wrong: int, answers: int) -> None:
    assert needed(wrong, alpha=0.05, delta=0.05) == answers


def test_the_grid_goes_from_the_strictest_down() -> None:
    assert list(GRID) == sorted(set(GRID), reverse=True)


def test_the_last_threshold_before_the_first_that_fails_is_the_one_to_use() -> None:
    # 60 right at 0.9; the first wrong ones come at 0.5, and 0.3 would pass again but is not looked at
    confidences = [0.9] * 60 + [0.5] * 5 + [0.3] * 400
    wrong = [False] * 60 + [True] * 5 + [False] * 400
    tested = learn_then_test(confidences, wrong, alpha=0.05, delta=0.05, grid=(0.9, 0.7, 0.5, 0.3))
    assert [(t.threshold, t.answered, t.wrong, t.p <= 0.05) for t in tested] == [
        (0.9, 60, 0, True),
        (0.7, 60, 0, True),
        (0.5, 65, 5, False),
    ]


@pytest.mark.parametrize("answered", [0, 58])
def test_too_few_answers_refute_nothing(answered: int) -> None:
    (only,) = learn_then_test([0.9] * answered, [False] * answered, alpha=0.05, delta=0.05)
    assert (only.answered, only.wrong, only.p > 0.05) == (answered, 0, True)


def test_the_bound_holds_as_often_as_it_says() -> None:
    # the truth is known here: a question of confidence c goes wrong with probability (1 - c)²
    rng = np.random.default_rng(5)
    alpha, delta, rounds = 0.1, 0.1, 200
    found = broken = 0
    for _ in range(rounds):
        confidences = rng.uniform(0, 1, 400)
        wrong = rng.uniform(0, 1, 400) < (1 - confidences) ** 2
        kept = [
            t for t in learn_then_test(confidences.tolist(), wrong.tolist(), alpha=alpha, delta=delta) if t.p <= delta
        ]
        if kept:
            found += 1
            true_risk = (1 - kept[-1].threshold) ** 2 / 3  # the mean of (1 - c)² over [threshold, 1]
            broken += true_risk > alpha
    assert found > rounds / 2
    assert broken <= delta * rounds + 3 * (delta * (1 - delta) * rounds) ** 0.5


def test_a_library_that_was_never_calibrated_has_no_bound() -> None:
    assert standing(None, SETUP) == guarantee.NOT_CALIBRATED


def test_the_bound_is_in_force_where_nothing_changed() -> None:
    found = standing(CALIBRATION, SETUP)
    assert (found.holds, found.threshold) == (True, 0.5)
    assert found.text == (
        "of the answers given at confidence 0.50 and above, at most 5% are wrong, with 95% confidence "
        "(1 of 93 were wrong in calibration)"
    )


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (replace(SETUP, parts={"language model": "B", "code": "1"}), "the language model changed"),
        (
            replace(SETUP, sketch=sketch(["p1", "p2", "p4"])),
            "the library changed: about 50% of the papers are the same, 95% are needed",
        ),
    ],
)
def test_another_model_or_library_makes_it_void_and_is_named(now: Setup, why: str) -> None:
    found = standing(CALIBRATION, now)
    assert (found.holds, found.threshold) == (False, None)
    assert found.text == f"the guarantee does not hold: {why}; run 'citewell calibrate' to renew it"


def test_a_few_new_papers_do_not_make_it_void() -> None:
    ids = [f"p{i}" for i in range(100)]
    calibration = replace(CALIBRATION, setup=replace(SETUP, sketch=sketch(ids)))
    assert standing(calibration, replace(SETUP, sketch=sketch([*ids, "new"]))).holds


def test_where_no_threshold_keeps_the_bound_that_is_said_with_what_it_would_take() -> None:
    found = standing(replace(CALIBRATION, threshold=None, tested=(Trial(0.7, 40, 1, 0.4),)), SETUP)
    assert (found.holds, found.threshold) == (False, None)
    assert found.text == (
        "there is no guarantee: no threshold keeps wrong answers to 5%: already at 0.70, the strictest, 1 of 40 answers "
        "were wrong (p = 0.4; with 1 wrong, 93 answers are needed)"
    )


@given(st.sets(st.integers(0, 2000), max_size=600), st.sets(st.integers(0, 2000), max_size=600))
def test_sketches_tell_how_much_is_shared(one: set[int], other: set[int]) -> None:
    found = similarity(sketch(map(str, one)), sketch(map(str, other)))
    exact = len(one & other) / len(one | other) if one | other else 1.0
    assert 0 <= found <= 1
    assert found == similarity(sketch(map(str, other)), sketch(map(str, one)))
    if len(one | other) <= 256:
        assert found == exact
    else:
        assert abs(found - exact) < 0.2


def test_what_is_kept_is_read_back(tmp_path: Path) -> None:
    assert guarantee.load(tmp_path) is None
    guarantee.save(tmp_path, CALIBRATION)
    assert guarantee.load(tmp_path) == CALIBRATION
    assert [p.name for p in tmp_path.iterdir()] == ["calibration.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"tested": [], "setup": {}}), '{"tested": 3}'])
def test_a_damaged_file_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / guarantee.FILE).write_text(text)
    with pytest.raises(CitewellError, match=r"calibration\.json cannot be read .*; run 'citewell calibrate' again"):
        guarantee.load(tmp_path)
