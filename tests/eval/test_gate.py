"""The gate: retrieval on the seeds does not get worse unseen."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from eval import gate
from eval.questions import default_questions
from rag.errors import CitewellError
from rag.library import Library


def _figures(values: dict[str, float], kind: str = "single") -> dict[str, Any]:
    asked = {
        i: {"kind": kind, "question": f"{i}?", **dict.fromkeys(gate.MEASURES, value)} for i, value in values.items()
    }
    return {"measured": "gate", "questions": asked}


@pytest.fixture(scope="module")
def now(seeds_library: Library) -> dict[str, Any]:
    return gate.quick_figures(seeds_library, default_questions())


def test_the_quick_retrieval_figures_on_the_seeds_have_not_fallen(now: dict[str, Any]) -> None:
    """Fails where ranking got worse; 'citewell eval gate' shows all figures, with --renew they are the baseline."""
    if not gate.baseline_path().is_file():
        pytest.skip("no baseline yet; 'citewell index seeds && citewell eval gate --renew' makes one")
    gate.require_no_fall(now, gate.read_baseline(gate.baseline_path()))


def test_a_planted_fall_on_the_seeds_is_called(now: dict[str, Any]) -> None:
    worse = copy.deepcopy(now)
    hurt = [i for i, asked in worse["questions"].items() if asked["kind"] == "late"][:4]
    for i in hurt:
        worse["questions"][i]["R@1"] = 0.0
    fallen = gate.falls(worse, now)
    assert [(row["group"], row["measure"]) for row in fallen] == [("late", "R@1"), (gate.WHOLE, "R@1")]
    assert fallen[0]["lost"] == hurt
    assert gate.falls(now, worse) == [], "to rise is no fall"
    assert gate.falls(now, now) == []


def test_a_fall_is_told_with_its_questions_and_the_way_out() -> None:
    before, after = _figures(dict.fromkeys("abcdefgh", 1.0)), _figures(dict.fromkeys("abcdefgh", 1.0))
    for i in "ab":
        after["questions"][i]["R@5"] = 0.0
    with pytest.raises(CitewellError) as caught:
        gate.require_no_fall(after, before)
    message = str(caught.value)
    assert "R@5 of single fell from 100.0 to 75.0 (n = 8, tolerance 12.5; lost: a, b)" in message
    assert "citewell eval gate --renew" in message
    assert "\n" not in message
    assert "fell" in gate.print_gate(after, before)


def test_one_question_of_few_and_a_hundredth_of_many_are_tolerated() -> None:
    few = _figures(dict.fromkeys("abcd", 1.0))
    lost = copy.deepcopy(few)
    lost["questions"]["a"]["R@1"] = 0.0
    assert gate.falls(lost, few) == []
    many = _figures({f"q{i}": 1.0 for i in range(400)})
    lost = copy.deepcopy(many)
    for i in range(5):
        lost["questions"][f"q{i}"]["R@1"] = 0.0
    assert {row["measure"] for row in gate.falls(lost, many)} == {"R@1"}
    lost["questions"]["q0"]["R@1"] = 1.0
    assert gate.falls(lost, many) == []


def test_new_and_changed_questions_neither_help_nor_harm(tmp_path: Path) -> None:
    before = _figures(dict.fromkeys("abcd", 1.0))
    after = _figures({**dict.fromkeys("abcd", 1.0), **dict.fromkeys("wxyz", 0.0)})
    after["questions"]["a"] |= {"question": "other words?", "R@1": 0.0}
    after["questions"]["b"]["R@1"] = 0.0
    rows = {(r["group"], r["measure"]): r for r in gate.held_against(after, before)}
    assert rows[gate.WHOLE, "R@1"]["n"] == 3
    assert rows[gate.WHOLE, "R@1"]["lost"] == ["b"]
    gate.renew(tmp_path / "b.json", after)
    assert gate.held_against(after, gate.read_baseline(tmp_path / "b.json"))
    with pytest.raises(CitewellError, match="holds none of these questions"):
        gate.held_against(after, _figures({"other": 1.0}))
