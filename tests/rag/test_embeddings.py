from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rag.embeddings import Embeddings
from rag.errors import IndexStateError
from rag.late import even_weights, maxsim


def unit_rows(seed: int, rows: int, columns: int) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)
    drawn += 0.5  # token vectors of a real model have a common part
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float32)


def write(store: Embeddings, ids: list[str], tokens: list[NDArray[np.float32]]) -> None:
    store.write(ids, np.zeros((len(ids), 4), np.float32), tokens)


def score(store: Embeddings, question: NDArray[np.float32], ids: list[str]) -> dict[str, float]:
    return store.scores(question, ids, even_weights(len(question)))


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
    store = Embeddings(tmp_path_factory.mktemp("tokens") / "e.sqlite")
    write(store, ids, tokens)
    scores = score(store, question, [*reversed(ids), "nobody"])
    assert set(scores) == {i for i, n in zip(ids, lengths, strict=True) if n}
    for i, rows in zip(ids, tokens, strict=True):
        if len(rows):
            assert scores[i] == pytest.approx(maxsim(question, rows), abs=0.12)
    assert store.held([*ids, "nobody"]) == set(ids)
    store.close()


def test_what_is_written_again_is_replaced_and_what_is_deleted_is_gone(tmp_path: Path) -> None:
    store = Embeddings(tmp_path / "e.sqlite")
    one, other = unit_rows(1, 6, 16), unit_rows(2, 6, 16)
    write(store, ["a", "b"], [one, other])
    write(store, ["a"], [other])
    scores = score(store, one, ["a", "b"])
    assert scores["a"] == scores["b"]
    store.delete(["a", "never there"])
    assert store.held(["a", "b", "c"]) == {"b"}
    store.close()


def test_another_store_of_the_same_file_gives_the_same_scores(tmp_path: Path) -> None:
    first = Embeddings(tmp_path / "e.sqlite")
    second = Embeddings(tmp_path / "e.sqlite")
    rows = unit_rows(3, 6, 16)
    write(first, ["a"], [rows])
    write(second, ["b"], [rows])
    assert score(Embeddings(tmp_path / "e.sqlite"), rows, ["a"]) == score(first, rows, ["a"])
    assert score(first, rows, ["a"])["a"] == score(second, rows, ["b"])["b"]


def test_a_file_that_is_no_store_says_so(tmp_path: Path) -> None:
    (tmp_path / "e.sqlite").write_bytes(b"not a database, whatever its name says" * 40)
    with pytest.raises(IndexStateError, match=r"embeddings .*e\.sqlite cannot be opened .*--rebuild"):
        Embeddings(tmp_path / "e.sqlite")


def test_many_questions_over_chunks_in_common_score_as_one_by_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)

    def unit(n: int) -> np.ndarray:
        rows = rng.normal(size=(n, 33)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    store = Embeddings(tmp_path / "e.sqlite")
    ids = [f"c{i:03}" for i in range(300)]
    write(store, ids, [unit(1 + i % 7) for i in range(299)] + [np.empty((0, 33), np.float32)])
    questions = [unit(n) for n in (4, 9, 2, 6, 1)] + [np.empty((0, 33), np.float32)]
    wanted = [ids, ids[5:9], ids, [*ids[::3], "unknown"], [], ids]
    together = store.scores_many(questions, wanted, [even_weights(len(q)) for q in questions])
    alone = [score(store, q, of) for q, of in zip(questions, wanted, strict=True)]
    assert [set(found) for found in together] == [set(found) for found in alone]
    assert [len(found) for found in together] == [299, 4, 299, 100, 0, 0]
    for found, expected in zip(together, alone, strict=True):
        assert found == pytest.approx(expected, abs=2e-6)
    store.close()


def test_weights_decide_which_passage_a_question_fits_best(tmp_path: Path) -> None:
    store = Embeddings(tmp_path / "e.sqlite")
    axes = np.eye(16, dtype=np.float32)
    noise = unit_rows(3, 40, 16)
    write(store, ["first", "second", "rest"], [axes[[0, 2]], axes[[1, 3]], noise])
    question = axes[[0, 1]]
    for weights, best in (([0.9, 0.1], "first"), ([0.1, 0.9], "second")):
        found = store.scores_many([question], [["first", "second"]], [np.array(weights, np.float32)])[0]
        assert max(found, key=found.__getitem__) == best
    store.close()


def test_vectors_come_in_the_order_asked_for_and_a_missing_one_is_named(tmp_path: Path) -> None:
    store = Embeddings(tmp_path / "e.sqlite")
    rows = unit_rows(5, 3, 8)
    store.write(["a", "b", "c"], rows, [rows[:0]] * 3)
    found = store.vectors(["c", "a", "c"])
    assert (found.dtype, found.tolist()) == (np.float32, rows[[2, 0, 2]].tolist())
    assert store.vectors([]).shape == (0, 0)
    store.delete(["b"])
    with pytest.raises(IndexStateError, match=r"^2 vectors are missing from the index, b first; .*--rebuild"):
        store.vectors(["a", "b", "nobody"])
    store.close()


@given(count=st.integers(1, 40), gone=st.sets(st.integers(0, 24)))
@settings(max_examples=30, deadline=None)
def test_some_of_what_is_held_comes_from_all_over_the_file(
    tmp_path_factory: pytest.TempPathFactory, count: int, gone: set[int]
) -> None:
    store = Embeddings(tmp_path_factory.mktemp("some") / "e.sqlite")
    ids = [f"c{i:02}" for i in range(25)]
    store.write(ids, unit_rows(0, 25, 4), [unit_rows(0, 0, 4)] * 25)
    store.delete([ids[i] for i in gone])
    left = [i for at, i in enumerate(ids) if at not in gone]
    found = store.some(count)
    assert len(found) == len(set(found)) <= count
    assert set(found) <= set(left)
    assert bool(found) == bool(left)
    assert count < 2 or len(left) < 2 or found[0] == left[0]
    store.close()
