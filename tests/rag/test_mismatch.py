from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.figures import names, numbers
from rag.library import Library
from rag.mismatch import Mismatch, mismatches
from rag.verify import passages_of

LSUN = "On LSUN Church, it reduces FID from 1.48 to 1.26 at 52 steps, and GeoSPRINT needs no training."


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("1,200 papers and 1200 authors", {"1200"}),
        ("120,845 stations and 13,666 lines", {"120845", "13666"}),
        ("over 13 million records", {"1.3e+07"}),
        ("a 27K-parameter model", {"27000"}),
        ("1200万条记录", {"1.2e+07"}),
        ("CIFAR-10", {"10"}),
        ("by 0.7-1.1 over 49–89 NFEs", {"0.7", "1.1", "49", "89"}),
        (r"a $34\times$ reduction and 37\% less", {"34", "37"}),
        ("from 4.10% to 1.3% [3].", {"4.1", "1.3"}),
        ("as said [1], [2, 3] and [4-6]", set()),
        ("no figures here", set()),
    ],
)
def test_figures_are_read_in_one_form(text: str, figures: set[str]) -> None:
    assert numbers(text) == figures


@given(st.integers(0, 999_999))
def test_thousands_marks_change_no_figure(value: int) -> None:
    assert numbers(f"{value:,} stations") == numbers(f"{value} stations") == {str(value)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("GeoSPRINT is training-free.", {"geosprint"}),
        ("We compare it with DDIM and DPM-Solver++.", {"ddim", "dpm-solver"}),
        ("The gain on LSUN Church is small.", {"lsun", "church"}),
        ("LLMs and GNNs agree.", {"llm", "gnn"}),
        ("GeoSPRINT's schedule", {"geosprint"}),
        ("We propose a method. It is fast.", set()),
    ],
)
def test_names_are_found_in_small_letters(text: str, found: set[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("GeoSPRINT reduces FID from 1.48 to 1.26 on LSUN Church.", []),
        ("GeoSPRINT reduces FID from 1.48 to 1.62 on LSUN Church.", [Mismatch("number", "1.62")]),
        ("GeoSPRINT reduces FID on ImageNet.", [Mismatch("name", "imagenet")]),
        ("GeoSPRINT increases FID on LSUN Church.", [Mismatch("direction", "increases")]),
        ("GeoSPRINT lowers FID on LSUN Church at 52 steps [1].", []),
    ],
)
def test_what_disagrees_with_the_source_is_named(sentence: str, expected: list[Mismatch]) -> None:
    assert mismatches(sentence, LSUN) == expected


def test_a_negation_that_the_source_lacks_or_has_is_found() -> None:
    source = "Pruning improves the accuracy of large models on every benchmark."
    assert mismatches("Pruning does not improve the accuracy of large models.", source) == [
        Mismatch("negation", "not improve the accuracy")
    ]
    negated = "Pruning does not improve the accuracy of large models."
    assert [m.kind for m in mismatches("Pruning improves the accuracy of large models.", negated)] == ["negation"]


def test_a_denial_of_what_a_source_without_any_denial_says_in_other_words_is_found() -> None:
    source = "The kernels are 1.35-1.40x faster than a stable implementation and yield zero-shot transfer."
    assert mismatches("The kernels are not 1.35-1.40x faster than a stable one.", source) == [
        Mismatch("negation", "not 1.35-1.40x faster than")
    ]
    assert mismatches("They cannot be applied zero-shot.", source)[0].kind == "negation"
    assert mismatches("Retraining is not needed.", "The method is training-free.") == []


def test_what_a_source_does_without_is_not_needed() -> None:
    source = "GeoSPRINT is a training-free framework that prunes sampling steps."
    needed = mismatches("GeoSPRINT needs to be retrained before it prunes sampling steps.", source)
    assert needed == [Mismatch("negation", "needs to be retrained before")]
    assert mismatches("GeoSPRINT needs no training.", source) == []
    assert mismatches("It is not retrained.", "It works without any retraining.") == []


def test_a_short_name_is_not_found_where_one_word_ends_and_the_next_begins() -> None:
    assert mismatches("MC uses patches.", "From clips it cuts patches.") == [Mismatch("name", "mc")]
    assert mismatches("3DGS and KANs use patches.", "It compares 3DGS with KAN on patches.") == []


def test_a_name_may_stand_in_the_context_but_a_figure_may_not() -> None:
    said = "ORCA lowers FID to 1.26 over DDIM in 7 runs."
    context = "ORCA was compared with DDIM in 7 runs."
    assert mismatches(said, LSUN, context=context) == [Mismatch("number", "7")]
    assert mismatches(said, LSUN) == [Mismatch("number", "7"), Mismatch("name", "ddim"), Mismatch("name", "orca")]


@pytest.mark.parametrize(
    ("said", "source"),
    [
        ("About 121,000 stations are covered.", "It covers 120,845 stations."),
        ("It covers 4 Chinese cities.", "It covers four Chinese cities."),
        ("It has 59 million parameters.", "A 59M-parameter model."),
        ("It is 34x smaller.", r"It is $34\times$ smaller."),
        ("The share is 37%.", r"The share is 37\%."),
    ],
)
def test_one_figure_may_be_written_in_another_way(said: str, source: str) -> None:
    assert mismatches(said, source) == []


def test_polarity_is_left_out_between_languages() -> None:
    assert mismatches("它没有把 FID 提高到 1.26。", "It raises FID to 1.26.", loose=True) == []
    assert mismatches("它把 FID 提高到 1.62。", "It raises FID to 1.26.", loose=True) == [Mismatch("number", "1.62")]


def test_no_sentence_of_the_seeds_disagrees_with_itself(seeds_library: Library) -> None:
    sentences = [passage.text for paper in seeds_library.papers() for passage in passages_of(paper)]
    assert {s: found for s in sentences if (found := mismatches(s, s))} == {}


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_compared_and_a_text_agrees_with_itself_in_polarity(one: str, other: str) -> None:
    mismatches(one, other, context=other)
    assert [m for m in mismatches(one, one) if m.kind in ("number", "negation", "direction")] == []


def test_a_figure_is_seen_between_chinese_signs() -> None:
    assert numbers("推理约3秒，CFD需要8小时，误差为4.5%。") == {"3", "8", "4.5"}
