from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.polarity import Polarity, polarity


def even(stem: str) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("said", "there", "found"),
    [
        ("Aspirin reduces fever.", "Aspirin lowered fever in adults.", Polarity(1.0, 0.0, 0.0)),
        ("Aspirin increases fever.", "Aspirin lowered fever in adults.", Polarity(0.0, 1.0, 0.0)),
        ("Aspirin does not reduce fever.", "Aspirin lowered fever in adults.", Polarity(0.0, 1.0, 0.5)),
        ("Aspirin treats fever.", "There was no fever after aspirin.", Polarity(0.0, 0.0, 1.0)),
        ("Whales sing.", "Aspirin lowered fever in adults.", Polarity(0.0, 0.0, 0.0)),
        ("", "", Polarity(0.0, 0.0, 0.0)),
    ],
)
def test_directions_and_denials_are_held_against_those_of_the_support(said: str, there: str, found: Polarity) -> None:
    assert polarity(said, there, even) == found


def test_not_only_denies_nothing() -> None:
    assert polarity("KITE not only prunes graphs.", "KITE prunes graphs.", even).denied == 0.0
    assert polarity("KITE does not prune graphs.", "KITE prunes graphs.", even).denied > 0.0


@given(st.text(max_size=200), st.text(max_size=200))
def test_all_are_shares(said: str, there: str) -> None:
    found = polarity(said, there, even)
    assert all(0.0 <= x <= 1.0 for x in (found.agreed, found.opposed, found.denied))
    assert found.agreed + found.opposed <= 1.0


@given(st.text(max_size=200))
def test_a_text_speaks_not_against_itself(said: str) -> None:
    assert polarity(said, said, even).denied == 0.0
