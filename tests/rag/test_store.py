from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rag.errors import IndexStateError
from rag.store import Collection, VectorStore

AXES = np.eye(4, dtype=np.float32)
SLANTED = np.array([[0.6, 0.8, 0, 0]], dtype=np.float32)


def filled(folder: Path, name: str = "some") -> Collection:
    collection = VectorStore(folder).collection(name)
    collection.upsert(["a", "b", "c"], AXES[:3], ["A", "B", "C"], ["p", "p", "q"])
    return collection


def test_the_nearest_come_best_first_with_their_cosines(tmp_path: Path) -> None:
    collection = filled(tmp_path)
    ((first, second, third), (near,)) = collection.nearest(SLANTED, 9)[0], collection.nearest(AXES[2:3], 1)[0]
    assert [i for i, _ in (first, second, third)] == ["b", "a", "c"]
    assert [score for _, score in (first, second, third)] == pytest.approx([0.8, 0.6, 0.0], abs=1e-6)
    assert near == ("c", pytest.approx(1.0, abs=1e-6))
    assert len(collection.nearest(np.concatenate([AXES, SLANTED]), 2)) == 5


def test_cosines_do_not_depend_on_length(tmp_path: Path) -> None:
    collection = VectorStore(tmp_path).collection("some")
    collection.upsert(["long", "short"], np.concatenate([5 * AXES[:1], SLANTED]), ["", ""], ["p", "q"])
    assert collection.nearest(AXES[:1], 2) == [
        [("long", pytest.approx(1.0, abs=1e-6)), ("short", pytest.approx(0.6, abs=1e-6))]
    ]


def test_an_upsert_replaces_what_was_there(tmp_path: Path) -> None:
    collection = filled(tmp_path)
    collection.upsert(["b"], AXES[3:], ["B2"], ["z"])
    assert len(collection) == 3
    assert collection.nearest(AXES[3:], 1) == [[("b", pytest.approx(1.0, abs=1e-6))]]


def test_unknown_ids_are_passed_over_in_deletes(tmp_path: Path) -> None:
    collection = filled(tmp_path)
    collection.delete(["b", "nobody"])
    assert collection.ids() == {"a", "c"}


def test_an_empty_collection_has_nothing_near(tmp_path: Path) -> None:
    collection = VectorStore(tmp_path).collection("some")
    assert (len(collection), collection.ids(), collection.nearest(AXES[:2], 3)) == (0, set(), [[], []])


def test_more_than_a_batch_is_written_looked_up_and_deleted(tmp_path: Path) -> None:
    collection = VectorStore(tmp_path).collection("some")
    ids = [f"{i:05}" for i in range(4001)]
    vectors = np.random.default_rng(0).normal(size=(4001, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    collection.upsert(ids, vectors, ids, ids)
    assert collection.ids() == set(ids)
    assert collection.held([*ids, "nobody"]) == set(ids)
    collection.delete(ids[1:])
    assert collection.ids() == {"00000"}


def test_collections_are_kept_apart_listed_and_dropped(tmp_path: Path) -> None:
    store = VectorStore(tmp_path)
    for name in ("two", "one"):
        store.collection(name).upsert([name], AXES[:1], [name], [name])
    assert store.collections() == ["one", "two"]
    store.drop("one")
    store.drop("never-there")
    assert store.collections() == ["two"]
    assert store.collection("one").ids() == set()


def test_two_stores_do_not_share_state(tmp_path: Path) -> None:
    filled(tmp_path / "left")
    right = VectorStore(tmp_path / "right")
    assert (right.collections(), right.collection("some").ids()) == ([], set())


WRITER = """
import sys, numpy as np
from pathlib import Path
from rag.store import VectorStore
collection = VectorStore(Path(sys.argv[1])).collection("some")
collection.upsert(["d"], np.eye(4, dtype=np.float32)[3:], ["D"], ["z"])
collection.delete(["b"])
"""


def test_what_another_process_writes_is_there_for_the_next_store(tmp_path: Path) -> None:
    before = filled(tmp_path)
    assert [i for i, _ in before.nearest(AXES[3:], 4)[0]] == ["a", "b", "c"]
    subprocess.run([sys.executable, "-c", WRITER, str(tmp_path)], check=True, cwd=Path(__file__).parents[2])
    after = VectorStore(tmp_path).collection("some")
    assert after.ids() == {"a", "c", "d"}
    assert after.nearest(AXES[3:], 1) == [[("d", pytest.approx(1.0, abs=1e-6))]]


def test_a_damaged_store_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(b"garbage" * 1000)
    with pytest.raises(IndexStateError, match=r"the vectors in .* cannot be opened \(.*\); 'citewell index --rebuild'"):
        VectorStore(tmp_path)


def test_a_fault_of_chroma_is_one_line(tmp_path: Path) -> None:
    collection = filled(tmp_path)
    VectorStore(tmp_path).drop("some")
    with pytest.raises(IndexStateError, match=r"^the vectors cannot be searched .*does not exist.*--rebuild") as caught:
        collection.nearest(AXES[:1], 1)
    assert "\n" not in str(caught.value)
