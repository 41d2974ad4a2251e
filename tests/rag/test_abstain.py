from __future__ import annotations

import numpy as np
import pytest

from rag import abstain
from rag.cite import Checked
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


def test_the_features_say_how_well_question_papers_and_sentences_fit() -> None:
    hits = [Hit(1, PAPER, 0.6, 0.5, 0.25), Hit(2, Paper("p2", "KITE", "Speech."), 0.3, 0.2, 0.75)]
    passage = Passage("p1", 0, 23, PAPER.abstract)
    own = Checked("ORCA calibrates.", Judgement("supported", 0.8, (passage,)))
    quoted = Checked(passage.text, Judgement("supported", 1.0, (passage,)), quoted=True)
    evidence = [Evidence(1, "p1", 0, 23, PAPER.abstract, 0.4), Evidence(2, "p2", 0, 7, "Speech.", 0.1)]
    row = abstain.features("ORCA: calibrate speech, temperature?", hits, evidence, [own, quoted], 1, lambda t: 1.0)
    named = dict(zip(abstain.FEATURES, row.tolist(), strict=True))
    shown = {k: named[k] for k in ("dense", "lexical", "evidence", "known", "best_sentence", "verified", "kept")}
    assert shown == {
        "dense": 0.5, "lexical": 0.75, "evidence": 0.4, "known": 0.75, "best_sentence": 0.8, "verified": 0.8, "kept": 0.5,
    }  # fmt: skip
    assert named["answered_terms"] == pytest.approx(0.5)


def test_nothing_found_and_nothing_said_gives_a_low_confidence() -> None:
    row = abstain.features("Why?", [], [], [], 0, lambda t: 1.0)
    assert row.shape == (len(abstain.FEATURES),)
    assert np.isfinite(row).all()
    assert 0 < abstain.confidence(row) < abstain.threshold() < 1


def test_far_off_papers_are_hopeless_and_near_ones_are_not() -> None:
    assert abstain.hopeless([])
    assert abstain.hopeless([Hit(1, PAPER, 0.0, 0.01, 0.0)])
    assert not abstain.hopeless([Hit(1, PAPER, 0.6, 0.7, 0.5)])
