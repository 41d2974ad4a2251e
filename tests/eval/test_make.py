from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eval.facts import missing_facts
from eval.make import make_questions, print_made
from eval.making import Maker
from eval.questions import Question, as_line, load_questions
from eval.roundtrip import Roundtrip, same
from eval.splits import split_of, splits_of_papers
from eval.unanswerable import detail_questions, swapped, turned
from rag.build import open_library
from rag.cli import main
from rag.config import Config
from rag.errors import CitewellError, ModelError
from rag.records import Paper
from rag.retrieve import CitewellRetriever
from rag.terms import terms

QUESTIONS = {
    "41%": "What share of the leaves does LeafCut remove on the Covertype data set?",
    "Covertype": "On which data set does LeafCut remove 41% of the leaves?",
    "310": "How many humpback whales are recorded off Tonga?",
    "Tonga": "Off which islands are the 310 humpback whales recorded?",
    "9": "After how many days do blocks made with ThermoMix reach full strength instead of 28?",
    "8": "Of what depth are the best known sorting networks for 18 inputs?",
    "SAT": "With what kind of solver and symmetry breaking are networks searched for?",
}


def script(prompt: str) -> str:
    """Words questions, and reads an abstract: the sentence with the most words of the question is the answer."""
    last = prompt[prompt.rfind("user:") :]
    if asked := re.search(r"^Answer: (.*)$", last, re.MULTILINE):
        return "Question: " + QUESTIONS.get(asked[1], "What about it?")
    if "Forbidden:" in last:
        return "How much timber can one take off and not miss?" if "LeafCut" in last else "How come?"
    if subject := re.search(r"^(?:user: )?Subject: (.*)$", last, re.MULTILINE):
        return f"Who was the first master of {subject[1]} in Portugal?"
    question = re.search(r"Question: (.*)", last)
    assert question is not None
    lines = re.findall(r"^\[(\d+)\] (.*)$", last, re.MULTILINE)
    number, sentence = max(lines, key=lambda line: len(set(terms(line[1])) & set(terms(question[1]))))
    return f"{sentence.rstrip('.')} [{number}]."


@pytest.fixture
def maker(config: Config, scripted: Callable[..., Any]) -> Iterator[Callable[..., Maker]]:
    library = open_library(config)

    def make(reply: Callable[[str], str] = script) -> Maker:
        llm = scripted(reply)
        papers = library.papers()
        return Maker(
            Roundtrip(CitewellRetriever(library), llm),
            llm,
            papers,
            seed=0,
            splits={p.paper_id: "tune" for p in papers},
        )

    yield make
    library.close()


def test_questions_are_made_whose_paper_answers_them(
    config: Config, scripted: Callable[..., Any], tmp_path: Path, paper_ids: list[str]
) -> None:
    llm = scripted(script)
    out = tmp_path / "made.jsonl"
    made = make_questions(config, out, count=4, kinds=["single"], llm=lambda config: llm)
    questions = load_questions(out)
    assert sorted(q.papers[0] for q in questions) == sorted(paper_ids)  # each paper once before any comes again
    for question in questions:
        assert question.question in QUESTIONS.values()
        assert missing_facts(question.facts, question.evidence[0]) == []
        assert missing_facts(question.facts, question.question) != []
        assert question.split == split_of(question.papers[0], {})
    assert made["kinds"] == {"single": 4}
    assert set(made["dropped"].get("single", {})) <= {"no single question", "points outside itself (“it”)"} | {
        "too short or too long"
    }
    assert f"single     4  {sum(made['dropped'].get('single', {}).values()):>7}" in print_made(made)
    assert len(set(llm.prompts)) == len(llm.prompts)


def test_a_run_that_was_stopped_goes_on_and_comes_to_the_same(
    config: Config, scripted: Callable[..., Any], tmp_path: Path
) -> None:
    whole = scripted(script)
    wanted = tmp_path / "whole.jsonl"
    kept = Config(**{**{f: getattr(config, f) for f in config.__slots__}, "data": tmp_path / "other"})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "libraries").symlink_to(config.data / "libraries")
    make_questions(kept, wanted, count=6, kinds=["single", "unanswerable"], llm=lambda config: whole)

    said = 0

    def breaks(prompt: str) -> str:
        nonlocal said
        said += 1
        if said == 5:
            raise ModelError("stopped here")
        return script(prompt)

    first, second, third = scripted(breaks), scripted(script), scripted(script)
    out = tmp_path / "made.jsonl"
    options: dict[str, Any] = {"count": 6, "kinds": ["single", "unanswerable"]}
    with pytest.raises(ModelError):
        make_questions(config, out, **options, llm=lambda config: first)
    assert not out.exists()
    make_questions(config, out, **options, llm=lambda config: second)
    assert out.read_bytes() == wanted.read_bytes()
    assert len(second.prompts) == len(whole.prompts) - 4  # what was said before the stop is not asked again
    make_questions(config, tmp_path / "again.jsonl", **options, llm=lambda config: third)
    assert (tmp_path / "again.jsonl").read_bytes() == wanted.read_bytes()
    assert third.prompts == []


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("Tell me of LeafCut and its leaves on Covertype.", "no single question"),
        ("What does LeafCut remove?", "too short or too long"),
        ("What share of the leaves does this method remove on the Covertype data set?", ""),  # put right
        ("What share of the leaves do they remove on Covertype with LeafCut?", "points outside itself (“they”)"),
        ("Does LeafCut remove 41% of the leaves on the Covertype data set?", "gives its answer away"),
        (
            "What share of leaves does LeafCut remove on the HIGGS data set?",
            "holds a name or figure that its paper lacks",
        ),
    ],
)
def test_a_bad_draft_is_dropped_and_told_why(
    maker: Callable[..., Maker], question: str, reason: str, paper_ids: list[str]
) -> None:
    made = maker(lambda prompt: question if _asks(prompt, "41%") else script(prompt))
    found = [q for q in made.make("single", 12) if q.note == "answer: 41%"]
    assert [q.papers for q in found] == ([] if reason else [(paper_ids[0],)])
    if reason:
        assert made.made.dropped["single"][reason] >= 1


def _asks(prompt: str, words: str) -> bool:
    return re.findall(r"^Answer: (.*)$", prompt[prompt.rfind("user:") :], re.MULTILINE) == [words]


@pytest.mark.parametrize(
    ("question", "sort", "asks"),
    [
        ("In which paper is the share of leaves told?", "figure", False),
        ("Who removes 41% of the leaves?", "figure", False),
        ("Which share of the leaves is removed?", "figure", True),
        ("After how many days is it done?", "figure", True),
        ("How many data sets are used?", "name", False),
        ("On which data set are leaves removed?", "name", True),
        ("What is the main goal of LeafCut?", "way", False),
        ("How many leaves are removed?", "way", False),
        ("By what means are leaves removed?", "way", True),
        ("Which method removes leaves?", "way", True),
    ],
)
def test_a_question_asks_for_what_its_answer_is(
    maker: Callable[..., Maker], question: str, sort: str, asks: bool
) -> None:
    fault = "" if asks else f"does not ask for its answer (a {sort})"
    assert maker()._test.asks_for(question, sort) == fault


def test_a_percentage_is_no_answer_to_what_is_the_thing(maker: Callable[..., Maker]) -> None:
    asks_for = maker()._test.asks_for
    assert asks_for("What is the bandwidth of LeafCut?", "figure", "91%") == "does not ask for its answer (a figure)"
    assert asks_for("What is the bandwidth of LeafCut?", "figure", "91") == ""
    assert asks_for("What share of the bandwidth does LeafCut use?", "figure", "91%") == ""


def test_a_method_that_the_named_one_is_compared_with_is_no_answer(
    maker: Callable[..., Maker], paper_ids: list[str]
) -> None:
    made = maker(lambda prompt: "LeafCut matches TreeFall [1].")
    paper = next(p for p in made._papers if p.paper_id == paper_ids[0])
    asked = Question("q", "single", "tune", "Which method removes leaves?", (paper.paper_id,), facts=(("TreeFall",),))
    assert made._test.unread(asked, paper) == "its paper is read to answer with its own name"


def test_a_question_says_what_it_is_about(maker: Callable[..., Maker], paper_ids: list[str]) -> None:
    made = maker()
    paper = next(p for p in made._papers if p.paper_id == paper_ids[0])
    assert made._test.vague("How well does the best one work?", paper) == "does not say what it is about"
    assert made._test.vague("On how many data sets is LeafCut tried?", paper) == ""


def test_what_could_be_asked_of_any_paper_is_asked_of_no_other(
    maker: Callable[..., Maker], paper_ids: list[str]
) -> None:
    made = maker()
    paper = next(p for p in made._papers if p.paper_id == paper_ids[0])
    assert made._test.general("What is the point of LeafCut?", paper) == "could be asked of any paper"
    assert made._test.general("What share of the leaves does LeafCut remove?", paper) == ""


def test_an_answer_that_its_paper_is_not_read_to_give_is_dropped(maker: Callable[..., Maker]) -> None:
    made = maker(lambda prompt: script(prompt) if "Topic:" in prompt else "The leaves are green [1].")
    assert list(made.make("single", 2)) == []
    assert made.made.dropped["single"]["its paper is read to answer otherwise"] > 0


def test_a_question_about_two_papers_needs_the_facts_of_both(maker: Callable[..., Maker]) -> None:
    (question,) = list(maker().make("two-paper", 1))
    assert len(set(question.papers)) == len(question.evidence) == 2
    halves = [q for q in QUESTIONS.values() if q.rstrip("?").lower() in question.question.lower()]
    assert len(halves) == 2
    assert question.question.count("?") == 1
    assert ", and " in question.question
    assert missing_facts(question.facts, " ".join(question.evidence)) == []
    assert missing_facts(question.facts, question.evidence[0]) != []


def test_a_paraphrase_has_no_word_of_its_abstract(maker: Callable[..., Maker]) -> None:
    made = maker()
    for question in made.make("paraphrase", 2):
        text = next(p.abstract for p in made._papers if p.paper_id in question.papers)
        assert not set(terms(question.question)) & set(terms(text))
    assert made.made.dropped["paraphrase"].total() > 0


def test_questions_without_an_answer_are_of_three_sorts(maker: Callable[..., Maker], paper_ids: list[str]) -> None:
    found = list(maker().make("unanswerable", 6))
    assert {q.class_ for q in found} >= {"detail", "outside"}
    for question in found:
        assert (question.papers, question.facts, question.evidence) == ((), (), ())
        assert set(question.near) <= set(paper_ids)


def test_the_contrary_of_what_a_paper_says_is_taken_for_granted() -> None:
    sentence = "LeafCut reduces the memory of forests."
    assert turned("By how much does LeafCut reduce memory?", sentence) == "By how much does LeafCut increase memory?"
    assert turned("What outperforms LeafCut?", "LeafCut outperforms HIGGS.") == "What trails LeafCut?"
    assert turned("What is LeafCut?", sentence) == ""


def test_what_one_paper_does_is_asked_of_another_by_name() -> None:
    one, other = Paper("a", "LeafCut", "…"), Paper("b", "ThermoMix", "…")
    assert swapped("What does LeafCut cut?", one, other) == "What does ThermoMix cut?"
    assert swapped("What is cut?", one, other) == ""
    assert swapped("What does LeafCut cut?", one, Paper("c", "a phrase in small letters", "…")) == ""


def test_a_detail_is_asked_for_only_where_the_abstract_lacks_it() -> None:
    papers = [Paper("a", "LeafCut", "Code: https://x.org, MIT licence, learning rate 0.1, 3 GPU hours, seed 1.")]
    asked = [question for question, _, _ in detail_questions(papers)]
    assert "Who paid for the work on LeafCut?" in asked
    assert not [q for q in asked if re.search("licence|learning rate|GPU|seeds|address", q)]


def test_papers_keep_the_split_they_have() -> None:
    known = splits_of_papers(
        [Question("a", "single", "test", "?", ("p",)), Question("b", "single", "tune", "?", ("p",))]
    )
    assert known == {"p": "test"}
    assert split_of("p", known) == "test"
    assert {split_of(str(n), {}) for n in range(50)} == {"tune", "calibrate", "test"}
    assert split_of("q", {}) == split_of("q", known)


def test_one_question_in_two_wordings_is_the_same_but_not_for_another_name() -> None:
    assert same("How many leaves does LeafCut remove?", "How many leaves are removed by LeafCut?")
    assert not same("How many leaves does LeafCut remove?", "How many leaves does RootCut remove?")


def test_a_question_is_written_as_it_is_read(tmp_path: Path) -> None:
    question = Question(
        "a", "follow-up", "tune", "And?", ("p",), (("x", "y"),), ("e",), ("before",), ("n",), "c", "zh", 3, "en", "note"
    )
    path = tmp_path / "q.jsonl"
    path.write_text(as_line(question) + "\n" + as_line(Question("b", "unanswerable", "test", "?", ())) + "\n")
    assert load_questions(path) == [question, Question("b", "unanswerable", "test", "?", ())]


def test_what_cannot_be_made_is_told(config: Config, tmp_path: Path, scripted: Callable[..., Any]) -> None:
    out = tmp_path / "made.jsonl"
    with pytest.raises(CitewellError, match="kind 'chinese' cannot be made; take some of single, paraphrase"):
        make_questions(config, out, count=4, kinds=["chinese"])
    with pytest.raises(CitewellError, match="--count is 0; it must be at least 1"):
        make_questions(config, out, count=0, kinds=["single"])
    silent = scripted(lambda prompt: "Nothing.")
    with pytest.raises(CitewellError, match="none of the drafts about the library 'tiny' came through"):
        make_questions(config, out, count=1, kinds=["single"], llm=lambda config: silent)
    out.write_text("mine")
    with pytest.raises(CitewellError, match="is there already"):
        make_questions(config, out, count=4, kinds=["single"])
    assert out.read_text() == "mine"


def test_the_command_prints_one_object(
    config: Config, tmp_path: Path, scripted: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("rag.cli.load_config", lambda overrides: config)
    monkeypatch.setattr(
        make_questions, "__kwdefaults__", {**make_questions.__kwdefaults__, "llm": lambda c: scripted(script)}
    )
    out = tmp_path / "made.jsonl"
    assert main(["eval", "make", "--count", "2", "--kinds", "single", "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["made"], said["file"], said["kinds"], said["wanted"]) == ("questions", str(out), {"single": 2}, 2)
