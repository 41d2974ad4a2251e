from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.schema import MetadataMode, QueryBundle

from rag.errors import QuestionError
from rag.late import telling_weights
from rag.library import Library
from rag.records import Hit
from rag.retrieve import (
    LATE_WEIGHT,
    LEXICAL_WEIGHT,
    LEXICAL_WEIGHT_ALONE,
    CitewellRetriever,
    check_question,
    fuse,
    node_of,
)
from rag.sync import sync
from rag.terms import terms

QUESTIONS = [
    "How can a retriever build its graph without spending language-model tokens?",
    "pruning",
    "What keeps clocks of satellites together?",
    "哪些论文研究扩散模型？",
    "zzzz",
    "?!",
    "the of and",
    "🙂",
    "half a pair \ud83d of surrogates",
    "x" * 4000,
]


@pytest.fixture(scope="module")
def retriever(seeds_library: Library) -> CitewellRetriever:
    return CitewellRetriever(seeds_library)


@pytest.fixture
def twins(tmp_path: Path, fake, write) -> Iterator[CitewellRetriever]:  # type: ignore[no-untyped-def]
    """Of three papers two have all words in common, though not their order."""
    file = write(
        "a.txt",
        "Large graphs that grow are pruned quickly by cutting edges at random here.",
        "Cutting edges at random here, large graphs are pruned quickly that grow by.",
        "We present SoundBaz, a codec for speech at very low rates. Listeners prefer it in blind tests.",
    )
    sync(tmp_path / "lib", [file], lambda: fake, embedder_print=fake.fingerprint)
    library = Library(tmp_path / "lib", fake)
    yield CitewellRetriever(library)
    library.close()


def ranking(hits: list[Hit]) -> list[tuple[int, str, float]]:
    return [(hit.rank, hit.paper.paper_id, hit.score) for hit in hits]


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_paper_is_there_once_in_a_total_order_with_scores_in_the_unit_interval(
    retriever: CitewellRetriever, question: str
) -> None:
    hits = retriever.search(question, k=100)
    assert [hit.rank for hit in hits] == list(range(1, 72))
    assert len({hit.paper.paper_id for hit in hits}) == 71
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.paper.paper_id))
    assert all(0 <= hit.score <= 1 and -1 <= hit.dense <= 1.000001 and 0 <= hit.lexical <= 1 for hit in hits)
    assert ranking(retriever.search(question, k=100)) == ranking(hits)


def test_a_shorter_list_is_the_head_of_a_longer_one(retriever: CitewellRetriever) -> None:
    whole = ranking(retriever.search(QUESTIONS[0], k=71))
    assert ranking(retriever.search(QUESTIONS[0])) == whole[:10]
    assert ranking(retriever.search(QUESTIONS[0], k=1)) == whole[:1]
    assert ranking(CitewellRetriever(retriever.library, k=3).search(QUESTIONS[0])) == whole[:3]


def test_many_questions_are_answered_as_one_by_one(retriever: CitewellRetriever) -> None:
    together = retriever.search_many(QUESTIONS, k=7)
    for question, hits in zip(QUESTIONS, together, strict=True):
        alone = retriever.search(question, k=7)
        assert [(h.rank, h.paper.paper_id) for h in hits] == [(h.rank, h.paper.paper_id) for h in alone]
        # what is embedded in a batch differs in its last digits
        assert [h.score for h in hits] == pytest.approx([h.score for h in alone], abs=1e-5)
    assert retriever.search_many([]) == []


def test_the_score_is_the_weighted_mean_of_all_three_legs(retriever: CitewellRetriever) -> None:
    snapshot, question = retriever.library.snapshot(), QUESTIONS[0]
    (vector,), (tokens,) = retriever.library.embedder.read([question])
    bound = sum(map(snapshot.words.idf, terms(question)))
    words = retriever.library.embedder.token_words(question, len(tokens))
    weights = telling_weights(
        [max(map(snapshot.words.idf, terms(word)), default=0.0) if word else 0.0 for word in words]
    )
    for hit in retriever.search(question, k=71):
        dense = float(np.max(snapshot.embeddings.vectors(snapshot.chunks_of_paper[hit.paper.paper_id]) @ vector))
        lexical = float(snapshot.words.scores(terms(question))[snapshot.position[hit.paper.paper_id]]) / bound
        assert (hit.dense, hit.lexical) == (pytest.approx(dense, abs=1e-5), pytest.approx(lexical, abs=1e-5))
        late = max(
            snapshot.embeddings.scores_many([tokens], [snapshot.chunks_of_paper[hit.paper.paper_id]], [weights])[
                0
            ].values()
        )
        assert hit.late == pytest.approx(late, abs=1e-5)
        fit = max(0.0, hit.late - 0.25)  # what a passage gets that has nothing to do with the question
        score = (hit.dense + LEXICAL_WEIGHT * hit.lexical + LATE_WEIGHT * fit) / (
            1 + LEXICAL_WEIGHT + LATE_WEIGHT * 0.75
        )
        assert hit.score == pytest.approx(max(0.0, score), abs=1e-9)


def test_evidence_late_in_a_long_abstract_is_found(retriever: CitewellRetriever, seeds_library: Library) -> None:
    count = seeds_library.embedder.count_tokens
    papers = [p for p in seeds_library.papers() if count([p.abstract])[0] > 300]
    assert len(papers) > 10
    tails = [p.abstract[int(len(p.abstract) * 0.85) :] for p in papers]
    firsts = [hits[0].paper.paper_id for hits in retriever.search_many(tails)]
    assert firsts == [p.paper_id for p in papers]


def test_ties_are_broken_by_paper_id(twins: CitewellRetriever) -> None:
    hits = twins.search("pruned graphs")
    assert hits[0].score == hits[1].score > hits[2].score
    assert hits[0].paper.paper_id < hits[1].paper.paper_id


def test_a_question_without_a_known_word_is_left_to_the_dense_leg(twins: CitewellRetriever) -> None:
    hits = twins.search("zzzz qqqq")
    assert len(hits) == 3
    assert [hit.lexical for hit in hits] == [0, 0, 0]


def test_papers_the_vector_index_did_not_bring_up_get_their_dense_score_all_the_same(
    twins: CitewellRetriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = twins.search("a codec for speech and large graphs")
    monkeypatch.setattr("rag.store.Collection.nearest", lambda self, vectors, k: [[] for _ in vectors])
    assert [(h.paper.paper_id, round(h.dense, 5)) for h in twins.search("a codec for speech and large graphs")] == [
        (h.paper.paper_id, round(h.dense, 5)) for h in whole
    ]


def test_vectors_of_chunks_nobody_knows_are_passed_over(twins: CitewellRetriever) -> None:
    snapshot = twins.library.snapshot()
    before = ranking(twins.search("a codec for speech"))
    (vector,) = twins.library.embedder.encode(["a codec for speech"])
    snapshot.vectors.upsert(["leftover"], vector[None], ["a codec for speech"], ["gone"])
    assert ranking(twins.search("a codec for speech")) == before


@pytest.mark.parametrize("question", ["", "  \n\t ", "\u3000"])
def test_an_empty_question_is_refused(retriever: CitewellRetriever, question: str) -> None:
    with pytest.raises(QuestionError, match=r"^the question is empty; ask something about the papers$"):
        retriever.search(question)


def test_a_question_that_is_too_long_is_refused_not_cut(retriever: CitewellRetriever) -> None:
    with pytest.raises(
        QuestionError, match=r"^the question has 20,000 characters, more than 4,000; shorten it \('why why .*'…\)$"
    ):
        retriever.search(("why " * 5000)[:-1] + "?")
    assert check_question("  " + "y" * 4000 + "\n") == "y" * 4000


def test_one_bad_question_of_many_is_an_error_before_any_work(retriever: CitewellRetriever) -> None:
    with pytest.raises(QuestionError, match="the question is empty"):
        retriever.search_many(["fine", " "])


UNIT = st.floats(0, 1)


@settings(max_examples=100)
@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 1.01)),
    st.dictionaries(st.sampled_from("abcdefgh"), UNIT),
)
def test_fusion_is_a_total_order_over_both_legs(dense: dict[str, float], lexical: dict[str, float]) -> None:
    fused = fuse(dense, lexical)
    assert {i for i, _ in fused} == dense.keys() | lexical.keys()
    assert fused == sorted(fused, key=lambda item: (-item[1], item[0]))
    assert all(0 <= score <= 1 for _, score in fused)
    assert fused == fuse(dict(reversed(dense.items())), dict(reversed(lexical.items())))


@given(UNIT, UNIT, UNIT)
@settings(max_examples=50)
def test_a_better_leg_never_makes_a_worse_score(dense: float, low: float, high: float) -> None:
    low, high = sorted((low, high))
    assert fuse({"a": dense}, {"a": low})[0][1] <= fuse({"a": dense}, {"a": high})[0][1]


def test_to_llamaindex_a_hit_is_a_node_of_the_whole_abstract(retriever: CitewellRetriever) -> None:
    hits = retriever.search(QUESTIONS[0])
    for nodes in (retriever.retrieve(QUESTIONS[0]), retriever.retrieve(QueryBundle(QUESTIONS[0]))):
        assert [(node.node_id, node.score) for node in nodes] == [(h.paper.paper_id, h.score) for h in hits]
    node = node_of(hits[0]).node
    assert node.get_content(MetadataMode.NONE) == hits[0].paper.abstract
    assert node.metadata == {
        "label": "G³RAG",
        "title": "",
        "authors": [],
        "venue": "",
        "year": None,
        "keywords": [],
        "sources": [f"{s.file}#{s.row}" for s in hits[0].paper.sources],
    }


def test_where_a_library_has_no_token_vectors_its_words_count_more() -> None:
    dense, lexical = {"a": 0.5, "b": 0.3}, {"b": 0.4}
    compared = fuse(dense, lexical, {"a": 0.25, "b": 0.25})
    alone = fuse(dense, lexical, {})
    assert dict(alone) == {
        "a": pytest.approx(0.5 / (1 + LEXICAL_WEIGHT_ALONE)),
        "b": pytest.approx((0.3 + LEXICAL_WEIGHT_ALONE * 0.4) / (1 + LEXICAL_WEIGHT_ALONE)),
    }
    assert dict(compared)["b"] == pytest.approx(
        (0.3 + LEXICAL_WEIGHT * 0.4) / (1 + LEXICAL_WEIGHT + 0.75 * LATE_WEIGHT)
    )
