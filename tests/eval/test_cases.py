from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval.answers import measure_answers
from eval.cases import cases_of, not_again, print_cases
from eval.facts import missing_facts
from eval.questions import load_questions
from rag.build import library_folder, open_catalogue
from rag.cli import main
from rag.config import Config
from rag.feedback import Feedback
from rag.records import Answer, AnswerSentence, Citation, Hit, Paper, Turn


@pytest.fixture
def papers(config: Config, paper_ids: list[str]) -> list[Paper]:
    catalogue = open_catalogue(config)
    found = catalogue.papers(paper_ids)
    catalogue.close()
    return found


def answer(question: str, sentences: list[str], papers: list[Paper], quotes: list[str]) -> Answer:
    citations = tuple(
        Citation(n, p.paper_id, p.label, q, p.abstract.index(q), p.abstract.index(q) + len(q), p.sources)
        for n, (p, q) in enumerate(zip(papers, quotes, strict=True), 1)
    )
    told = tuple(AnswerSentence(s, "supported", (n,)) for n, s in enumerate(sentences, 1))
    text = " ".join(f"{s} [{n}]" for n, s in enumerate(sentences, 1))
    return Answer(question, question, "answered" if sentences else "abstained", text, told, citations, (), 0.9)


@pytest.fixture
def feedback(config: Config) -> Feedback:
    """Thumbs beside a library of the test's own: the one that the tests share stays as it is."""
    folder = library_folder(config)
    shared = folder.resolve()
    folder.parent.unlink()
    shutil.copytree(shared, folder)
    return Feedback(folder)


QUOTE = "On the Covertype data set LeafCut removes 41% of the leaves and loses 0.2 points of accuracy."


def test_a_good_answer_must_come_again_with_its_figures(
    config: Config, feedback: Feedback, papers: list[Paper]
) -> None:
    asked = "What share of the leaves does LeafCut remove?"
    feedback.add(answer(asked, ["LeafCut removes 41% of them."], papers[:1], [QUOTE]), "up", "nice")
    (case,), left = cases_of(config)
    assert (case.kind, case.question, case.papers, case.evidence) == ("single", asked, (papers[0].paper_id,), (QUOTE,))
    assert case.facts == ((r"(?<![\d.])41(?!\d|\.\d)",),)
    assert (case.note, left) == ("thumb up: nice", [])


def test_a_bad_answer_must_not_come_again(config: Config, feedback: Feedback, papers: list[Paper]) -> None:
    said = ["LeafCut removes $41\\%$ of them.", "It loses nothing."]
    bad = answer("What does LeafCut lose?", said, [papers[0], papers[0]], [QUOTE, QUOTE])
    feedback.add(bad, "down", "it loses 0.2 points", history=(Turn("What is LeafCut?", "A method."),))
    ((case,), _) = cases_of(config)
    assert (case.kind, case.history, case.evidence) == ("follow-up", ("What is LeafCut?",), ())
    assert missing_facts(case.facts, bad.text) != []
    assert missing_facts(case.facts, "LeafCut removes 41% of them [2]. It loses nothing [1].") != []
    assert missing_facts(case.facts, "LeafCut removes 41% of them [1]. It loses 0.2 points [1].") == []


def test_a_good_refusal_must_come_again_and_a_bad_one_must_not(
    config: Config, feedback: Feedback, papers: list[Paper]
) -> None:
    nearest = (Hit(1, papers[2], 0.4), Hit(2, papers[1], 0.3))
    for question, thumb in (("Who paid for ThermoMix?", "up"), ("How fast does ThermoMix cure?", "down")):
        refusal = Answer(question, question, "abstained", "No answer.", (), (), nearest, 0.1)
        feedback.add(refusal, thumb)  # type: ignore[arg-type]
    good, bad = cases_of(config)[0]
    assert (good.kind, good.class_, good.papers, good.near) == ("unanswerable", "thumb", (), (papers[2].paper_id,))
    assert (bad.kind, bad.papers, bad.facts, bad.near) == ("single", (papers[2].paper_id,), (), ())


def test_a_thumb_whose_papers_are_gone_is_told(config: Config, feedback: Feedback) -> None:
    gone = Paper("gone", "Gone", "It is gone.")
    feedback.add(answer("Is it gone?", ["It is gone."], [gone], ["It is gone."]), "up")
    questions, left = cases_of(config)
    assert (questions, [why for _, why in left]) == ([], ["the library no longer holds its papers"])
    assert "the library no longer holds its papers" in print_cases(questions, left)


def test_no_thumbs_yet(config: Config) -> None:
    assert print_cases(*cases_of(config)).startswith("no thumbs yet")


def test_an_answer_without_sentences_forbids_nothing() -> None:
    assert not_again([]) == not_again(["…"]) == ()


def test_the_cases_are_a_questions_file_that_can_be_asked(
    config: Config,
    feedback: Feedback,
    papers: list[Paper],
    tmp_path: Path,
    scripted: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = "What share of the leaves does LeafCut remove on the Covertype data set?"
    feedback.add(answer(asked, ["LeafCut removes 41% of them."], papers[:1], [QUOTE]), "up")
    monkeypatch.setattr("rag.cli.load_config", lambda overrides: config)
    out = tmp_path / "cases.jsonl"
    assert main(["eval", "cases", "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [c["question"] for c in said["cases"]] == [asked]
    assert (said["file"], said["left_out"]) == (str(out), [])
    assert [q.question for q in load_questions(out)] == [asked]
    llm = scripted()
    results = measure_answers(config, out, llm=lambda config: llm, threshold=0.0)
    assert [r["verdict"] for r in results["records"]] == ["right"]
