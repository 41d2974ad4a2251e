from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eval.facts import missing_facts, normal


@pytest.mark.parametrize(
    ("pattern", "answer"),
    [
        ("W2", "in the W₂ metric [1]"),
        ("W_?2", "in the $W_2$ metric"),
        (r"30 ?%", r"by 30\% of cases"),
        ("bold move", "a **bold** move [1]."),
        ("9.6 ?[×x]", r"9.6$\times$ faster"),
        ("closed[- ]form", "a closed\u2011form solution"),
        ("G3RAG", "G$^3$RAG builds a graph"),
        ("two words", "two [1] words"),
        ("10 ?[–-] ?20", "10–20 days"),
        ("10–20", "10–20 days"),
        ("10-20", "10–20 days"),
        ("two words", "two\n  words"),
        ("无需训练", "该方法无需训练 [1]。"),
        ("CALIBRATION", "a calibration set"),
    ],
)
def test_a_fact_is_found_however_it_is_written(pattern: str, answer: str) -> None:
    assert missing_facts([[pattern]], answer) == []


def test_each_fact_needs_one_of_its_alternatives() -> None:
    facts = [["a cat", "a dog"], ["a bird"], ["a fish", "a snake"]]
    assert missing_facts(facts, "A dog and a snake.") == [["a bird"]]
    assert missing_facts(facts, "") == facts
    assert missing_facts([], "") == []


@given(st.text(max_size=200))
def test_normal_text_stays_as_it_is(text: str) -> None:
    once = normal(text)
    assert once == " ".join(once.split())


@example("0⑴")
@given(st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1, max_size=30))
def test_a_text_holds_itself(text: str) -> None:
    import re

    assert missing_facts([[re.escape(text)]], f"It is {text}.") == []
