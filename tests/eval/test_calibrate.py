from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eval.calibrate import calibrate, measure_guarantee, print_guarantee
from rag import guarantee
from rag.build import library_folder, open_engine
from rag.config import Config
from rag.doctor import examine
from rag.errors import CitewellError
from rag.guarantee import GRID

Scripted = Callable[..., Any]


@pytest.fixture
def calibrated(config: Config) -> Iterator[Config]:
    """Settings whose library, which other tests share, is left without a calibration."""
    yield config
    (library_folder(config) / guarantee.FILE).unlink(missing_ok=True)


def test_where_the_bound_cannot_be_kept_that_is_said_and_kept(
    calibrated: Config, questions_file: Path, scripted: Scripted
) -> None:
    llm = scripted()
    found = calibrate(calibrated, questions_file, split="all", alpha=0.05, delta=0.05, llm=lambda config: llm)
    assert (found.threshold, found.questions, found.questions_file) == (None, 6, "questions.jsonl")
    assert found.statement.startswith("no threshold keeps wrong answers to 5%: already at 0.70, the strictest, ")
    engine = open_engine(calibrated, llm=lambda config: llm)
    answer = engine.ask("How many of the leaves does LeafCut remove on the Covertype data set?")
    assert answer.status == "answered"  # the usual threshold is in force
    assert answer.guarantee == engine.standing().text == f"there is no guarantee: {found.statement}"
    (told,) = [f for f in examine(calibrated) if f.subject == "guarantee"]
    assert (told.ok, told.text) == (True, answer.guarantee)


def test_a_bound_that_is_kept_sets_the_threshold_until_the_setup_changes(
    calibrated: Config, questions_file: Path, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = scripted()
    # one right answer refutes "more than 96% are wrong" at the 5% level
    monkeypatch.setattr(
        "eval.calibrate.learn_then_test", lambda *a, **o: guarantee.learn_then_test(*a, **o, grid=(0.01,))
    )
    found = calibrate(calibrated, questions_file, split="all", alpha=0.96, delta=0.5, llm=lambda config: llm)
    assert found.threshold == 0.01
    engine = open_engine(calibrated, llm=lambda config: llm)
    assert (engine.standing().holds, engine.standing().threshold) == (True, 0.01)
    assert engine.ask("What do whales eat for breakfast on Mondays?").guarantee == found.statement
    monkeypatch.setattr("rag.build.code_print", lambda: "another")
    changed = open_engine(calibrated, llm=lambda config: llm)
    assert changed.standing().threshold is None
    assert changed.ask("What do whales eat?").guarantee == (
        "the guarantee does not hold: the code of Citewell changed; run 'citewell calibrate' to renew it"
    )


@pytest.mark.parametrize(("alpha", "delta"), [(0.0, 0.05), (1.0, 0.05), (0.05, float("nan"))])
def test_bounds_that_are_none_are_refused(calibrated: Config, questions_file: Path, alpha: float, delta: float) -> None:
    with pytest.raises(CitewellError, match="must be between 0 and 1"):
        calibrate(calibrated, questions_file, split="all", alpha=alpha, delta=delta)
    assert guarantee.load(library_folder(calibrated)) is None


def test_the_bound_is_put_to_the_test_over_random_halvings() -> None:
    sure = [{"confidence": 0.9, "answered": True, "verdict": "right"}] * 200
    unsure = [{"confidence": 0.3, "answered": True, "verdict": "wrong"}] * 100
    refused = [{"confidence": 0.9, "answered": False, "verdict": "wrongly refused"}] * 100
    results = measure_guarantee([*sure, *unsure, *refused], alphas=(0.05,), delta=0.05, rounds=50)
    (row,) = results["halvings"]
    assert (row["with_threshold"], row["broken"], row["risk"]) == (50, 0, 0.0)
    assert GRID[0] > row["threshold"] > 0.3
    assert "50 of 50" in print_guarantee(results)
