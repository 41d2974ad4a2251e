from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.evidence import FEATURES, EvidencePicker, parts_of, probabilities
from rag.library import Library
from rag.records import Evidence, Hit
from rag.retrieve import CitewellRetriever

GEOSPRINT = "By how much does GeoSPRINT improve FID on CIFAR-10 over DDIM?"
TWO_PAPERS = (
    "How do the memory reduction of HoZO compared to first-order fine-tuning and the peak memory of TMPL "
    "on CIFAR100 with 2500 labels compare?"
)
QUESTIONS = [
    GEOSPRINT,
    TWO_PAPERS,
    "How can a retriever build its graph without spending language-model tokens?",
    "pruning",
    "zzzz",
    "?!",
    "How many stations does TransitLM cover, and what are the evaluation tasks?",
]


@pytest.fixture(scope="module")
def retriever(seeds_library: Library) -> CitewellRetriever:
    return CitewellRetriever(seeds_library)


@pytest.fixture(scope="module")
def picker(seeds_library: Library) -> EvidencePicker:
    return EvidencePicker(seeds_library.embedder, seeds_library.snapshot().words.idf)


def check(evidence: list[Evidence], hits: list[Hit]) -> None:
    """What holds for all evidence: numbered from 1, paper by paper, in the order of the text, exact."""
    abstracts = {h.paper.paper_id: h.paper.abstract for h in hits}
    assert [e.number for e in evidence] == list(range(1, len(evidence) + 1))
    assert all(abstracts[e.paper_id][e.start : e.end] == e.text for e in evidence)
    assert all(0 <= e.score <= 1 for e in evidence)
    papers = list(dict.fromkeys(e.paper_id for e in evidence))
    assert [e.paper_id for e in evidence] == [i for i in papers for e in evidence if e.paper_id == i]
    for paper_id in papers:
        own = [e for e in evidence if e.paper_id == paper_id]
        assert [e.start for e in own] == sorted({e.start for e in own})
    best = [max(e.score for e in evidence if e.paper_id == i) for i in papers]
    assert best == sorted(best, reverse=True)


@settings(max_examples=40)
@given(st.sampled_from(QUESTIONS), st.integers(0, 700), st.integers(1, 6))
def test_evidence_stays_in_its_budget_exact_and_in_order(
    retriever: CitewellRetriever, picker: EvidencePicker, question: str, budget: int, papers: int
) -> None:
    hits = retriever.search(question, k=papers)
    evidence = picker.pick(question, hits, budget=budget)
    check(evidence, hits)
    # two papers get more room than one, and so does a question in other words than the library's
    more = picker.second_paper(question, hits) is not None or max(h.lexical for h in hits) < 0.15
    room = int(1.8 * budget) if more else budget
    candidates = picker.candidates(question, hits)
    cost = {(p.paper_id, p.start): tokens for p, tokens in zip(candidates.passages, candidates.tokens, strict=True)}
    assert sum(cost[e.paper_id, e.start] for e in evidence) <= room
    assert picker.pick(question, hits, budget=budget) == evidence


def test_the_tokens_counted_are_at_least_the_embedders(
    retriever: CitewellRetriever, picker: EvidencePicker, seeds_library: Library
) -> None:
    evidence = picker.pick(GEOSPRINT, retriever.search(GEOSPRINT, k=6), budget=330)
    counted = sum(seeds_library.embedder.count_tokens([e.text for e in evidence]))
    assert 150 < counted <= 330


def test_the_sentence_with_the_answer_is_among_the_evidence(
    retriever: CitewellRetriever, picker: EvidencePicker
) -> None:
    evidence = picker.pick(GEOSPRINT, retriever.search(GEOSPRINT, k=6), budget=330)
    assert any("by 0.7-1.1 over DDIM" in e.text for e in evidence)
    assert evidence[0].paper_id == retriever.search(GEOSPRINT, k=1)[0].paper.paper_id


def test_a_question_about_two_papers_gets_evidence_of_both(
    retriever: CitewellRetriever, picker: EvidencePicker
) -> None:
    hits = retriever.search(TWO_PAPERS, k=6)
    labels = {h.paper.paper_id: h.paper.label for h in hits}
    second = picker.second_paper(TWO_PAPERS, hits)
    evidence = picker.pick(TWO_PAPERS, hits, budget=330)
    assert second is not None
    assert {"HoZO", "Trajectory-Matching Meta Pseudo-Labeling"} <= {labels[e.paper_id] for e in evidence}
    assert {hits[0].paper.paper_id, second.paper.paper_id} <= {e.paper_id for e in evidence}


def test_a_question_about_one_paper_needs_no_second(retriever: CitewellRetriever, picker: EvidencePicker) -> None:
    assert picker.second_paper(GEOSPRINT, retriever.search(GEOSPRINT, k=6)) is None
    assert picker.second_paper(GEOSPRINT, retriever.search(GEOSPRINT, k=1)) is None
    assert picker.second_paper(GEOSPRINT, []) is None


def test_without_papers_or_room_there_is_no_evidence(retriever: CitewellRetriever, picker: EvidencePicker) -> None:
    assert picker.pick(GEOSPRINT, [], budget=330) == []
    assert picker.pick(GEOSPRINT, retriever.search(GEOSPRINT, k=6), budget=5) == []
    assert picker.candidates(GEOSPRINT, []).features.shape == (0, len(FEATURES))


def test_every_sentence_of_every_paper_found_is_a_candidate(
    retriever: CitewellRetriever, picker: EvidencePicker
) -> None:
    hits = retriever.search(GEOSPRINT, k=3)
    candidates = picker.candidates(GEOSPRINT, hits)
    assert (
        candidates.features.shape
        == (len(candidates.passages), len(FEATURES))
        == (len(candidates.tokens), len(FEATURES))
    )
    assert list(dict.fromkeys(p.paper_id for p in candidates.passages)) == [h.paper.paper_id for h in hits]
    scores = probabilities(candidates.features)
    assert scores.shape == (len(candidates.passages),)
    assert ((scores > 0) & (scores < 1)).all()


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What is GeoSPRINT?", ["What is GeoSPRINT?"]),
        (
            "How does ORCA calibrate a model, and by how much does the error fall?",
            ["How does ORCA calibrate a model", "by how much does the error fall"],
        ),
        ("What are sets and trees?", ["What are sets and trees?"]),
        ("", [""]),
    ],
)
def test_a_question_is_taken_apart_where_it_asks_two_things(question: str, parts: list[str]) -> None:
    assert parts_of(question) == parts
