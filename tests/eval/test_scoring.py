from __future__ import annotations

from typing import Any

import pytest

from eval.matching import match, match_sentence
from eval.questions import Question
from eval.scoring import bad_markers, bad_quotes, f1_of, score, unknown_numbers
from rag.records import Paper, Source

ABSTRACT = "LeafCut removes 41% of the leaves of a forest. It loses 0.2 points of accuracy on Covertype."
OTHER = "ThermoMix keeps concrete warm. Blocks reach full strength after 9 days."
PAPERS = {
    "p": Paper("p", "LeafCut", ABSTRACT, sources=(Source("002.txt", 1),)),
    "o": Paper("o", "ThermoMix", OTHER, sources=(Source("002.txt", 2),)),
}
QUESTION = Question(
    id="q", kind="single", split="tune", question="What does LeafCut remove?", papers=("p",), facts=(("41 ?%",),)
)


def _citation(marker: int, paper: str, quote: str) -> dict[str, Any]:
    start = PAPERS[paper].abstract.index(quote)
    return {"marker": marker, "paper_id": paper, "label": "", "quote": quote, "start": start, "end": start + len(quote)}


def _sentence(text: str, *citations: int, quoted: bool = False) -> dict[str, Any]:
    return {"text": text, "verdict": "supported", "citations": list(citations), "reason": "", "quoted": quoted}


def _answer(text: str, sentences: list[Any], citations: list[Any], **values: Any) -> dict[str, Any]:
    return {
        "question": QUESTION.question,
        "resolved_question": QUESTION.question,
        "status": "answered",
        "answer": text,
        "sentences": sentences,
        "citations": citations,
        "nearest": [{"rank": 1, "paper_id": "p", "label": "LeafCut", "score": 0.9}],
        "confidence": 0.9,
        "reason": "",
        "timings_ms": {"retrieve": 1.0, "first_token": 2.0, "total": 3.0},
        "llm": "x",
        "index": "y",
        **values,
    }


FIRST = "LeafCut removes 41% of the leaves of a forest."
GOOD = _answer(f"{FIRST[:-1]} [1].", [_sentence(FIRST, 1)], [_citation(1, "p", FIRST)])
SILENT = _answer("The library holds no answer.", [], [], status="abstained")


def test_a_right_and_rightly_cited_answer() -> None:
    found = score(QUESTION, GOOD, PAPERS)
    assert (found["verdict"], found["right_and_cited"], found["gold_cited"]) == ("right", True, True)
    assert (found["citation_precision"], found["citation_recall"], found["borne_out"]) == (1.0, 1.0, 1.0)
    assert (found["bad_quotes"], found["bad_markers"], found["unknown_numbers"]) == ([], [], [])
    assert found["gold_ranks"] == {"p": 1}


def test_a_translated_sentence_is_held_against_its_quote_in_the_language_it_was_checked_in() -> None:
    chinese = _sentence("这种剪枝 (pruning) 让模型 (model) 变小。", 1)
    unheld = score(QUESTION, _answer(chinese["text"], [chinese], [_citation(1, "p", FIRST)]), PAPERS)
    held = score(
        QUESTION, _answer(chinese["text"], [chinese | {"original": FIRST}], [_citation(1, "p", FIRST)]), PAPERS
    )
    assert (unheld["citation_recall"], held["citation_recall"]) == (0.0, 1.0)


def test_a_right_answer_cited_to_another_paper_is_not_rightly_cited() -> None:
    answer = _answer(f"{FIRST} [1]", [_sentence(FIRST, 1)], [_citation(1, "o", "ThermoMix keeps concrete warm.")])
    found = score(QUESTION, answer, PAPERS)
    assert (found["verdict"], found["right_and_cited"], found["gold_cited"]) == ("right", False, False)
    assert (found["citation_precision"], found["citation_recall"]) == (0.0, 0.0)
    assert found["unknown_numbers"] == ["41"]


def test_verdicts() -> None:
    unanswerable = Question(id="u", kind="unanswerable", split="tune", question="?", papers=(), class_="outside")
    lacking = _answer("It removes leaves.", [_sentence("It removes leaves.")], [])
    cases = [
        (QUESTION, lacking, "wrong"),
        (QUESTION, SILENT, "wrongly refused"),
        (unanswerable, SILENT, "rightly refused"),
        (unanswerable, GOOD, "wrongly answered"),
        (QUESTION, {**SILENT, "error": "empty"}, "error"),
    ]
    assert [score(q, a, PAPERS)["verdict"] for q, a, _ in cases] == [verdict for *_, verdict in cases]
    found = score(QUESTION, lacking, PAPERS)
    assert (found["citation_precision"], found["citation_recall"], found["missing_facts"]) == (0.0, 0.0, [["41 ?%"]])
    assert score(QUESTION, SILENT, PAPERS)["citation_recall"] is None


def test_a_question_about_the_whole_library_is_right_by_its_papers() -> None:
    question = Question(
        id="w", kind="whole-library", split="tune", question="What is in file 002?", papers=("p", "o"), count=2
    )
    both = [_citation(1, "p", FIRST), _citation(2, "o", "ThermoMix keeps concrete warm.")]
    answer = _answer("File 002 holds 2 papers: LeafCut [1], ThermoMix [2].", [_sentence("2 papers", 1, 2)], both)
    found = score(question, answer, PAPERS)
    assert (found["verdict"], found["f1"], found["count_right"], found["right_and_cited"]) == ("right", 1.0, True, True)
    one = score(question, _answer("LeafCut [1].", [_sentence("LeafCut", 1)], both[:1]), PAPERS)
    assert (one["verdict"], round(one["f1"], 3), one["count_right"]) == ("wrong", 0.667, False)
    assert (one["citation_precision"], one["citation_recall"]) == (1.0, 0.5)


def test_quotes_that_are_not_in_the_abstract() -> None:
    good = GOOD["citations"][0]
    for bad in ({**good, "start": 1}, {**good, "quote": "LeafCut"}, {**good, "paper_id": "?"}, {**good, "quote": ""}):
        assert bad_quotes({"citations": [bad]}, PAPERS) == [{"marker": 1, "paper_id": bad["paper_id"]}]


def test_markers_to_nothing() -> None:
    assert bad_markers(_answer("A [1]. B [3].", [_sentence("A.", 1), _sentence("B.", 2)], GOOD["citations"])) == [2, 3]
    quoted = "As shown in [7] and [8]."
    assert bad_markers(_answer(f"“{quoted}” [1]", [_sentence(quoted, 1, quoted=True)], GOOD["citations"])) == []


def test_numbers_that_no_source_holds() -> None:
    answer = _answer("", [_sentence("It removes 43% of 1,200 leaves and loses 0.2 points.", 1)], GOOD["citations"])
    assert unknown_numbers(QUESTION, answer, PAPERS) == ["1200", "43"]


def test_f1() -> None:
    assert f1_of(["a", "b"], ["b", "c"]) == 0.5
    assert f1_of([], ["a"]) == 0.0
    assert f1_of(["a"], ["a"]) == 1.0


@pytest.mark.parametrize(
    ("sentence", "quotes", "holds"),
    [
        ("LeafCut removes 41% of the leaves.", [FIRST], True),
        ("LeafCut removes 14% of the leaves.", [FIRST], False),
        ("RootCut removes 41% of the leaves.", [FIRST], False),
        ("The weather in Iceland was mostly fair.", [FIRST], False),
        ("LeafCut removes 41% of the leaves.", [], False),
        ("LeafCut 移除了 41% 的叶子。", [FIRST], True),
        ("LeafCut 移除了 14% 的叶子。", [FIRST], False),
        ("RootCut 移除了 41% 的叶子。", [FIRST], False),
    ],
)
def test_the_matcher(sentence: str, quotes: list[str], holds: bool) -> None:
    assert match(sentence, quotes, context="").holds is holds


def test_a_citation_that_adds_nothing_is_wrong() -> None:
    second = "It loses 0.2 points of accuracy on Covertype."
    abstracts = {i: p.abstract for i, p in PAPERS.items()}

    def found(text: str, *citations: tuple[int, str, str]) -> tuple[bool, tuple[int, ...], tuple[int, ...]]:
        got = match_sentence(text, citations, gold={"p"}, abstracts=abstracts, question="")
        return got.fully_cited, got.right, got.wrong

    assert found(FIRST, (1, "p", FIRST), (2, "p", second)) == (True, (1,), (2,))
    both = "LeafCut removes 41% of the leaves and loses 0.2 points of accuracy."
    assert found(both, (1, "p", FIRST), (2, "p", second)) == (True, (1, 2), ())
    assert found(both, (1, "p", FIRST)) == (False, (), (1,))
    assert found(FIRST, (1, "p", FIRST), (2, "o", "ThermoMix keeps concrete warm.")) == (True, (1,), (2,))
