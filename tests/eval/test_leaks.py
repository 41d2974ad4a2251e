from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval.leaks import find_leaks, print_leaks
from eval.questions import Question, default_questions, load_questions
from rag.cli import main


def _question(name: str, split: str, text: str, *papers: str, **more: Any) -> Question:
    return Question(name, more.pop("kind", "single"), split, text, papers, **more)


QUESTIONS = [
    _question(
        "a", "tune", "How many leaves does LeafCut remove from the forest?", "p1", evidence=("41% of the leaves",)
    ),
    _question(
        "b", "test", "How many leaves of the forest does LeafCut remove?", "p2", evidence=("41% of the *leaves*",)
    ),
    _question("c", "tune", "How many leaves does LeafCut remove in the forest?", "p1"),
    _question("d", "calibrate", "What keeps concrete warm?", "p3"),
    _question("e", "test", "What keeps concrete warm?", "p4", "p1"),
    _question("w", "test", "Which papers are about trees?", "p1", "p2", "p3", kind="whole-library"),
    _question(
        "z", "test", "它剪掉多少叶子？", "p5", lang="zh", english="How many leaves does LeafCut remove, of the forest?"
    ),
]


def test_near_duplicates_of_different_splits_are_found_with_the_evidence() -> None:
    found = find_leaks(QUESTIONS)
    pairs = {(t["a"], t["b"]) for t in found["twins"]}
    assert pairs == {("a", "b"), ("b", "c"), ("d", "e"), ("a", "z"), ("c", "z")}, "those of one split are no leak"
    first = next(t for t in found["twins"] if t["a"] == "a" and t["b"] == "b")
    assert first["splits"] == ("tune", "test")
    assert first["shared_words"] == ("doe", "forest", "how", "leafcut", "leav", "mani", "remov")
    assert (first["words"], first["cosine"], first["papers"]) == (0.875, None, ())
    text = print_leaks(found)
    assert "a (tune) and b (test): words 0.88" in text
    assert "How many leaves of the forest does LeafCut remove?" in text


def test_papers_and_passages_that_answer_questions_of_several_splits_are_found() -> None:
    found = {(s["what"], s["value"]): s["questions"] for s in find_leaks(QUESTIONS)["shared"]}
    assert found == {
        ("paper", "p1"): {"tune": ["a", "c"], "test": ["e"]},
        ("evidence", "41% of the leaves"): {"tune": ["a"], "test": ["b"]},
    }


def test_other_words_for_the_same_are_found_by_their_vectors() -> None:
    questions = [_question("a", "tune", "How long do blocks take?"), _question("b", "test", "Wie lange dauert es?")]
    vectors = {"How long do blocks take?": [1.0, 0.0], "Wie lange dauert es?": [0.95, 0.3122]}
    found = find_leaks(questions, lambda texts: np.array([vectors[t] for t in texts], dtype=np.float32))
    assert [(t["words"], t["cosine"]) for t in found["twins"]] == [(0.0, 0.95)]
    assert found["compared_by"] == ["words", "vectors"]
    assert find_leaks(questions)["twins"] == []


def test_the_questions_about_the_seeds_share_no_paper_and_no_words_between_splits() -> None:
    found = find_leaks(load_questions(default_questions()))
    assert found["shared"] == []
    assert [(t["a"], t["b"]) for t in found["twins"]] == []


def test_every_paper_of_the_seeds_has_three_questions_at_least() -> None:
    asked: dict[str, int] = {}
    for question in load_questions(default_questions()):
        if question.kind != "whole-library":
            for paper in question.papers:
                asked[paper] = asked.get(paper, 0) + 1
    assert len(asked) == 71
    assert [paper for paper, n in asked.items() if n < 3] == []


def test_the_command(tmp_path: Path, write_questions: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    common = {"kind": "single", "papers": ["p"]}
    path = write_questions(
        [
            {"id": "a", "split": "tune", "question": "What keeps concrete warm?", **common},
            {"id": "b", "split": "test", "question": "What keeps  concrete WARM?", **common},
        ]
    )
    assert (
        main(["eval", "leaks", "--questions", str(path), "--words-only", "--json", "--out", str(tmp_path / "o")]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert [(t["a"], t["b"], t["words"]) for t in found["twins"]] == [("a", "b", 1.0)]
    assert json.loads((tmp_path / "o").read_text()) == found
