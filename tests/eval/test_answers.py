from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval.answers import measure_answers, paper_table, read_answers
from eval.report import report_html
from eval.results import write_json
from eval.summary import print_summary
from rag.config import Config
from rag.errors import CitewellError, ModelError

Scripted = Callable[..., Any]


def _measure(config: Config, path: Path, llm: Any, **options: Any) -> dict[str, Any]:
    return measure_answers(config, path, llm=lambda config: llm, **options)


def test_every_question_is_asked_and_scored(
    config: Config, questions_file: Path, paper_ids: list[str], scripted: Scripted
) -> None:
    results = _measure(config, questions_file, scripted())
    records = {r["id"]: r for r in results["records"]}
    assert list(records) == ["s1", "s2", "f1", "u1", "u2", "t1"]
    assert records["s1"]["verdict"] == "right"
    assert records["s1"]["right_and_cited"]
    assert records["s1"]["gold_ranks"] == {paper_ids[0]: 1}
    assert records["s2"]["verdict"] == "wrong"
    assert records["s2"]["missing_facts"] == [["no such fact"]]
    assert records["u2"]["verdict"] == "rightly refused"
    assert results["summary"]["faults"] == {
        "quotes that are not in the abstract": 0,
        "markers to nothing": 0,
        "numbers that no cited source holds": 0,
    }
    assert results["llm"] == config.llm
    assert results["summary"]["answerable"]["single"]["right"]["mean"] == 0.5
    json.dumps(results, allow_nan=False)
    assert "all answerable" in print_summary(results["summary"])


def test_nothing_is_asked_twice(config: Config, questions_file: Path, scripted: Scripted) -> None:
    first = scripted()
    before = _measure(config, questions_file, first)
    assert first.prompts
    second = scripted()
    after = _measure(config, questions_file, second)
    assert second.prompts == []
    assert after == before


def test_with_everything_kept_no_model_is_loaded(config: Config, questions_file: Path, scripted: Scripted) -> None:
    before = _measure(config, questions_file, scripted())

    def refuse(config: Config) -> Any:
        raise AssertionError("the language model was loaded")

    assert measure_answers(config, questions_file, llm=refuse) == before


def test_a_stopped_run_goes_on_where_it_was(config: Config, questions_file: Path, scripted: Scripted) -> None:
    calls = 0

    def stops(prompt: str) -> str:
        nonlocal calls
        calls += 1
        if calls > 2:  # the first question took two: whether the evidence answers it, and its answer
            raise RuntimeError("out of power")
        return "LeafCut removes leaves [1]."

    with pytest.raises(ModelError):
        _measure(config, questions_file, scripted(stops))
    whole = scripted()
    _measure(config, questions_file, whole)
    assert not any("leaves does LeafCut remove" in p[p.rfind("user:") :] for p in whole.prompts)


def test_fresh_asks_anew(config: Config, questions_file: Path, scripted: Scripted) -> None:
    _measure(config, questions_file, scripted())
    again = scripted()
    _measure(config, questions_file, again, fresh=True)
    assert again.prompts


def test_another_source_is_another_answer_made_from_what_the_model_said_before(
    config: Config, questions_file: Path, monkeypatch: pytest.MonkeyPatch, scripted: Scripted
) -> None:
    answers = config.data / "eval-cache" / "answers"
    _measure(config, questions_file, scripted())
    before = len(list(answers.iterdir()))
    monkeypatch.setattr("eval.asking.code_print", lambda: "another")
    again = scripted()
    results = _measure(config, questions_file, again)
    assert len(list(answers.iterdir())) == 2 * before
    assert again.prompts == []
    timed = sum("total" in r["timings_ms"] for r in results["records"])
    assert 0 < timed < len(results["records"])
    assert f"of {timed} of {len(results['records'])} questions" in print_summary(results["summary"])


def test_the_history_of_a_follow_up_is_asked_first(config: Config, questions_file: Path, scripted: Scripted) -> None:
    llm = scripted()
    _measure(config, questions_file, llm, kinds=["follow-up"])
    assert "How many humpback whales were recorded off Tonga?" in llm.prompts[0]
    assert any("Last question: And what are they for" in p for p in llm.prompts[1:])


def test_limit_and_split(config: Config, questions_file: Path, scripted: Scripted) -> None:
    llm = scripted()
    assert [r["id"] for r in _measure(config, questions_file, llm, split="test")["records"]] == ["t1"]
    assert [r["id"] for r in _measure(config, questions_file, llm, limit=2)["records"]] == ["s1", "u1"]
    with pytest.raises(CitewellError, match="--limit is 0"):
        _measure(config, questions_file, llm, limit=0)


def test_questions_about_another_library_are_refused(config: Config, write_questions: Any, scripted: Scripted) -> None:
    path = write_questions([{"id": "a", "kind": "single", "split": "tune", "question": "What?", "papers": ["nowhere"]}])
    with pytest.raises(CitewellError, match="names the paper 'nowhere', which the library 'tiny' does not hold"):
        _measure(config, path, scripted())


def test_table_and_report_of_written_results(
    config: Config, questions_file: Path, tmp_path: Path, scripted: Scripted
) -> None:
    llm = scripted()
    results = _measure(config, questions_file, llm)
    results["records"][1]["question"] = "<script>alert(1)</script>"
    results["records"][1]["missing_facts"] = [["<b>bold</b>"]]
    write_json(tmp_path / "results.json", results)
    read = read_answers(tmp_path / "results.json")
    lines = paper_table(read).splitlines()
    assert lines[0].split() == ["paper", "id", "questions", "found", "answered", "right", "rightly", "cited"]
    assert len(lines) == 2 + 4 + 1
    assert any(line.endswith("no question") for line in lines)
    page = report_html(read)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<b>" not in page
    assert page.count("<svg") == 6
    for reference in ("http:", "https:", "src=", "url(", "@import"):
        assert reference not in page


def test_results_of_something_else_are_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "results.json", {"measured": "retrieval"})
    with pytest.raises(CitewellError, match="holds no results of 'citewell eval answers'"):
        read_answers(tmp_path / "results.json")
    with pytest.raises(CitewellError, match="cannot be read as results"):
        read_answers(tmp_path / "none.json")
