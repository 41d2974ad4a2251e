from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from rag.library import Library
from rag.records import Paper
from rag.retrieve import CitewellRetriever
from rag.verify import Judgement, Passage, Verifier, passages_of

TRUE = [
    ("GeoSPRINT", "On LSUN Church, GeoSPRINT reduces FID from 1.48 to 1.26 at 52 steps."),
    ("GeoSPRINT", "GeoSPRINT improves FID on CIFAR-10 by 0.7-1.1 over DDIM."),
    ("TransitLM", "TransitLM is a dataset of over 13 million transit route planning records from four Chinese cities."),
    ("TransitLM", "TransitLM covers 120,845 stations and 13,666 lines."),
    ("Fixed-mask MC", "Fixed-mask MC reduces mean energy drift by 72% relative to Standard MC."),
    ("Fixed-mask MC", "Fixed-mask MC increases the epistemic share of predictive variance by 16.9 percentage points."),
    ("HoZO", "HoZO achieves a 34x memory reduction compared to first-order fine-tuning."),
    ("Transcoda", "Transcoda is a compact 59M-parameter model trained in 6 hours on a single GPU."),
    ("Transcoda", "Transcoda reduces the error rate on historical Polish scans to 63.97% OMR-NED."),
    ("UFCOD", "UFCOD achieves 93.7% average AUROC across 12 cross-domain benchmarks."),
    ("UFCOD", "UFCOD needs no retraining and no fine-tuning."),
    ("DivMoE", "DivMoE outperforms all upcycling baselines with 47.0% versus 44.4% average accuracy."),
    ("Trajectory-Matching Meta Pseudo-Labeling", "On CIFAR100, TMPL reduces peak memory by 39.7% relative to MPL."),
    ("GeoWind2Plan", "GeoWind2Plan performs wind inference in about 3 seconds, compared with roughly 8 hours for CFD."),
    ("GeoWind2Plan", "Trajectories planned with GeoWind2Plan reduce energy by 6.9% in tailwind missions."),
    ("G³RAG", "G³RAG outperforms Graph RAG baselines on multi-hop QA while eliminating graph construction costs."),
    ("G³RAG", "G³RAG discards the expensive heuristic extraction by LLMs."),
]
"""Sentences of the seeds, shortened as a language model does."""

NUMBERS = [
    ("GeoSPRINT", "On LSUN Church, GeoSPRINT reduces FID from 1.48 to 1.16 at 52 steps."),
    ("TransitLM", "TransitLM covers 120,845 stations and 18,666 lines."),
    ("Fixed-mask MC", "Fixed-mask MC reduces mean energy drift by 27% relative to Standard MC."),
    ("HoZO", "HoZO achieves a 43x memory reduction compared to first-order fine-tuning."),
    ("Transcoda", "Transcoda is a compact 95M-parameter model trained in 6 hours on a single GPU."),
    ("UFCOD", "UFCOD achieves 97.3% average AUROC across 12 cross-domain benchmarks."),
    ("DivMoE", "DivMoE outperforms all upcycling baselines with 49.0% versus 44.4% average accuracy."),
    ("Trajectory-Matching Meta Pseudo-Labeling", "On CIFAR100, TMPL reduces peak memory by 93.7% relative to MPL."),
    ("GeoWind2Plan", "GeoWind2Plan performs wind inference in about 30 seconds, compared with 8 hours for CFD."),
    ("G³RAG", "G³RAG outperforms 12 Graph RAG baselines on multi-hop QA benchmarks."),
]
NAMES = [
    ("GeoSPRINT", "On LSUN Church, GeoDASH reduces FID from 1.48 to 1.26 at 52 steps."),
    ("TransitLM", "MetroLM is a large-scale dataset of over 13 million transit route planning records."),
    ("Fixed-mask MC", "DropConnect MC reduces mean energy drift by 72% relative to Standard MC."),
    ("HoZO", "MeZO achieves a 34x memory reduction compared to first-order fine-tuning."),
    ("Transcoda", "ScoreFormer is a compact 59M-parameter model trained in 6 hours on a single GPU."),
    ("UFCOD", "DiffGuard achieves 93.7% average AUROC across 12 cross-domain benchmarks."),
    ("DivMoE", "DeepMoE outperforms all upcycling baselines with 47.0% versus 44.4% average accuracy."),
    ("Trajectory-Matching Meta Pseudo-Labeling", "On ImageNet, TMPL reduces peak memory by 39.7% relative to MPL."),
    ("GeoWind2Plan", "AeroPlan performs corridor-localized wind inference in about 3 seconds."),
    ("G³RAG", "LightRAG outperforms state-of-the-art Graph RAG baselines on complex multi-hop QA benchmarks."),
]
NEGATIONS = [
    ("GeoSPRINT", "GeoSPRINT does not improve FID on CIFAR-10 over DDIM."),
    ("TransitLM", "TransitLM is not a large-scale dataset of transit route planning records."),
    ("Fixed-mask MC", "Fixed-mask MC does not reduce mean energy drift relative to Standard MC."),
    ("HoZO", "HoZO does not achieve a memory reduction compared to first-order fine-tuning."),
    ("Transcoda", "The 59M-parameter model does not outperform billion-parameter baselines."),
    ("UFCOD", "UFCOD requires retraining, fine-tuning and task-specific adaptation."),
    ("DivMoE", "DivMoE does not outperform the upcycling baselines."),
    ("Trajectory-Matching Meta Pseudo-Labeling", "TMPL does not reduce peak memory relative to MPL."),
    ("GeoWind2Plan", "Trajectories planned with GeoWind2Plan do not reduce energy."),
    ("G³RAG", "G³RAG does not outperform state-of-the-art Graph RAG baselines."),
]
DIRECTIONS = [
    ("GeoSPRINT", "On LSUN Church, GeoSPRINT increases FID from 1.48 to 1.26 at 52 steps."),
    ("Fixed-mask MC", "Fixed-mask MC increases mean energy drift by 72% relative to Standard MC."),
    ("Fixed-mask MC", "Fixed-mask MC decreases the epistemic share of predictive variance by 16.9 percentage points."),
    ("HoZO", "HoZO achieves a 34x memory increase compared to first-order fine-tuning."),
    ("Transcoda", "Transcoda increases the error rate on historical Polish scans to 63.97% OMR-NED."),
    ("UFCOD", "UFCOD shows a degradation in sample efficiency of about 500x."),
    ("DivMoE", "DivMoE underperforms all upcycling baselines on average accuracy."),
    ("Trajectory-Matching Meta Pseudo-Labeling", "On CIFAR100, TMPL increases peak memory by 39.7% relative to MPL."),
    ("GeoWind2Plan", "Trajectories planned with GeoWind2Plan increase energy by 6.9% in tailwind missions."),
    ("G³RAG", "G³RAG underperforms state-of-the-art Graph RAG baselines on multi-hop QA benchmarks."),
]
FALSE = {"number": NUMBERS, "name": NAMES, "negation": NEGATIONS, "direction": DIRECTIONS}


@pytest.fixture(scope="module")
def papers(seeds_library: Library) -> dict[str, Paper]:
    return {p.label: p for p in seeds_library.papers()}


@pytest.fixture(scope="module")
def verifier(seeds_library: Library) -> Verifier:
    return Verifier(seeds_library.embedder, seeds_library.snapshot().words.idf)


def judge(verifier: Verifier, said: str, papers: Sequence[Paper], *, across: bool = False) -> Judgement:
    """The verdict by whole papers."""
    passages = [passage for paper in papers for passage in passages_of(paper)]
    return verifier.judge(said, passages, labels={p.paper_id: p.label for p in papers}, across=across)


def swaps() -> list[object]:
    return [pytest.param(kind, label, said) for kind, rows in FALSE.items() for label, said in rows]


def exact(judgement: Judgement, papers: dict[str, Paper]) -> bool:
    abstracts = {p.paper_id: p.abstract for p in papers.values()}
    return all(abstracts[p.paper_id][p.start : p.end] == p.text for p in judgement.support)


@pytest.mark.parametrize(("label", "said"), TRUE)
def test_a_shortened_sentence_of_the_source_is_borne_out(
    verifier: Verifier, papers: dict[str, Paper], label: str, said: str
) -> None:
    judgement = judge(verifier, said, [papers[label]])
    assert (judgement.verdict, judgement.reason) == ("supported", "")
    assert 1 <= len(judgement.support) <= 3
    assert exact(judgement, papers)


@pytest.mark.parametrize(("kind", "label", "said"), swaps())
def test_a_swapped_figure_name_negation_or_direction_is_caught(
    verifier: Verifier, papers: dict[str, Paper], kind: str, label: str, said: str
) -> None:
    judgement = judge(verifier, said, [papers[label]])
    words = {"number": "figure", "name": "name", "negation": "negation", "direction": "opposite"}[kind]
    assert judgement.verdict == ("partial" if kind == "name" else "unsupported") or (kind, judgement.verdict) == (
        "name",
        "unsupported",
    )
    assert words in judgement.reason


def test_among_all_papers_found_most_swaps_are_caught_and_few_truths_doubted(
    verifier: Verifier, seeds_library: Library
) -> None:
    retriever = CitewellRetriever(seeds_library)
    counts: Counter[tuple[str, bool]] = Counter()
    for kind, rows in {"true": TRUE, **FALSE}.items():
        for _, said in rows:
            found = [hit.paper for hit in retriever.search(said, k=6)]
            counts[kind, judge(verifier, said, found).verdict == "supported"] += 1
    caught = {kind: counts[kind, False] for kind in FALSE}
    print(f"caught of ten each: {caught}; false alarms: {counts['true', False]} of {len(TRUE)}")
    assert all(n >= 7 for n in caught.values()), caught
    assert sum(caught.values()) >= 34, caught
    assert counts["true", False] <= 2


def test_every_paper_bears_its_own_longest_sentence_out(verifier: Verifier, papers: dict[str, Paper]) -> None:
    for paper in papers.values():
        passages = passages_of(paper)
        longest = max(passages, key=lambda p: len(p.text))
        judgement = judge(verifier, longest.text, [paper])
        assert (judgement.verdict, judgement.support, judgement.reason) == ("supported", (longest,), "")
        assert judgement.coverage == pytest.approx(1.0)


def test_the_passages_are_the_whole_abstract_but_for_white_space(papers: dict[str, Paper]) -> None:
    for paper in papers.values():
        passages = passages_of(paper)
        assert all(paper.abstract[p.start : p.end] == p.text for p in passages)
        assert "".join("".join(p.text.split()) for p in passages) == "".join(paper.abstract.split())


def test_of_two_passages_alike_the_one_the_writer_names_wins(verifier: Verifier) -> None:
    text = "ORCA fits one temperature per cluster of inputs."
    labels = {"a": "ORCA", "b": "ORCA"}
    first, second = Passage("a", 0, len(text), text), Passage("b", 0, len(text), text)
    assert verifier.judge(text, [first, second], labels=labels).support == (first,)
    assert verifier.judge(text, [first, second], labels=labels, preferred=[second]).support == (second,)


def test_a_wrong_hint_does_not_outweigh_the_passage_that_says_it(verifier: Verifier, papers: dict[str, Paper]) -> None:
    passages = passages_of(papers["GeoSPRINT"])
    said = "On LSUN Church, GeoSPRINT reduces FID from 1.48 to 1.26 at 52 steps."
    labels = {papers["GeoSPRINT"].paper_id: "GeoSPRINT"}
    right = verifier.judge(said, passages, labels=labels).support
    assert [s.text[:14] for s in right] == ["On LSUN Church"]
    for wrong in passages:
        assert verifier.judge(said, passages, labels=labels, preferred=[wrong]).support == right


def test_a_sentence_that_draws_on_two_papers_gets_a_passage_of_each(
    verifier: Verifier, papers: dict[str, Paper]
) -> None:
    said = "HoZO achieves a 34x memory reduction, and TMPL reduces peak memory by 39.7% relative to MPL."
    both = [papers["HoZO"], papers["Trajectory-Matching Meta Pseudo-Labeling"]]
    judgement = judge(verifier, said, both, across=True)
    assert judgement.verdict != "unsupported"
    assert {p.paper_id for p in judgement.support} == {p.paper_id for p in both}
    assert len({p.paper_id for p in judge(verifier, said, both).support}) == 1


def test_what_one_paper_does_is_not_said_of_another(verifier: Verifier, papers: dict[str, Paper]) -> None:
    said = "TransitLM achieves a 34x memory reduction compared to first-order fine-tuning."
    judgement = judge(verifier, said, [papers["HoZO"], papers["TransitLM"]])
    assert (judgement.verdict, judgement.reason) == ("unsupported", "the source is not about transitlm")


@pytest.mark.parametrize(
    "said",
    ["France won the football World Cup in 1998.", "Water is wet when the sky is red.", "lorem ipsum dolor", "?", "42"],
)
def test_what_no_paper_speaks_of_is_not_borne_out(verifier: Verifier, papers: dict[str, Paper], said: str) -> None:
    judgement = judge(verifier, said, [papers["GeoSPRINT"]])
    assert judgement.verdict == "unsupported"
    assert judgement.score < 0.5
    assert judgement.reason


def test_without_passages_nothing_is_borne_out(verifier: Verifier) -> None:
    expected = Judgement("unsupported", 0.0, (), "the library holds nothing to bear it out")
    assert verifier.judge("Anything at all.", [], labels={}) == expected
