from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval import paperqa2
from eval.citation_engine import CitationEngine, markers
from eval.paperqa2 import PaperQA, environment, numbered, run
from eval.peer_answers import Cited, OutOfPatience, as_answer, refuses
from eval.peers import beside, measure_peers, print_peers
from eval.questions import Question
from rag.config import Config
from rag.errors import CitewellError
from rag.records import Paper

JOB = {"timeout": 60}
PAPER = Paper("p", "LeafCut", "LeafCut removes leaves. It removes 41% of them.")


def words(prompt: str) -> str:
    """What LlamaIndex's engine is told: of leaves it answers, of all else it says that no source helps."""
    if "Source 1:" in prompt and "Now it's your turn" in prompt:
        if "LeafCut" in prompt[prompt.rindex("Query:") :]:
            return "LeafCut removes 41% of the leaves [Source 1]. It is fast [7]."
        return "None of the sources are helpful."
    return "I say nothing."


def test_an_engine_of_llamaindex_answers_in_the_form_of_ours(
    config: Config, scripted: Callable[..., Any], paper_ids: list[str]
) -> None:
    from rag.build import open_catalogue

    papers = open_catalogue(config).papers()
    llm = scripted(words)
    engine = CitationEngine(config, llm, papers)
    question = Question("q", "single", "tune", "What share of the leaves does LeafCut remove?", (paper_ids[0],))
    answer = engine.ask(question)
    abstract = next(p.abstract for p in papers if p.paper_id == paper_ids[0])
    assert answer["status"] == "answered"
    assert answer["answer"] == "LeafCut removes 41% of the leaves [1]. It is fast [7]."
    assert [(s["text"], s["citations"]) for s in answer["sentences"]] == [
        ("LeafCut removes 41% of the leaves.", [1]),
        ("It is fast.", [7]),
    ]
    (citation,) = answer["citations"]
    assert (citation["marker"], citation["paper_id"], citation["quote"]) == (1, paper_ids[0], abstract)
    assert next(n["paper_id"] for n in answer["nearest"]) == paper_ids[0]
    assert len(answer["nearest"]) == 2  # the default of its retriever
    assert set(answer["timings_ms"]) == {"first_token", "total"}
    assert "Please provide an answer based solely on the provided sources." in llm.prompts[0]


def test_peers_are_asked_once_and_scored_by_one_scorer(
    config: Config, scripted: Callable[..., Any], questions_file: Path
) -> None:
    llm = scripted(words)
    options: dict[str, Any] = {"peers": ["citation-engine"], "llm": lambda config: llm}
    results = measure_peers(config, questions_file, **options)
    (system,) = results["systems"].values()
    verdicts = {r["id"]: r["verdict"] for r in system["records"]}
    assert verdicts == {
        "s1": "right",
        "s2": "wrongly refused",
        "u1": "rightly refused",
        "u2": "rightly refused",
        "t1": "right",
    }  # f1 leans on an earlier turn
    assert [r["bad_markers"] for r in system["records"] if r["id"] == "s1"] == [[7]]
    asked = len(llm.prompts)
    again = measure_peers(config, questions_file, **options)
    assert again["systems"]["citation-engine"]["summary"] == system["summary"]
    assert len(llm.prompts) == asked
    assert print_peers(results).splitlines()[0].split("  ")[0] == "system"
    assert print_peers(results).splitlines()[2].startswith("citation-engine")


def test_what_cannot_be_measured_is_told(config: Config, questions_file: Path) -> None:
    with pytest.raises(CitewellError, match="unknown peer 'gpt'; take some of citewell, citation-engine, paperqa"):
        measure_peers(config, questions_file, peers=["gpt"])
    with pytest.raises(CitewellError, match="leans on earlier turns"):
        measure_peers(config, questions_file, peers=["citation-engine"], kinds=["follow-up"])


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("None of the sources are helpful.", True),
        ("I cannot answer this question due to insufficient information.", True),
        ("The provided sources do not mention a learning rate [1].", True),
        ("", True),
        ("The method does not include any training [1].", False),
        ("LeafCut removes leaves [1]. The sources do not mention more.", False),
    ],
)
def test_a_refusal_is_known_by_its_first_sentence(text: str, refused: bool) -> None:
    assert refuses(text) is refused


def test_a_refusal_keeps_no_citations_and_a_rewritten_quote_becomes_its_abstract() -> None:
    cited = {1: Cited("p", "rewritten"), 2: Cited("p", "It removes 41% of them.")}
    options: dict[str, Any] = {"timings_ms": {}, "llm": "m"}
    answer = as_answer("?", "It cuts [1]. It removes 41% [2].", cited, {"p": PAPER}, ["p"], **options)
    assert [c["quote"] for c in answer["citations"]] == [PAPER.abstract, "It removes 41% of them."]
    for citation in answer["citations"]:
        assert PAPER.abstract[citation["start"] : citation["end"]] == citation["quote"]
    refused = as_answer("?", "I cannot answer the question [1].", cited, {"p": PAPER}, ["p"], **options)
    assert (refused["status"], refused["citations"], refused["sentences"]) == ("abstained", [], [])


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Red [1]. Blue [1, 2].", "Red [1]. Blue [1, 2]."),
        ("Red [Source 1]. Blue (Source 2).", "Red [1]. Blue [2]."),
        ("Red [Sources 1, 2]. Blue [Source 1 and Source 3].", "Red [1][2]. Blue [1][3]."),
        ("Red [Source 1, Section 3.1].", "Red [1]."),
        ("Red, says Source 1 (a source of light).", "Red, says Source 1 (a source of light)."),
    ],
)
def test_the_markers_of_small_models_are_read_generously(text: str, read: str) -> None:
    assert markers(text) == read


def test_the_first_word_is_compared_where_both_answered() -> None:
    def record(answered: bool, first: float | None) -> dict[str, Any]:
        return {"answered": answered, "timings_ms": {} if first is None else {"first_token": first}}

    theirs = [record(True, 900.0), record(True, 400.0), record(True, None), record(False, 9.0), record(True, 1.0)]
    ours = [record(True, 300.0), record(True, 100.0), record(True, 1.0), record(True, 1.0), record(False, 1.0)]
    assert beside(theirs, ours) == {"times": 3.5, "n": 2}
    assert beside(theirs[2:], ours[2:]) is None


def test_a_peer_that_is_too_slow_has_no_answer_until_it_is_given_longer(
    config: Config, scripted: Callable[..., Any], questions_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    class Slow:
        print = "slow"

        def __init__(self, *_: Any, patience: float) -> None:
            self.patience = patience

        def ask(self, question: Question) -> Any:
            asked.append(self.patience)
            if self.patience < 100:
                raise OutOfPatience(f"no answer within {self.patience:g} s")
            timings: dict[str, float] = {"total": 1.0}
            return as_answer(
                question.question, "I cannot answer the question.", {}, {}, [], timings_ms=timings, llm="m"
            )

    monkeypatch.setattr(paperqa2, "PaperQA", Slow)
    options: dict[str, Any] = {"peers": ["paperqa"], "kinds": ["unanswerable"], "llm": lambda config: scripted(words)}
    results = measure_peers(config, questions_file, patience=60.0, **options)
    (system,) = results["systems"].values()
    assert [(r["verdict"], r["error"]) for r in system["records"]] == [("error", "no answer within 60 s")] * 2
    assert system["summary"]["refused"]["all unanswerable"]["mean"] == 0.0  # to say nothing is no refusal
    assert print_peers(results).splitlines()[-1] == "paperqa came to no answer for 2 of 2: no answer within 60 s"
    measure_peers(config, questions_file, patience=60.0, **options)
    assert asked == [60.0, 60.0]
    again = measure_peers(config, questions_file, patience=120.0, **options)
    assert [r["verdict"] for r in again["systems"]["paperqa"]["records"]] == ["rightly refused"] * 2
    assert asked == [60.0, 60.0, 120.0, 120.0]


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no interpreter there")
def test_a_runner_is_stopped_when_its_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paperqa2, "STARTING", 0.0)
    with pytest.raises(OutOfPatience, match=r"PaperQA2 came to no answer within 0\.2 s"):
        run(stand_in(tmp_path, "import time; time.sleep(60)"), {"timeout": 0.2})


def test_the_keys_of_paperqa_become_markers() -> None:
    contexts = [{"id": "pqac-0a", "paper": "p"}, {"id": "pqac-0b", "paper": "gone"}]
    text, cited = numbered("One (pqac-0a, pqac-0b). Two pqac-0a. Three (pqac-ff).", contexts, {"p": PAPER})
    assert text == "One [1][2]. Two [1]. Three [3]."
    assert cited == {1: Cited("p", PAPER.abstract)}


def stand_in(tmp_path: Path, body: str) -> Path:
    """An interpreter that takes the runner's place."""
    path = tmp_path / "python"
    path.write_text(f"#!{sys.executable}\nimport json, sys\njob = json.loads(sys.stdin.read())\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no interpreter there")
def test_paperqa_is_given_texts_and_vectors_and_read_back(
    config: Config, scripted: Callable[..., Any], tmp_path: Path
) -> None:
    body = (
        "first = job['papers'][0]\n"
        "json.dump(job, open(sys.argv[0] + '.job', 'w'))\n"
        "print(json.dumps({'answer': 'LeafCut cuts (pqac-1).', 'contexts': [{'id': 'pqac-1', 'paper': first['id']}],"
        " 'seconds': 1.5}))"
    )
    python = stand_in(tmp_path, body)
    hosted = Config(**{**{f: getattr(config, f) for f in config.__slots__}, "llm_url": "http://x/v1", "llm_model": "m"})
    peer = PaperQA(hosted, scripted(), [PAPER], python=python)
    answer = peer.ask(Question("q", "single", "tune", "What does LeafCut cut?", ("p",)))
    assert (answer["answer"], answer["timings_ms"], answer["llm"]) == ("LeafCut cuts [1].", {"total": 1500.0}, "m")
    assert [c["quote"] for c in answer["citations"]] == [PAPER.abstract]
    job = json.loads(Path(f"{python}.job").read_text())
    assert (job["base"], job["model"], job["question"]["text"]) == ("http://x/v1", "m", "What does LeafCut cut?")
    assert [(p["id"], p["text"], len(p["vector"])) for p in job["papers"]] == [("p", PAPER.abstract, 384)]
    with pytest.raises(CitewellError, match="needs the embedded engine or a server"):
        PaperQA(config, scripted(), [PAPER], python=python).ask(Question("q", "single", "tune", "What?", ("p",)))


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no interpreter there")
def test_a_runner_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(CitewellError, match=r"PaperQA2 failed \(no model\)"):
        run(stand_in(tmp_path, "print(json.dumps({'error': 'no model'}))"), JOB)
    with pytest.raises(CitewellError, match="PaperQA2 came to no answer"):
        run(stand_in(tmp_path, "sys.exit(3)"), JOB)
    with pytest.raises(CitewellError, match="PaperQA2 came to no answer"):
        run(tmp_path / "nowhere", JOB)


def test_the_runner_says_what_is_missing_instead_of_failing(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    python = tmp_path / "bare" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    job = {"papers": [], "question": {"text": "?", "vector": []}, "base": "http://x/v1", "model": "m", "timeout": 60}
    with pytest.raises(CitewellError, match="PaperQA2 failed \\(ModuleNotFoundError: No module named 'paperqa'\\)"):
        run(python, job)


def test_an_environment_that_cannot_be_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(command: list[str], **options: Any) -> None:
        raise subprocess.CalledProcessError(1, command, stderr=b"first\nERROR: no such version\n")

    monkeypatch.setattr(subprocess, "run", fails)
    with pytest.raises(CitewellError, match=r"cannot be installed into .* \(ERROR: no such version\); leave it out"):
        environment(tmp_path / "peers" / "paperqa")
    (tmp_path / "done").mkdir()
    (tmp_path / "done" / "paper-qa-2026.8.12").touch()
    assert environment(tmp_path / "done").parent.parent == tmp_path / "done"
