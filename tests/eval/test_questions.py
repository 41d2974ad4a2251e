from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.facts import missing_facts, normal
from eval.questions import KINDS, Question, cluster_of, default_questions, load_questions, select
from rag.dedupe import dedupe
from rag.errors import CitewellError
from rag.readers import read
from rag.records import SourceRecord

SEEDS = Path(__file__).parents[2] / "seeds"

GOOD = {"id": "a", "kind": "single", "split": "tune", "question": "What?", "papers": ["p"]}


def _write(path: Path, *lines: Any) -> Path:
    file = path / "q.jsonl"
    file.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines), encoding="utf-8")
    return file


def test_a_question_is_read_whole(tmp_path: Path) -> None:
    item = {
        **GOOD,
        "kind": "follow-up",
        "lang": "zh",
        "history": ["Before?"],
        "facts": [["a", "b"], ["c"]],
        "evidence": ["words"],
        "english": "What?",
    }
    assert load_questions(_write(tmp_path, item)) == [
        Question(
            id="a",
            kind="follow-up",
            split="tune",
            question="What?",
            papers=("p",),
            facts=(("a", "b"), ("c",)),
            evidence=("words",),
            history=("Before?",),
            lang="zh",
            english="What?",
        )
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is not JSON"),
        ("[1]", "line 2 is no JSON object"),
        ({k: v for k, v in GOOD.items() if k != "papers"}, "line 2 lacks 'papers'"),
        ({**GOOD, "id": "b", "kind": "double"}, "line 2: unknown kind 'double'"),
        ({**GOOD, "id": "b", "split": "train"}, "line 2: unknown split 'train'"),
        ({**GOOD, "id": "b", "fact": []}, "line 2: unknown field 'fact'"),
        ({**GOOD, "id": "b", "papers": "p"}, "line 2: 'papers' is 'p'; it must be a list"),
        ({**GOOD, "id": "b", "facts": [["("]]}, r"line 2: the fact '\(' is no regular expression"),
        ({**GOOD, "id": "b", "facts": ["a"]}, "line 2: 'facts' is"),
        ({**GOOD, "id": "b", "count": "3"}, "line 2: 'count' is '3'"),
        ({**GOOD, "id": "b", "question": " "}, "line 2: the id or the question is empty"),
        ({**GOOD, "id": "b", "papers": []}, "line 2: question 'b' of kind 'single' has 0 papers"),
        ({**GOOD, "id": "b", "kind": "unanswerable"}, "line 2: question 'b' of kind 'unanswerable' has 1 papers"),
        ({**GOOD, "id": "b", "kind": "follow-up"}, "line 2: follow-up 'b' has no history"),
        (GOOD, "line 2: the id 'a' comes twice"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: Any, message: str) -> None:
    with pytest.raises(CitewellError, match=message):
        load_questions(_write(tmp_path, GOOD, line))


def test_no_file_and_no_questions(tmp_path: Path) -> None:
    with pytest.raises(CitewellError, match="cannot be read"):
        load_questions(tmp_path / "none.jsonl")
    with pytest.raises(CitewellError, match="holds no question"):
        load_questions(_write(tmp_path, ""))


def test_selecting(tmp_path: Path) -> None:
    questions = load_questions(_write(tmp_path, GOOD, {**GOOD, "id": "b", "split": "test", "kind": "late"}))
    assert [q.id for q in select(questions)] == ["a", "b"]
    assert [q.id for q in select(questions, split="test")] == ["b"]
    assert [q.id for q in select(questions, kinds=["single"])] == ["a"]
    with pytest.raises(CitewellError, match="unknown split 'dev'"):
        select(questions, split="dev")
    with pytest.raises(CitewellError, match="unknown kind 'x'"):
        select(questions, kinds=["x"])
    with pytest.raises(CitewellError, match="no question of split 'calibrate'"):
        select(questions, split="calibrate")


def test_questions_that_share_a_paper_are_one_cluster() -> None:
    def question(name: str, *papers: str, kind: str = "single") -> Question:
        return Question(id=name, kind=kind, split="tune", question="?", papers=papers)

    found = cluster_of(
        [
            question("a", "p"),
            question("b", "q"),
            question("c", "q", "p", kind="two-paper"),
            question("d", "r"),
            question("w", "p", "q", "r", kind="whole-library"),
            question("v", "p", "r", kind="whole-library"),
            question("u", kind="unanswerable"),
        ]
    )
    assert found["a"] == found["b"] == found["c"]
    assert len({found[i] for i in "adwvu"}) == 5


def test_the_questions_about_the_seeds_are_well_formed() -> None:
    questions = load_questions(default_questions())
    assert {q.kind for q in questions} == set(KINDS)
    splits: dict[str, set[str]] = {}
    for question in questions:
        if question.kind not in ("whole-library", "two-paper"):
            for paper in question.papers:
                splits.setdefault(paper, set()).add(question.split)
    assert [paper for paper, found in splits.items() if len(found) > 1] == [], "splits are grouped by paper"
    assert len(splits) == 71


def test_the_questions_about_the_seeds_are_borne_out_by_them() -> None:
    """Every paper named is there, its abstract holds the words said to answer, and the facts asked for."""
    papers = {p.paper_id: p for p in dedupe([r for r in read(SEEDS) if isinstance(r, SourceRecord)]).papers}
    doubts = []
    for question in load_questions(default_questions()):
        if missing := {*question.papers, *question.near} - papers.keys():
            doubts.append((question.id, "papers", sorted(missing)))
            continue
        held = " ".join(papers[i].abstract for i in question.papers)
        doubts += [(question.id, "evidence", e) for e in question.evidence if normal(e) not in normal(held)]
        if question.kind != "whole-library":
            doubts += [(question.id, "fact", f) for f in missing_facts(question.facts, held)]
    assert doubts == []
