from __future__ import annotations

import numpy as np
import pytest

from rag import abstain
from rag.cite import Checked
from rag.library import Library
from rag.records import Evidence, Hit, Paper
from rag.verify import Judgement, Passage

PAPER = Paper("p1", "ORCA", "ORCA calibrates models.", title="Temperature scaling")


@pytest.mark.parametrize(
    "message",
    ["Hi", "hello there!", "Hey Citewell", "Good morning, everyone.", "thanks a lot", "Thank you very much!", "help",
     "Who are you?", "what can you do", "OK", "bye!", "你好", "您好！", "谢谢", "再见。", "  hi  "],
)  # fmt: skip
def test_small_talk_is_told_from_questions(message: str) -> None:
    assert abstain.is_greeting(message)


@pytest.mark.parametrize(
    "message",
    ["Hi, what is GeoSPRINT?", "helpful methods", "history of pruning", "What can you do with diffusion models?", "okra",
     "你好，GeoSPRINT 是什么？", "Thanks to what does ORCA converge?", "?", "", "hi" * 50],
)  # fmt: skip
def test_questions_are_no_small_talk(message: str) -> None:
    assert not abstain.is_greeting(message)


def test_a_long_greeting_is_decided_at_once() -> None:
    assert not abstain.is_greeting("hi" + " there" * 500 + " " * 1000 + "x")


def test_the_features_say_how_well_question_papers_and_sentences_fit(seeds_library: Library) -> None:
    hits = [Hit(1, PAPER, 0.6, 0.5, 0.25), Hit(2, Paper("p2", "KITE", "Speech."), 0.3, 0.2, 0.75)]
    passage = Passage("p1", 0, 23, PAPER.abstract)
    own = Checked("ORCA calibrates.", Judgement("supported", 0.8, (passage,)))
    quoted = Checked(passage.text, Judgement("supported", 1.0, (passage,)), quoted=True)
    evidence = [Evidence(1, "p1", 0, 23, PAPER.abstract, 0.4), Evidence(2, "p2", 0, 7, "Speech.", 0.1)]

    def row(question: str, checked: list[Checked], failed: int, told: float) -> dict[str, float]:
        snapshot = seeds_library.snapshot()
        values = abstain.features(question, hits, evidence, checked, failed, told, snapshot, seeds_library.embedder)
        assert values.shape == (len(abstain.FEATURES),)
        assert np.isfinite(values).all()
        return dict(zip(abstain.FEATURES, values.tolist(), strict=True))

    one = row("Which models does ORCA calibrate?", [own, quoted], 1, -0.75)
    assert (one["dense"], one["lexical"], one["evidence"]) == (0.5, 0.75, 0.4)
    assert (one["best_sentence"], one["verified"], one["kept"], one["quotes"]) == (0.8, 0.8, 0.5, 0.0)
    assert (one["figure_missing"], one["names_missing"]) == (0.0, 0.0)
    other = row("How many models does KITE calibrate with FID?", [quoted], 0, 12.0)
    assert (other["best_sentence"], other["verified"], other["kept"], other["quotes"]) == (0.0, 0.0, 0.0, 1.0)
    assert (other["figure_missing"], other["names_missing"]) == (1.0, 1.0)
    assert (one["told"], other["told"]) == (-0.75, 3.0)
    assert other["known"] < one["known"]
    assert other["on_topic"] < one["on_topic"]


def test_nothing_found_and_nothing_said_gives_a_low_confidence(seeds_library: Library) -> None:
    row = abstain.features("Why?", [], [], [], 0, 0.0, seeds_library.snapshot(), seeds_library.embedder)
    assert row.shape == (len(abstain.FEATURES),)
    assert np.isfinite(row).all()
    assert 0 < abstain.confidence(row) < abstain.threshold() < 1


@pytest.mark.parametrize(
    "question",
    ["What about the accuracy?", "How does it work?", "Which method is better?", "?", "Explain the results."],
)
def test_a_question_that_names_nothing_is_unclear(question: str) -> None:
    assert abstain.is_unclear(question)


@pytest.mark.parametrize(
    "question", ["What is GeoSPRINT?", "pruning", "FID?", "How are satellites' clocks kept together?", "RISE accuracy"]
)
def test_a_question_that_names_something_is_clear(question: str) -> None:
    assert not abstain.is_unclear(question)


def test_far_off_papers_are_hopeless_and_near_ones_are_not() -> None:
    assert abstain.hopeless([])
    assert abstain.hopeless([Hit(1, PAPER, 0.0, 0.01, 0.0)])
    assert not abstain.hopeless([Hit(1, PAPER, 0.6, 0.7, 0.5)])
