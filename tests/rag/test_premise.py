from __future__ import annotations

import pytest

from rag.library import Library
from rag.premise import premise_of, wrong_premise
from rag.records import Paper
from rag.verify import Passage, passages_of


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Why does GeoSPRINT need retraining?", "GeoSPRINT need retraining"),
        ("How did KITE avoid drift?", "KITE avoid drift"),
        ("How much retraining does GeoSPRINT need?", "much retraining  GeoSPRINT need"),
        ("What is GeoSPRINT?", ""),
        ("How to prune?", ""),
        ("Why do existing methods ignore drift?", ""),
        ("", ""),
        ("为什么？", ""),
    ],
)
def test_what_a_question_takes_for_granted(question: str, said: str) -> None:
    assert premise_of(question) == said


@pytest.fixture(scope="module")
def papers(seeds_library: Library) -> dict[str, Paper]:
    return {p.label: p for p in seeds_library.papers()}


def against(seeds_library: Library, paper: Paper, question: str) -> str:
    found = wrong_premise(question, passages_of(paper), paper.label, seeds_library.snapshot().words.idf)
    if found is None:
        return ""
    assert paper.abstract[found.start : found.end] == found.text
    return found.text


@pytest.mark.parametrize(
    ("label", "question", "words"),
    [
        ("GeoSPRINT", "How much retraining does GeoSPRINT need for Stable Diffusion?", "without retraining"),
        ("GeoSPRINT", "Why is GeoSPRINT unable to surpass DPM-Solver++ on CIFAR-10?", "surpasses DPM-Solver++"),
        ("HoZO", "How does HoZO use projections to keep scales positive?", "without bias-inducing projections"),
        (
            "FiedlerPrune",
            "Why does FiedlerPrune ignore cross-layer dependencies?",
            "incorporating cross-layer dependencies",
        ),
    ],
)
def test_a_premise_that_the_paper_speaks_against_is_met_with_its_own_words(
    seeds_library: Library, papers: dict[str, Paper], label: str, question: str, words: str
) -> None:
    assert words in against(seeds_library, papers[label], question)


@pytest.mark.parametrize(
    ("label", "question"),
    [
        ("GeoSPRINT", "How does GeoSPRINT detect redundant steps?"),
        ("GeoSPRINT", "How does GeoSPRINT improve sampling without retraining?"),
        ("GeoSPRINT", "How much does GeoSPRINT improve FID on CIFAR-10 over DDIM?"),
        ("HoZO", "Why does HoZO need no projections?"),
        ("HoZO", "How does HoZO keep quantization scales positive?"),
        ("FiedlerPrune", "Why do existing layer-wise pruning methods ignore cross-layer dependencies?"),
        ("UFCOD", "How does UFCOD detect samples without retraining?"),
        ("TransitLM", "What does TransitLM cover?"),
    ],
)
def test_a_premise_that_the_paper_bears_out_is_no_reason_to_refuse(
    seeds_library: Library, papers: dict[str, Paper], label: str, question: str
) -> None:
    assert against(seeds_library, papers[label], question) == ""


def test_a_paper_without_a_word_on_it_speaks_against_nothing() -> None:
    passage = Passage("p", 0, 17, "Whales sing songs")
    assert wrong_premise("Why does KITE need retraining?", [passage], "KITE", lambda term: 1.0) is None
    assert wrong_premise("Why does KITE need it?", [], "KITE", lambda term: 1.0) is None
