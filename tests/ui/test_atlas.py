"""The picture of a library: where its papers are placed, in which topics, and what the browser is given."""

from __future__ import annotations

import base64
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rag.errors import IndexStateError
from rag.library import Library
from rag.records import Paper
from rag.sync import Progress
from ui.atlas import Atlas, Colouring, atlas_of, by_source, by_year, clusters, payload, plane, spread, topic_count
from ui.job import Job
from ui.naming import names_of
from ui.pictures import Pictures


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


def test_colours_are_numbers_of_names_and_what_has_none_is_255() -> None:
    year = by_year([2020, None, 2024, 2020])
    assert (year.of.tolist(), year.names) == ([0, 255, 1, 0], ("2020", "2024"))
    source = by_source(["one.txt", "two.txt", None, "two.txt", *(f"{i}.txt" for i in range(9))])
    assert (source.of.tolist(), source.names[:2]) == (
        [1, 0, 255, 0, 2, 3, 4, 5, 6, 7, 8, 9, 255],
        ("two.txt", "one.txt"),
    )


def test_of_more_than_255_years_the_latest_are_told_apart() -> None:
    year = by_year(range(1700, 2000))
    assert (year.of[:45] == 255).all()
    assert (year.of[45], year.names[0], year.names[-1]) == (0, "1745", "1999")


def test_the_browser_is_given_places_and_colours_as_bytes() -> None:
    places = np.array([[0, 65535], [1, 2], [3, 4]], dtype=np.uint16)
    topics = Colouring(np.array([0, 1, 1], dtype=np.uint8), ("x", "y"))
    given_out = payload(Atlas(("a", "b", "c"), places, {"topic": topics}, ("A", "B", "C")))
    assert np.frombuffer(base64.b64decode(given_out["places"]), dtype="<u2").tolist() == [0, 65535, 1, 2, 3, 4]
    assert base64.b64decode(given_out["colours"]["topic"]["of"]) == b"\x00\x01\x01"
    assert (given_out["count"], given_out["labels"], given_out["colours"]["topic"]["names"]) == (
        3,
        ["A", "B", "C"],
        ["x", "y"],
    )


def test_the_picture_of_the_seeds_is_kept_and_read_back(seeds_library: Library, tmp_path: Path) -> None:
    (tmp_path / "map-0-old.npz").write_bytes(b"old")
    told: list[tuple[str, int, int]] = []
    made = atlas_of(seeds_library, tmp_path, on_progress=lambda *what: told.append(what))
    again = atlas_of(seeds_library, tmp_path, on_progress=lambda *what: told.append(what))
    assert told == [("vectors", 0, 71), ("topics", 0, 0), ("papers", 0, 71), ("names", 0, 0)]
    assert len(list(tmp_path.iterdir())) == 1
    assert set(made.paper_ids) == {p.paper_id for p in seeds_library.papers()}
    assert len(made.labels) == 71
    assert (again.paper_ids, again.labels) == (made.paper_ids, made.labels)
    assert np.array_equal(again.places, made.places)
    for name in ("topic", "year", "source"):
        assert again.colours[name].names == made.colours[name].names
        assert np.array_equal(again.colours[name].of, made.colours[name].of)


NOTHING = Atlas((), np.zeros((0, 2), dtype=np.uint16), {})
LIBRARY: Any = SimpleNamespace(snapshot=lambda: SimpleNamespace(fingerprint="f"))


def test_however_many_look_at_a_map_it_is_made_once(tmp_path: Path) -> None:
    may, drawn = threading.Event(), []

    def draw(library: Library, folder: Path, on_progress: Progress) -> Atlas:
        drawn.append(folder)
        on_progress("vectors", 3, 71)
        assert may.wait(60)
        return NOTHING

    pictures = Pictures(draw)
    first, second = pictures.of(LIBRARY, tmp_path), pictures.of(LIBRARY, tmp_path)
    assert isinstance(first, Job)
    assert first is second
    may.set()
    first.wait()
    name, atlas = pictures.of(LIBRARY, tmp_path)  # type: ignore[misc]
    assert (drawn, atlas, pictures.named(tmp_path, name)) == ([tmp_path], NOTHING, NOTHING)
    assert pictures.named(tmp_path, "an older one") is None


def test_a_map_that_cannot_be_made_says_why_once_and_is_tried_anew_when_asked_again(tmp_path: Path) -> None:
    tries = []

    def draw(library: Library, folder: Path, on_progress: Progress) -> Atlas:
        tries.append(folder)
        if len(tries) == 1:
            raise IndexStateError("the disk is full")
        return NOTHING

    pictures = Pictures(draw)
    for _ in range(2):
        job = pictures.of(LIBRARY, tmp_path)
        assert isinstance(job, Job)
        job.wait()
        if len(tries) == 1:
            with pytest.raises(IndexStateError, match=r"^the map could not be made: the disk is full$"):
                pictures.of(LIBRARY, tmp_path)
    assert not isinstance(pictures.of(LIBRARY, tmp_path), Job)
