from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import MessageRole

from rag.prompt import (
    answer_prompt,
    from_english_prompt,
    one_line,
    premise_prompt,
    standalone_prompt,
    to_english_prompt,
)
from rag.records import Evidence, Turn

LABELS = {"p1": "ORCA", "p2": "Label\nsmoothing " + "x" * 60}


def evidence(number: int, text: str, paper_id: str = "p1") -> Evidence:
    return Evidence(number, paper_id, 0, len(text), text, 0.5)


def test_the_question_stands_after_its_numbered_evidence_under_the_labels_of_the_papers() -> None:
    rows = [
        evidence(1, r"It costs $O(n)$ time at \emph{no} loss."),
        evidence(2, "**Ours** wins\nby 3\\%."),
        evidence(3, "It hurts.", "p2"),
    ]
    assert answer_prompt("What does\nit cost?", rows, LABELS)[-1].content == (
        "Evidence:\nORCA:\n[1] It costs O(n) time at no loss.\n[2] Ours wins by 3%.\n"
        f"Label smoothing {'x' * 32}:\n[3] It hurts.\n\nQuestion: What does it cost?"
    )
    assert answer_prompt("Why?", [], LABELS)[-1].content == "Evidence:\n\nQuestion: Why?"


def test_what_changes_comes_last_so_that_the_beginning_stays_cached() -> None:
    one = answer_prompt("Why?", [evidence(1, "Because.")], LABELS)
    other = answer_prompt("How?", [evidence(1, "So."), evidence(2, "Or so.")], LABELS)
    assert one[:-1] == other[:-1]
    assert one[-1] != other[-1]
    for prompt in (one, standalone_prompt("and?", [], []), to_english_prompt("为什么？")):
        roles = [m.role for m in prompt]
        assert roles[0] == MessageRole.SYSTEM
        assert roles[1::2] == [MessageRole.USER] * len(roles[1::2])
        assert roles[2::2] == [MessageRole.ASSISTANT] * len(roles[2::2])
        assert roles[-1] == MessageRole.USER


def test_a_premise_is_asked_about_after_the_evidence_that_the_answer_is_written_from() -> None:
    rows = [evidence(1, "It is free.")]
    answer, premise = (
        prompt[-1].content or ""
        for prompt in (answer_prompt("Why?", rows, LABELS), premise_prompt("it is\ndear", rows, LABELS))
    )
    assert premise == answer.removesuffix("Why?") + "Is it true that it is dear? Answer Yes or No."
    assert answer_prompt("Why?", rows, LABELS)[:-1] == premise_prompt("it is dear", rows, LABELS)[:-1]


def test_the_worked_example_cites_so_that_a_small_model_does() -> None:
    example = answer_prompt("Why?", [], LABELS)[2]
    assert example.role == MessageRole.ASSISTANT
    assert "[2]." in (example.content or "")


def test_a_follow_up_is_told_with_the_last_two_questions_and_the_labels() -> None:
    history = [Turn("one?", "a"), Turn("two?", "b", ("p1",)), Turn("three\n" + "x" * 400, "c", ("p2",))]
    assert standalone_prompt("and it?", history, ["Ghosted Layers", "G³RAG"])[-1].content == (
        f"Earlier: two? / three {'x' * 294}\nAbout: Ghosted Layers, G³RAG\nLast question: and it?"
    )
    assert standalone_prompt("and it?", history[:1], [])[-1].content == "Earlier: one?\nLast question: and it?"


def test_a_sentence_is_translated_into_the_named_language() -> None:
    system, user = from_english_prompt("It\nreduces FID.", "Chinese")
    assert "into Chinese" in (system.content or "")
    assert user.content == "It reduces FID."
    assert to_english_prompt("它\n如何？")[-1].content == "它 如何？"


@given(st.text(st.characters() | st.sampled_from("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), max_size=60))
def test_no_text_breaks_out_of_its_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
    prompt = answer_prompt(text, [evidence(1, text), evidence(2, text)], {"p1": text})
    lines = (prompt[-1].content or "").splitlines()
    assert len(lines) == 6
    assert lines[1].endswith(":")
    assert [line[:3] for line in lines[2:4]] == ["[1]", "[2]"]
