"""What is kept of conversations, and the files that are made of them."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
import rispy
from hypothesis import given
from hypothesis import strategies as st
from pybtex.database import parse_string

from rag.contract import where_of
from rag.errors import HistoryError
from rag.filters import EVERYTHING, Filter
from rag.records import Answer, AnswerSentence, Citation, Hit, Paper, Source
from ui.conversation import Conversation, Exchange
from ui.export import export
from ui.history import MOST_LISTED, Entry, History
from ui.talks import talks_html

PAPER = Paper(
    "p1",
    "Deep_Prune",
    r"It costs $O(n_1)$ and less than $3000, 10\\% of A\&B {at best.",
    title="Deep_Prune & co: 50% off",
    authors=("Jean de la Fontaine", "Barnes and Noble", "A, B, C, D", "张三"),
    venue="NeurIPS",
    year=2026,
    doi="10.1/a_b",
    sources=(Source("a_1.txt", 3),),
)
CITATION = Citation(1, "p1", "Deep_Prune", "less than $3000", 18, 33, PAPER.sources)
ANSWER = Answer(
    "What does *it* cost?",
    "What does Deep_Prune cost?",
    "answered",
    "It costs little. [1]",
    (AnswerSentence("It costs little.", "supported", (1,)), AnswerSentence("Ever.", "unsupported", (), "no source")),
    (CITATION,),
    (Hit(1, PAPER, 0.9),),
    0.8,
    signals={"top": 0.5},
    timings_ms={"total": 3.0},
    llm="test",
    index="abc",
)
TALK = Conversation((Exchange("What does *it* cost?", ANSWER, (Hit(1, PAPER, 0.9),), {"p1": PAPER}),))


@pytest.fixture
def clock() -> list[float]:
    return [1000.0]


@pytest.fixture
def history(tmp_path: Path, clock: list[float]) -> History:
    return History(tmp_path / "deep" / "talks.sqlite", library="seeds", clock=lambda: clock[0])


def test_what_was_kept_is_the_same_after_a_restart(tmp_path: Path, history: History) -> None:
    kept = history.keep("ann", TALK)
    kept = history.keep("ann", kept.and_then(Exchange("and?", error="no <model>")))
    history.close()
    again = History(tmp_path / "deep" / "talks.sqlite", library="seeds")
    assert again.open("ann", kept.key) == kept
    assert kept.exchanges == (*TALK.exchanges, Exchange("and?", error="no <model>"))
    assert (kept.title, kept.version) == ("What does *it* cost?", 2)


@given(question=st.text(st.characters(exclude_categories=["Cs"]), min_size=1), draft=st.text(max_size=30))
def test_any_text_is_kept_as_it_is(question: str, draft: str) -> None:
    draft = draft.encode("utf-8", "replace").decode()
    history = History()
    kept = history.keep("", Conversation((Exchange(question, draft=draft, stopped=True),)))
    assert history.open("", kept.key) == kept


def test_conversations_are_listed_newest_first_and_found_by_words_of_answers_questions_and_titles(
    history: History, clock: list[float]
) -> None:
    first = history.keep("", TALK)
    clock[0] += 5
    second = history.keep("", Conversation((Exchange("哪种方法 100%?"),)))
    assert [e.key for e in history.entries("")] == [second.key, first.key]
    clock[0] += 5
    history.keep("", first.and_then(Exchange("more")))
    assert [e.key for e in history.entries("")] == [first.key, second.key]
    assert history.rename("", second.key, "  My\n Talk ") == "My Talk"
    assert history.rename("", second.key, "  ") == ""
    assert history.rename("", first.key, "Über ÅNGSTRÖM") == "Über ÅNGSTRÖM"
    found = {
        s: [e.title for e in history.entries("", s)]
        for s in ("LITTLE cost", "哪种", "100%", "1_0", "my", "über", "zzz")
    }
    assert found == {
        "LITTLE cost": ["Über ÅNGSTRÖM"],
        "哪种": ["My Talk"],
        "100%": ["My Talk"],
        "1_0": [],
        "my": ["My Talk"],
        "über": ["Über ÅNGSTRÖM"],
        "zzz": [],
    }


def test_a_list_that_is_cut_off_says_how_to_find_the_rest() -> None:
    entries = [Entry(f"k{n}", f"number {n}", 1000.0 - n) for n in range(MOST_LISTED)]
    assert "Older ones are found by searching." in talks_html(entries, "", now=1000.0)
    assert "Older ones" not in talks_html(entries[1:], "", now=1000.0)


def test_each_owner_sees_and_changes_their_own_alone(history: History) -> None:
    kept = history.keep("ann", TALK)
    history.rename("bob", kept.key, "mine now")
    history.delete("bob", kept.key)
    assert history.entries("bob") == []
    assert history.open("bob", kept.key) is None
    assert history.open("ann", kept.key) == kept
    taken = history.keep("bob", kept.and_then(Exchange("mine?")))
    assert taken.key != kept.key
    assert history.open("ann", kept.key) == kept
    history.delete("ann", kept.key)
    assert history.entries("ann") == []
    assert history.open("ann", kept.key) is None


def test_a_conversation_that_two_sessions_go_on_with_is_kept_twice_and_nothing_is_lost(
    tmp_path: Path, history: History
) -> None:
    other = History(tmp_path / "deep" / "talks.sqlite", library="seeds")
    kept = history.keep("", TALK)
    seen = other.open("", kept.key)
    assert seen is not None
    mine = history.keep("", kept.and_then(Exchange("mine")))
    theirs = other.keep("", seen.and_then(Exchange("theirs")))
    assert mine.key != theirs.key
    assert history.open("", mine.key) == mine
    assert history.open("", theirs.key) == theirs
    assert {e.key for e in history.entries("")} == {mine.key, theirs.key}


def test_an_edited_question_takes_what_came_after_it_away(history: History) -> None:
    kept = history.keep("", TALK.and_then(Exchange("second")).and_then(Exchange("third")))
    edited = history.keep("", kept.before(1).and_then(Exchange("other second")))
    assert history.open("", kept.key) == edited
    assert [e.question for e in edited.exchanges] == ["What does *it* cost?", "other second"]


def test_what_a_reader_thinks_of_an_answer_is_kept_with_it_unless_the_conversation_went_on_elsewhere(
    history: History,
) -> None:
    kept = history.keep("", TALK)
    thought = kept.with_exchange(0, replace(kept.exchanges[0], thumb="down", why="too short"))
    history.amend("", thought, 0)
    assert history.open("", kept.key) == thought
    history.keep("", thought.before(0).and_then(Exchange("other")))
    history.amend("", kept, 0)
    reopened = history.open("", kept.key)
    assert reopened is not None
    assert [e.question for e in reopened.exchanges] == ["other"]


def test_a_file_that_cannot_be_used_is_one_clear_line(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_text("no database at all, but long enough to be looked at " * 20)
    with pytest.raises(
        HistoryError, match=r"damaged.sqlite cannot be opened \(file is not a database\); check the disk"
    ):
        History(damaged)
    newer = tmp_path / "newer.sqlite"
    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version=9")
    db.close()
    with pytest.raises(HistoryError, match=r"newer.sqlite was made by a newer Citewell \(format 9\); update Citewell"):
        History(newer)


def test_a_conversation_as_markdown_has_a_footnote_for_every_quote_and_obeys_nothing() -> None:
    file = export(replace(TALK.and_then(Exchange("and?", error="no <model>")), title="Cost & co"), "markdown")
    assert (file.name, file.text) == (
        "Cost-co.md",
        "# Cost & co\n\n"
        "## What does \\*it\\* cost?\n\n"
        "It costs little.[^1-1] ~~Ever.~~ *(no source)*\n\n"
        "[^1-1]: Deep\\_Prune: “less than \\$3000” (a\\_1.txt, row 3)\n\n"
        "## and?\n\n"
        "*no \\<model\\>*\n",
    )


def test_cited_papers_as_bibtex_are_read_back_whole() -> None:
    text = export(TALK, "bibtex").text
    entry = parse_string(text, "bibtex").entries["fontaine2026deep"]
    assert dict(entry.fields) == {
        "title": "Deep\\_Prune \\& co: 50\\% off",
        "journal": "NeurIPS",
        "year": "2026",
        "doi": "10.1/a_b",
        "abstract": "It costs $O(n_1)$ and less than \\$3000, 10\\% of A\\&B at best.",
        "note": "a\\_1.txt, row 3",
    }
    names = ["de la Fontaine, Jean", "{Barnes and Noble}", "{A, B, C, D}", "张三"]
    assert [str(person) for person in entry.persons["author"]] == names


def test_cited_papers_as_ris_and_csl_json_are_read_back_whole() -> None:
    [record] = rispy.loads(export(TALK, "ris").text)
    assert record["authors"] == ["de la Fontaine, Jean", "Barnes and Noble", "A, B, C, D", "张三"]
    assert (record["title"], record["year"], record["doi"]) == ("Deep_Prune & co: 50% off", "2026", "10.1/a_b")
    [item] = json.loads(export(TALK, "csl").text)
    assert item["author"] == [
        {"family": "de la Fontaine", "given": "Jean"},
        {"literal": "Barnes and Noble"},
        {"literal": "A, B, C, D"},
        {"literal": "张三"},
    ]
    assert (item["id"], item["issued"]) == ("fontaine2026deep", {"date-parts": [[2026]]})


def test_a_record_holds_the_answers_and_is_a_batch_to_ask_again() -> None:
    narrow = Filter.parse(year="2019..", venue=["ICML"])
    talk = replace(TALK.and_then(Exchange("and?", stopped=True, where=narrow, language="Chinese")), key="k1")
    lines = [json.loads(line) for line in export(talk, "record").text.splitlines()]
    assert [(x["id"], x["conversation"], x["question"]) for x in lines] == [
        (1, "k1", "What does *it* cost?"),
        (2, "k1", "and?"),
    ]
    assert lines[0]["result"]["citations"][0]["quote"] == "less than $3000"
    assert (lines[0]["result"]["llm"], lines[0]["result"]["index"]) == ("test", "abc")
    assert [p["paper_id"] for p in lines[0]["papers"]] == ["p1"]
    assert lines[1]["error"] == "stopped"
    assert [where_of(x["where"]) for x in lines] == [EVERYTHING, narrow]
    assert [x["language"] for x in lines] == ["", "Chinese"]
