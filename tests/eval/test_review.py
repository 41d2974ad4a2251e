from __future__ import annotations

from pathlib import Path

import pytest

from eval.questions import Question, as_line, load_questions
from eval.review import Card, Review, Shown
from rag.errors import CitewellError
from rag.records import Paper

PAPER = Paper("p", "LeafCut", "It cuts. It removes 41% of the leaves.")
QUESTIONS = [
    Question("a", "single", "tune", "How many leaves?", ("p",), (("41", "forty"),), ("It removes 41% of the leaves.",)),
    Question("b", "unanswerable", "test", "What licence?", (), near=("p",), class_="detail", note="not given"),
    Question("c", "single", "tune", "What does it do?", ("gone",), (("cut",),)),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "made.jsonl"
    file.write_text("".join(as_line(q) + "\n" for q in QUESTIONS), encoding="utf-8")
    return file


def test_a_question_is_shown_beside_its_abstract_with_the_words_that_answer_it(path: Path) -> None:
    review = Review(path, {"p": PAPER})
    shown = Shown("LeafCut", PAPER.abstract, ((9, 38),))
    assert review.card(0) == Card("a", "single · tune", "How many leaves?", "41 || forty", "", (shown,), "")
    near = Shown("LeafCut", PAPER.abstract, ())
    assert review.card(1) == Card("b", "unanswerable · detail · test", "What licence?", "", "not given", (near,), "")
    assert review.card(2).papers == (Shown("gone", "(the library no longer holds this paper)", ()),)


def test_what_is_decided_is_kept_at_once_and_found_again(path: Path) -> None:
    before = path.read_bytes()
    review = Review(path, {"p": PAPER})
    review.decide(0, "accept", question="How many  of the leaves\n does it remove?", facts="41 || forty\n\n leaves ")
    review.decide(1, "drop", question="What licence?", facts="")
    assert (review.undecided(), review.undecided(2), review.counts()) == (
        2,
        2,
        {"accepted": 1, "dropped": 1, "left": 1},
    )
    (accepted,) = load_questions(path.with_suffix(".accepted.jsonl"))
    assert (accepted.id, accepted.question) == ("a", "How many of the leaves does it remove?")
    assert accepted.facts == (("41", "forty"), ("leaves",))
    assert accepted.evidence == QUESTIONS[0].evidence
    again = Review(path, {"p": PAPER})
    assert [again.card(i).decision for i in range(3)] == ["accept", "drop", ""]
    assert again.card(0).question == "How many of the leaves does it remove?"
    again.decide(0, "drop", question=again.card(0).question, facts="")
    assert again.accepted_path.read_text() == ""
    assert path.read_bytes() == before


def test_a_decision_that_cannot_be_kept_changes_nothing(path: Path) -> None:
    review = Review(path, {})
    with pytest.raises(CitewellError, match=r"the fact '\(' is no regular expression"):
        review.decide(0, "accept", question="What?", facts="(")
    with pytest.raises(CitewellError, match="the question is empty; write one, or drop it"):
        review.decide(0, "accept", question="  ", facts="")
    with pytest.raises(CitewellError, match="unknown decision 'maybe'"):
        review.decide(0, "maybe", question="What?", facts="")  # type: ignore[arg-type]
    assert (review.counts()["left"], review.decisions_path.exists()) == (3, False)


@pytest.mark.parametrize("text", ["{", "[]", '{"decisions": {"a": 1}}', '{"decisions": {"a": {"decision": "drop"}}}'])
def test_decisions_that_cannot_be_read_are_told_and_stay(path: Path, text: str) -> None:
    decisions = path.with_suffix(".decisions.json")
    decisions.write_text(text)
    with pytest.raises(CitewellError, match="cannot be read as decisions"):
        Review(path, {})
    assert decisions.read_text() == text


def test_decisions_about_questions_that_are_gone_are_passed_over(path: Path) -> None:
    Review(path, {}).decide(1, "drop", question="x", facts="")
    path.write_text(as_line(QUESTIONS[0]) + "\n")
    assert Review(path, {}).counts() == {"accepted": 0, "dropped": 0, "left": 1}
