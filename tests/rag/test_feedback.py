from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import IndexStateError
from rag.feedback import LONGEST_REASON, Feedback, Opinion
from rag.records import Answer, AnswerSentence, Citation, Hit, Paper, Turn

PAPER = Paper("p1", "LeafCut", "We propose LeafCut. It removes 41% of the leaves.")
CITATIONS = (
    Citation(1, "p1", "LeafCut", "It removes 41% of the leaves.", 20, 49, ()),
    Citation(2, "p1", "LeafCut", "We propose LeafCut.", 0, 19, ()),
)
ANSWER = Answer(
    question="How many?",
    resolved_question="How many leaves does LeafCut remove?",
    status="answered",
    text="LeafCut removes 41% of the leaves [1].",
    sentences=(AnswerSentence("LeafCut removes 41% of the leaves", "supported", (1,)),),
    citations=CITATIONS,
    nearest=(Hit(1, PAPER, 0.9),),
    confidence=0.9,
    llm="m",
    index="i",
)
HISTORY = (Turn("What is LeafCut?", "A method.", ("p1",)),)


def kept(**changes: object) -> Opinion:
    opinion = Opinion(
        question="How many?",
        resolved_question="How many leaves does LeafCut remove?",
        history=("What is LeafCut?",),
        status="answered",
        answer="LeafCut removes 41% of the leaves [1].",
        sentences=("LeafCut removes 41% of the leaves",),
        papers=("p1",),
        quotes=("It removes 41% of the leaves.", "We propose LeafCut."),
        nearest=("p1",),
        thumb="down",
        reason="it is 42%",
        llm="m",
        index="i",
    )
    return replace(opinion, **changes)  # type: ignore[arg-type]


def test_a_thumb_is_kept_with_all_that_it_is_about(tmp_path: Path) -> None:
    given_ = Feedback(tmp_path).add(ANSWER, "down", "  it is\n42% ", history=HISTORY)
    assert replace(given_, at="") == kept()
    assert given_.at.endswith("+00:00")
    assert Feedback(tmp_path).opinions() == [given_]


def test_the_last_thumb_on_an_answer_counts_and_one_taken_back_is_gone(tmp_path: Path) -> None:
    feedback = Feedback(tmp_path)
    feedback.add(ANSWER, "down", "wrong", history=HISTORY)
    feedback.add(ANSWER, "down", "as a first question it is another matter")
    feedback.add(ANSWER, "up", history=HISTORY)
    found = [(o.thumb, o.reason, o.history) for o in feedback.opinions()]
    assert found == [("up", "", ("What is LeafCut?",)), ("down", "as a first question it is another matter", ())]
    feedback.add(ANSWER, "withdrawn", history=HISTORY)
    assert [o.thumb for o in feedback.opinions()] == ["down"]
    assert len((tmp_path / "feedback.jsonl").read_text().splitlines()) == 4  # nothing is ever overwritten


def test_no_thumbs_yet(tmp_path: Path) -> None:
    assert Feedback(tmp_path).opinions() == []
    assert list(tmp_path.iterdir()) == []


def test_a_line_that_was_cut_off_costs_no_other(tmp_path: Path) -> None:
    feedback = Feedback(tmp_path)
    first = feedback.add(ANSWER, "up")
    with feedback.path.open("ab") as file:
        file.write(b'{"question": "Ho')
    second = feedback.add(replace(ANSWER, question="Why?"), "down")
    with feedback.path.open("ab") as file:
        file.write(b"[]\n{}\n\xff\n" + json.dumps({"question": 1, "status": "", "answer": "", "thumb": "up"}).encode())
    assert feedback.opinions() == [first, second]


def test_many_at_once_lose_none(tmp_path: Path) -> None:
    def give(n: int) -> None:
        for m in range(5):
            Feedback(tmp_path).add(replace(ANSWER, question=f"{n} {m}"), "up")

    threads = [threading.Thread(target=give, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {o.question for o in Feedback(tmp_path).opinions()} == {f"{n} {m}" for n in range(8) for m in range(5)}


@given(reason=st.text(), question=st.text())
def test_whatever_is_written_comes_back_as_one_line(
    reason: str, question: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    feedback = Feedback(tmp_path_factory.mktemp("thumbs"))
    opinion = feedback.add(replace(ANSWER, question=question), "down", reason)
    assert feedback.path.read_bytes().count(b"\n") == 1
    assert len(opinion.reason) <= LONGEST_REASON
    assert [o.reason for o in feedback.opinions()] == [opinion.reason]


def test_a_half_sign_does_not_lose_the_thumb(tmp_path: Path) -> None:
    Feedback(tmp_path).add(replace(ANSWER, question="broken \ud800"), "up", "also \udfff")
    assert [(o.question, o.reason) for o in Feedback(tmp_path).opinions()] == [("broken ?", "also ?")]


def test_where_it_cannot_be_kept_the_reader_is_told(tmp_path: Path) -> None:
    (tmp_path / "feedback.jsonl").mkdir()
    with pytest.raises(IndexStateError, match=r"^the thumb cannot be kept in .*feedback\.jsonl .*; make that folder"):
        Feedback(tmp_path).add(ANSWER, "up")
    with pytest.raises(IndexStateError, match="cannot be read"):
        Feedback(tmp_path).opinions()
    with pytest.raises(ValueError, match="unknown thumb 'sideways'"):
        Feedback(tmp_path).add(ANSWER, "sideways")  # type: ignore[arg-type]
