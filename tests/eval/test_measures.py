from __future__ import annotations

import math
from pathlib import Path

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.collections import read_qrels, read_run, write_qrels, write_run
from eval.measures import all_evidence, mean, measure, ranking
from rag.errors import CitewellError

_DOCUMENTS = st.sampled_from([f"d{i:02}" for i in range(30)])
_SCORES = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 0.5, 1.0]))
_RUNS = st.dictionaries(st.sampled_from("abcd"), st.dictionaries(_DOCUMENTS, _SCORES, max_size=30), max_size=4)
_QRELS = st.dictionaries(
    st.sampled_from("abc"), st.dictionaries(_DOCUMENTS, st.integers(0, 3), min_size=1, max_size=10), min_size=1
)
_THEIRS = {
    "nDCG@10": "ndcg_cut_10",
    "R@1": "recall_1",
    "R@5": "recall_5",
    "R@10": "recall_10",
    "R@100": "recall_100",
    "AP": "map",
}


@settings(max_examples=60, deadline=None)
@given(_QRELS, _RUNS)
def test_measures_agree_with_pytrec_eval(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> None:
    ours = measure(qrels, run)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recall.1,5,10,100", "map", "recip_rank"})
    ranks = {q: {d: -float(i) for i, d in enumerate(ranking(found))} for q, found in run.items() if found}
    theirs = evaluator.evaluate(ranks)
    for query in qrels:
        for name, their_name in _THEIRS.items():
            assert math.isclose(ours[name][query], theirs.get(query, {}).get(their_name, 0.0), abs_tol=1e-9)
        reciprocal = theirs.get(query, {}).get("recip_rank", 0.0)
        assert math.isclose(ours["RR@10"][query], reciprocal if reciprocal >= 0.1 - 1e-12 else 0.0, abs_tol=1e-9)


def test_a_query_that_is_missing_counts_zero() -> None:
    found = measure({"a": {"x": 1}, "b": {"y": 1}}, {"a": {"x": 1.0}})
    assert found["R@1"] == {"a": 1.0, "b": 0.0}
    assert mean(found["R@1"]) == 0.5
    assert measure({"a": {"x": 1}}, {})["AP"] == {"a": 0.0}
    assert measure({"a": {"x": 1}}, {"a": {}})["AP"] == {"a": 0.0}


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_fails(score: float) -> None:
    with pytest.raises(CitewellError, match="the score of document 'x' is"):
        measure({"a": {"x": 1}}, {"a": {"x": score}})


def test_ties_are_broken_by_id() -> None:
    assert ranking({"b": 1.0, "a": 1.0, "c": 2.0}) == ["c", "a", "b"]
    # trec_eval alone would put "b" first, and compares in single precision
    assert measure({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}})["R@1"] == {"q": 1.0}
    assert measure({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0 + 1e-12}})["R@1"] == {"q": 0.0}


def test_all_evidence_needs_every_paper() -> None:
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    assert all_evidence({"q": ["a", "b"]}, run, 2) == {"q": 1.0}
    assert all_evidence({"q": ["a", "c"]}, run, 2) == {"q": 0.0}
    assert all_evidence({"none": ["a"]}, run, 2) == {"none": 0.0}


@settings(max_examples=40, deadline=None)
@given(_RUNS)
def test_a_written_run_is_read_back(tmp_path_factory: pytest.TempPathFactory, run: dict[str, dict[str, float]]) -> None:
    path = tmp_path_factory.mktemp("run") / "r.run"
    write_run(path, run, "x")
    assert read_run(path) == {query: found for query, found in run.items() if found}


def test_files_of_trec(tmp_path: Path) -> None:
    write_qrels(tmp_path / "q", {"1": {"a": 1, "b": 0}})
    assert read_qrels(tmp_path / "q") == {"1": {"a": 1, "b": 0}}
    (tmp_path / "beir.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t2\n")
    assert read_qrels(tmp_path / "beir.tsv") == {"1": {"a": 2}}
    for text, message in (
        ("1 Q0 a 1 nan x\n", "r line 1: the score of document 'a' is nan; it must be finite"),
        ("1 Q0 a 1 high x\n", "line 1: the score 'high' is no number"),
        ("1 Q0 a 1 2.0 x\n1 Q0 a 2 1.0 x\n", "line 2: document 'a' comes twice"),
        ("1 a 2.0\n", "line 1: '1 a 2.0' is no line of a run"),
    ):
        (tmp_path / "r").write_text(text)
        with pytest.raises(CitewellError, match=message):
            read_run(tmp_path / "r")
    (tmp_path / "bad").write_text("1 a\n")
    with pytest.raises(CitewellError, match="line 1: '1 a' is no judgement"):
        read_qrels(tmp_path / "bad")
