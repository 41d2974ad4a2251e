"""The picture of a library: where its papers are placed, in which topics, and what the browser is given."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rag.library import Library
from rag.records import Paper, Source
from ui.atlas import Atlas, atlas_of, clusters, names_of, payload, plane, spread, topic_count


def blobs(sizes: list[int], dimension: int = 12, seed: int = 0) -> NDArray[np.float32]:
    """Unit rows around as many far apart directions as there are sizes."""
    random = np.random.default_rng(seed)
    rows = [np.eye(dimension)[i] + random.normal(0, 0.05, (n, dimension)) for i, n in enumerate(sizes)]
    stacked = np.concatenate(rows).astype(np.float32)
    return stacked / np.linalg.norm(stacked, axis=1, keepdims=True)


def test_what_belongs_together_is_one_topic_the_largest_first_and_lies_together() -> None:
    vectors = blobs([5, 30, 12])
    topics = clusters(vectors, 3)
    assert topics.tolist() == [2] * 5 + [0] * 30 + [1] * 12
    placed = plane(vectors, topics)
    middles = np.stack([placed[topics == t].mean(axis=0) for t in range(3)])
    widths = [np.linalg.norm(placed[topics == t] - middles[t], axis=1).max() for t in range(3)]
    apart = [np.linalg.norm(middles[i] - middles[j]) for i in range(3) for j in range(i)]
    assert min(apart) > 2 * max(widths)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 5))
def test_any_library_has_a_picture_and_always_the_same(sizes: list[int], seed: int) -> None:
    vectors = blobs(sizes, seed=seed)
    topics = clusters(vectors, topic_count(len(vectors)))
    placed = spread(plane(vectors, topics))
    assert placed.shape == (len(vectors), 2)
    assert np.array_equal(placed, spread(plane(vectors.copy(), clusters(vectors.copy(), topic_count(len(vectors))))))


@pytest.mark.parametrize(("papers", "topics"), [(1, 1), (71, 4), (100_000, 10)])
def test_small_libraries_have_few_topics(papers: int, topics: int) -> None:
    assert topic_count(papers) == topics


def test_a_topic_is_named_by_the_words_that_tell_it_from_the_others() -> None:
    texts = ["graphs prune edges", "graphs with edges", "speech codec listeners", "speech of listeners"]
    papers = [Paper(str(i), "L", text) for i, text in enumerate(texts)]
    assert names_of(papers, np.array([0, 0, 1, 1], dtype=np.uint8), most=2) == ("edges, graphs", "listeners, speech")


def test_the_browser_is_given_places_and_colours_as_bytes() -> None:
    papers = [
        Paper("a", "A", "x", year=2020, sources=(Source("one.txt", 1),)),
        Paper("b", "B", "x", sources=(Source("two.txt", 1),)),
        Paper("c", "C", "x", year=2024, sources=(Source("two.txt", 2),)),
    ]
    places = np.array([[0, 65535], [1, 2], [3, 4]], dtype=np.uint16)
    atlas = Atlas(("a", "b", "c"), places, np.array([0, 1, 1], dtype=np.uint8), ("x", "y"))
    given_out = payload(atlas, papers)
    assert np.frombuffer(base64.b64decode(given_out["places"]), dtype="<u2").tolist() == [0, 65535, 1, 2, 3, 4]
    colours = {k: (list(base64.b64decode(v["of"])), v["names"]) for k, v in given_out["colours"].items()}
    assert colours == {
        "topic": ([0, 1, 1], ["x", "y"]),
        "year": ([0, 255, 1], ["2020", "2024"]),
        "source": ([1, 0, 0], ["two.txt", "one.txt"]),
    }


def test_the_picture_of_the_seeds_is_kept_and_read_back(seeds_library: Library, tmp_path: Path) -> None:
    (tmp_path / "map-0-old.npz").write_bytes(b"old")
    made = atlas_of(seeds_library, tmp_path)
    again = atlas_of(seeds_library, tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    assert set(made.paper_ids) == {p.paper_id for p in seeds_library.papers()}
    assert (again.paper_ids, again.names) == (made.paper_ids, made.names)
    assert np.array_equal(again.places, made.places)
    assert np.array_equal(again.topics, made.topics)
