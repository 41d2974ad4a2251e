"""The page of a report: whole, offline, and with everything needed to see why."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from eval.against import compare_runs
from eval.answers import paper_rows
from eval.contest import measure_systems, over_qrels
from eval.curves import of_answers, of_rankings
from eval.plots import bars, differences, precision_recall, times
from eval.report import report_html
from eval.results import write_json
from rag.cli import main

RESULTS = Path(__file__).parents[2] / "eval" / "results"
_REFERENCES = ("http:", "https:", "src=", "url(", "@import", "<script", "<link")


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """Results as they are committed, of the real language model."""
    found: dict[str, Any] = json.loads((RESULTS / "answers-test.json").read_text(encoding="utf-8"))
    return found


def _visible(page: str) -> str:
    """The page without its style and without text that was escaped into it."""
    return re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)


def test_a_page_of_answers_has_every_part_and_needs_nothing_else(answers: dict[str, Any]) -> None:
    earlier = copy.deepcopy(answers)
    turned = next(r for r in earlier["records"] if r["right"])
    turned |= {"right": False, "right_and_cited": False, "verdict": "wrong"}
    page = report_html(answers, compare_runs(answers, earlier))
    for heading in (
        "Answers measured",
        "Against the earlier run",
        "Answerable questions",
        "Unanswerable questions",
        "Confidence",
        "Time and tokens",
        "Paper by paper",
        "questions with a flaw",
    ):
        assert heading in page
    assert "Fixed: 1" in page
    assert turned["question"].split("?")[0][:30] in page
    tags = re.findall(r"<[^>]*>", _visible(page))
    assert [tag for tag in tags for reference in _REFERENCES if reference in tag] == []
    assert page.count("<details") == page.count("</details>")
    flawed = [r for r in answers["records"] if r["verdict"] in ("wrong", "wrongly answered", "wrongly refused")]
    assert all(r["id"] in page for r in flawed)
    assert "found nowhere" in page or "found at" in page


def test_a_page_says_of_how_few_questions_its_times_are(answers: dict[str, Any]) -> None:
    some = copy.deepcopy(answers)
    some["summary"]["latency_ms"]["all"]["total"] = {"median": 40.0, "p95": 400.0, "n": 20}
    told = f"Times are of 20 of {some['summary']['questions']} questions"
    assert told in report_html(some)
    some["summary"]["latency_ms"]["all"]["total"]["n"] = some["summary"]["questions"]
    assert "Times are" not in report_html(some)


def test_every_paper_has_its_row(answers: dict[str, Any]) -> None:
    rows = {row.paper_id: row for row in paper_rows(answers)}
    assert len(rows) == len(answers["labels"]) == 71
    for paper, row in rows.items():
        asked = [r for r in answers["records"] if paper in r["papers"] and r["kind"] != "whole-library"]
        assert row.asked == len(asked)
        assert row.counts[1] == sum(r["answered"] for r in asked)
        assert max(row.counts) <= row.asked


def test_pages_of_retrieval_and_of_systems(tmp_path: Path) -> None:
    retrieval = json.loads((RESULTS / "retrieval.json").read_text(encoding="utf-8"))
    page = report_html(retrieval)
    assert "Precision and recall" in page
    assert "questions with a paper out of place" in page
    (tmp_path / "qrels").write_text("1 0 <b> 1\n2 0 b 1\n")
    (tmp_path / "good.run").write_text("1 Q0 <b> 1 2.0 x\n2 Q0 b 1 2.0 x\n")
    (tmp_path / "poor.run").write_text("1 Q0 b 1 2.0 x\n")
    (tmp_path / "s.toml").write_text('[good]\nrun = "good.run"\n[poor]\nrun = "poor.run"\n')
    results, _ = measure_systems(tmp_path / "s.toml", over_qrels(tmp_path / "qrels"), None)
    page = report_html(results)
    assert "poor against good" in page
    assert "<b> nowhere" not in page, "text is escaped"
    write_json(tmp_path / "r.json", results)
    assert main(["eval", "report", str(tmp_path / "r.json"), "-o", str(tmp_path / "r.html")]) == 0
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == page


def test_a_comparison_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = RESULTS / "retrieval.json", tmp_path / "new.json"
    results = json.loads(old.read_text(encoding="utf-8"))
    hurt = [r["id"] for r in results["records"] if r["kind"] == "late"][:40]
    for record in results["records"]:
        if record["id"] in hurt:
            record["values"] = dict.fromkeys(record["values"], 0.0)
    write_json(new, results)
    arguments = ["eval", "report", str(new), "--against", str(old), "-o", str(tmp_path / "r.html"), "--json"]
    assert main(arguments) == 0
    change = json.loads(capsys.readouterr().out)
    called = {r["verdict"] for r in change["rows"] if r["measure"] == "R@1" and r["group"] in ("all", "late")}
    assert called == {"worse"}
    assert [c["id"] for c in change["broken"]] == hurt
    assert main(["eval", "report", str(new), "--against", str(tmp_path / "none.json")]) == 1
    assert "cannot be read as results" in capsys.readouterr().err


def test_precision_over_recall_of_rankings_by_hand() -> None:
    points = dict(of_rankings([{"a": 1, "b": 4}, {"c": None}]))
    assert points[0.0] == points[0.5] == pytest.approx((1 + 0) / 2)
    assert points[0.6] == points[1.0] == pytest.approx((2 / 4 + 0) / 2)
    assert of_rankings([]) == []


def test_precision_over_recall_of_answers_by_hand() -> None:
    def record(confidence: float, verdict: str, kind: str = "single") -> dict[str, Any]:
        answered = verdict in ("right", "wrong", "wrongly answered")
        return {"confidence": confidence, "verdict": verdict, "kind": kind, "answered": answered}

    records = [
        record(0.9, "right"),
        record(0.5, "wrongly answered", "unanswerable"),
        record(0.5, "right"),
        record(0.2, "wrongly refused"),
        record(0.1, "wrong"),
    ]
    assert of_answers(records) == [(0.25, 1.0), (0.5, pytest.approx(2 / 3)), (0.5, pytest.approx(2 / 4))]


def test_plots_of_nothing_are_nothing_and_names_are_escaped() -> None:
    assert bars([]) == differences([]) == precision_recall({}) == times({"a": []}) == ""
    for drawn in (
        bars([("<x>", 0.5, 0.2, 0.9)]),
        differences([("<x>", 0.0, 0.0, 0.0)]),
        precision_recall({"<x>": [(0.0, 1.0)]}),
        times({"<x>": [1.0, 12.0]}),
    ):
        assert "<x>" not in drawn
        assert "&lt;x&gt;" in drawn
        assert "nan" not in drawn
