from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eval.facts import missing_facts
from eval.spans import Span, facts_of, figure_facts, name_fact, spans_of, telling_words, word_fact


def rare(term: str) -> float:
    """Every word is of few papers, but "common"."""
    return 0.1 if term == "common" else 5.0


def sorts(sentence: str, *, known: tuple[str, ...] = ()) -> dict[str, str]:
    return {s.sort: s.words for s in spans_of(sentence, idf=rare, known=known)}


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("LeafCut removes 41% of the leaves.", "41%"),
        ("It cuts the error from 4.1% to 1.3% at no cost.", "4.1% to 1.3%"),
        ("We report a 1.35-1.40$\\times$ gain in speed.", "1.35-1.40×"),
        ("We compare seven strong baselines on one task.", "seven"),
        ("The set holds 1,200 trees and more.", "1,200"),
    ],
)
def test_a_figure_is_asked_for_with_its_unit(sentence: str, words: str) -> None:
    assert sorts(sentence)["figure"] == words


@pytest.mark.parametrize(
    "sentence",
    [
        "It won the 2024 prize.",
        "Saxe et al. (2013, 2019) found it.",
        "We use 2 tricks.",
        "GPT4 reads.",
        "Both of the two parts.",
        "On the 3D set.",
    ],
)
def test_years_small_counts_and_digits_of_names_are_not_asked_for(sentence: str) -> None:
    assert "figure" not in sorts(sentence)


def test_names_are_asked_for_but_neither_known_ones_nor_short_forms() -> None:
    sentence = "We test LeafCut (LC) on Covertype, HIGGS, and SUSY."
    assert sorts(sentence, known=("leafcut",))["name"] == "Covertype, HIGGS, and SUSY"
    assert "name" not in sorts("Trees (TR) are cut by LeafCut.", known=("leafcut",))


@pytest.mark.parametrize(
    "sentence",
    [
        "The code is at https://hub.org/data/GD-ML/TransitLM now.",
        "We extend what Saxe et al. began.",
        "We extend the bound of Saxe (2013) to trees.",
        "We read GPT-2 Small/Medium/Large as well.",
    ],
)
def test_addresses_authors_and_parts_of_lists_are_no_names_to_ask_for(sentence: str) -> None:
    assert "name" not in sorts(sentence)


def test_a_way_ends_where_a_clause_about_its_last_word_begins() -> None:
    sentence = "It saves memory by removing leaves that no path reaches in time."
    assert (
        sorts("It saves memory by removing unreached leaves which are many.")["way"] == "by removing unreached leaves"
    )
    assert "way" not in sorts(sentence)  # three words are too few to ask for


def test_a_way_is_known_by_either_of_its_rarest_words() -> None:
    span = {s.sort: s for s in spans_of("It saves memory by removing unreached leaves.", idf=rare)}["way"]
    assert span == Span("by removing unreached leaves", "way", ((r"\bleav\w*", r"\bremov\w*"),))
    assert sorts("It saves memory by using common common common things.") == {}


def test_figures_are_known_in_digits_and_words() -> None:
    assert missing_facts(figure_facts("eight"), "on 8 data sets") == []
    assert missing_facts(figure_facts("8"), "on eight data sets") == []
    assert missing_facts(figure_facts("1,200"), "1200 trees") == []
    for other in ("on 18 data sets", "on 8.5 data sets", "on 80 data sets"):
        assert missing_facts(figure_facts("8"), other) != []


def test_the_facts_of_a_sentence_are_its_figures_then_its_names() -> None:
    assert facts_of("On Covertype, LeafCut removes 41% and 3 points.", known=("leafcut",)) == (
        (r"(?<![\d.])41(?!\d|\.\d)",),
        (r"(?<![\d.])3(?!\d|\.\d)", r"\bthree\b"),
        (r"(?<!\w)Covertypes?(?!\w)",),
    )


def test_the_rarest_words_come_first_each_stem_once() -> None:
    weights = {"leav": 5.0, "tree": 4.0}
    assert telling_words("the trees, a tree and its leaves", lambda t: weights.get(t, 5.0)) == ["leaves", "trees"]


@example("1----1")
@given(st.text(alphabet="abCD-123", min_size=1, max_size=12).filter(lambda t: re.search(r"[a-zA-Z0-9]", t)))
def test_a_name_is_found_however_it_is_joined(name: str) -> None:
    for said in (name, name.replace("-", " ")):
        assert missing_facts([[name_fact(name)]], f"on {said} here") == []


@given(st.from_regex(r"[a-z]{4,12}", fullmatch=True))
def test_a_word_is_found_as_it_stands(word: str) -> None:
    assert missing_facts([[word_fact(word)]], f"The {word}.") == []


@given(st.text(max_size=200))
def test_whatever_the_sentence_its_own_words_hold_the_facts(text: str) -> None:
    for span in spans_of(text, idf=rare):
        assert missing_facts(span.facts, span.words) == []
