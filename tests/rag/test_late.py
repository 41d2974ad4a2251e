from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rag.embed import Embedder
from rag.errors import IndexStateError
from rag.late import TokenStore, even_weights, maxsim, telling_weights


def unit_rows(seed: int, rows: int, columns: int) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)
    drawn += 0.5  # token vectors of a real model have a common part
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float32)


def test_maxsim_is_the_mean_of_each_question_tokens_best_cosine() -> None:
    question = np.array([[1, 0], [0, 1]], dtype=np.float32)
    passage = np.array([[0.6, 0.8], [1, 0]], dtype=np.float32)
    assert maxsim(question, passage) == pytest.approx((1.0 + 0.8) / 2)
    assert maxsim(question, passage[:0]) == 0.0
    assert maxsim(question[:0], passage) == 0.0


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=8),
    columns=st.sampled_from([7, 16, 33]),
    seed=st.integers(0, 99),
)
def test_four_bits_a_component_keep_every_score_close_to_the_exact_one(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], columns: int, seed: int
) -> None:
    tokens = [unit_rows(seed + i, n, columns) for i, n in enumerate(lengths)]
    ids = [f"c{i}" for i in range(len(lengths))]
    question = unit_rows(seed + 100, 5, columns)
    store = TokenStore(tmp_path_factory.mktemp("tokens") / "t.sqlite")
    store.write(ids, tokens)
    scores = store.scores(question, [*reversed(ids), "nobody"])
    assert set(scores) == {i for i, n in zip(ids, lengths, strict=True) if n}
    for i, rows in zip(ids, tokens, strict=True):
        if len(rows):
            assert scores[i] == pytest.approx(maxsim(question, rows), abs=0.12)
    assert store.held([*ids, "nobody"]) == set(ids)
    store.close()


def test_what_is_written_again_is_replaced_and_what_is_deleted_is_gone(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "t.sqlite")
    one, other = unit_rows(1, 6, 16), unit_rows(2, 6, 16)
    store.write(["a", "b"], [one, other])
    store.write(["a"], [other])
    scores = store.scores(one, ["a", "b"])
    assert scores["a"] == scores["b"]
    store.delete(["a", "never there"])
    assert store.held(["a", "b", "c"]) == {"b"}
    store.close()


def test_another_store_of_the_same_file_gives_the_same_scores(tmp_path: Path) -> None:
    first = TokenStore(tmp_path / "t.sqlite")
    second = TokenStore(tmp_path / "t.sqlite")
    rows = unit_rows(3, 6, 16)
    first.write(["a"], [rows])
    second.write(["b"], [rows])
    assert TokenStore(tmp_path / "t.sqlite").scores(rows, ["a"]) == first.scores(rows, ["a"])
    assert first.scores(rows, ["a"])["a"] == second.scores(rows, ["b"])["b"]


def test_a_file_that_is_no_store_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.sqlite").write_bytes(b"not a database, whatever its name says" * 40)
    with pytest.raises(IndexStateError, match=r"token vectors .*t\.sqlite cannot be opened .*--rebuild"):
        TokenStore(tmp_path / "t.sqlite")


def test_one_clause_of_a_passage_is_found_by_its_tokens(embedder: Embedder) -> None:
    """The words of a question are the passage's, but for most of a long passage about something else."""
    clause = "Listeners heard no difference between both recordings."
    long = "Deep networks are trained by gradient descent on very large collections of images. " * 6 + clause
    other = "Deep networks are trained by gradient descent on very large collections of images. " * 7
    _, tokens = embedder.read([long, other])
    question = embedder.questions(["Could people tell the two sounds apart by ear?"])[1][0]
    assert maxsim(question, tokens[0]) > maxsim(question, tokens[1]) + 0.05


def test_one_pass_gives_the_same_vectors_as_encode_and_unit_rows_for_tokens(embedder: Embedder) -> None:
    texts = ["A short one.", "A rather longer text of several words, which is read in the same batch.", ""]
    vectors, tokens = embedder.read(texts)
    np.testing.assert_allclose(vectors, embedder.encode(texts), atol=2e-6)
    counts = embedder.count_tokens(texts)
    assert [len(rows) for rows in tokens] == [n + 2 for n in counts]  # and the two special ones
    for rows in tokens:
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


def test_many_questions_over_chunks_in_common_score_as_one_by_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)

    def unit(n: int) -> np.ndarray:
        rows = rng.normal(size=(n, 33)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    store = TokenStore(tmp_path / "tokens.sqlite")
    ids = [f"c{i:03}" for i in range(300)]
    store.write(ids, [unit(1 + i % 7) for i in range(299)] + [np.empty((0, 33), np.float32)])
    questions = [unit(n) for n in (4, 9, 2, 6, 1)] + [np.empty((0, 33), np.float32)]
    wanted = [ids, ids[5:9], ids, [*ids[::3], "unknown"], [], ids]
    together = store.scores_many(questions, wanted, [even_weights(len(q)) for q in questions])
    alone = [store.scores(q, of) for q, of in zip(questions, wanted, strict=True)]
    assert [set(found) for found in together] == [set(found) for found in alone]
    assert [len(found) for found in together] == [299, 4, 299, 100, 0, 0]
    for found, expected in zip(together, alone, strict=True):
        assert found == pytest.approx(expected, abs=2e-6)
    store.close()


def test_a_rare_word_of_the_question_counts_more_than_a_common_one() -> None:
    weights = telling_weights([0.0, 4.0, 1.0, 1.0, 0.0])
    assert weights == pytest.approx([0.08, 0.38, 0.23, 0.23, 0.08])
    assert telling_weights([0.0, 0.0]) == pytest.approx([0.5, 0.5])


@given(rarities=st.lists(st.floats(0, 20), min_size=1, max_size=40))
def test_weights_of_a_questions_tokens_add_up_to_one_and_none_is_left_out(rarities: list[float]) -> None:
    weights = telling_weights(rarities)
    assert weights.sum() == pytest.approx(1.0, abs=1e-5)
    assert weights.min() >= 0.4 / len(rarities) - 1e-6


def test_weights_decide_which_passage_a_question_fits_best(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "tokens.sqlite")
    axes = np.eye(16, dtype=np.float32)
    noise = unit_rows(3, 40, 16)
    store.write(["first", "second", "rest"], [axes[[0, 2]], axes[[1, 3]], noise])
    question = axes[[0, 1]]
    for weights, best in (([0.9, 0.1], "first"), ([0.1, 0.9], "second")):
        found = store.scores_many([question], [["first", "second"]], [np.array(weights, np.float32)])[0]
        assert max(found, key=found.__getitem__) == best
    store.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Is LoRA's rank 64?", ["", "Is", "LoRA", "LoRA", "", "s", "rank", "64", "", ""]),
        ("", ["", ""]),
    ],
)
def test_each_token_of_a_question_is_known_by_its_word(text: str, words: list[str], embedder: Embedder) -> None:
    tokens = len(embedder.questions([text or " "])[1][0])
    assert embedder.token_words(text, tokens) == words
