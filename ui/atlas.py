"""A library as a picture: its papers placed by meaning, in topics that are found among them; numpy alone.

Topics are k-means clusters of the paper vectors. The plane is the one in which the topics lie furthest apart for their
width (linear discriminant analysis, Fisher 1936), so that what belongs together is seen together. The same library
gives the same picture.
"""

from __future__ import annotations

import base64
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.embed import Vectors
from rag.fold import plain
from rag.library import Library, Snapshot
from rag.sync import Progress
from ui.naming import names_of

VERSION = "3"
MOST_TOPICS = 10
MOST_NAMED = 400
"""Papers of a library whose dots are named in the picture; of more the names would not be read."""
_LONGEST_NAME = 32
_READ_FOR_NAMES = 4000
"""Papers, evenly spread over the library, whose words name the topics."""
_LEARNT_FROM = 20_000
"""Papers, evenly spread over the library, among which the topics are found."""
_ROUNDS = 25
_BATCH = 5000
_SIDE = 65535
"""Both coordinates are whole numbers from 0 to this."""
_NONE = 255
"""The colour of what has none of the names."""


@dataclass(frozen=True, slots=True)
class Colouring:
    """``of`` (n,) uint8: the index of each paper's name, or 255."""

    of: NDArray[np.uint8]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Atlas:
    """``places`` (n, 2) uint16 of the papers, and their colours, in the order of ``paper_ids``."""

    paper_ids: tuple[str, ...]
    places: NDArray[np.uint16]
    colours: dict[str, Colouring]
    """By topic, year and source; topics are named by the words that tell them apart."""
    labels: tuple[str, ...] = ()
    """Of the papers, where they are few enough to be read."""


def kept_at(library: Library, folder: Path) -> Path:
    """The file in ``folder`` that the picture of the library as it is now is kept in, once it is made."""
    return folder / f"map-{VERSION}-{library.snapshot().fingerprint}.npz"


def read(path: Path) -> Atlas:
    """A picture that was kept."""
    with np.load(path, allow_pickle=False) as held:
        meta = json.loads(str(held["meta"]))
        colours = {name: Colouring(held[name], tuple(names)) for name, names in meta["names"].items()}
        return Atlas(tuple(meta["ids"]), held["places"], colours, tuple(meta["labels"]))


def keep(atlas: Atlas, path: Path) -> None:
    """Writes a picture, whole or not at all; older ones in the folder are removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    names = {name: colouring.names for name, colouring in atlas.colours.items()}
    meta = np.array(json.dumps({"ids": atlas.paper_ids, "labels": atlas.labels, "names": names}))
    with part.open("wb") as file:
        arrays: dict[str, Any] = {"places": atlas.places, "meta": meta} | {n: c.of for n, c in atlas.colours.items()}
        np.savez(file, **arrays)
    part.replace(path)
    for old in path.parent.glob("map-*.npz"):
        if old != path:
            old.unlink(missing_ok=True)


def atlas_of(library: Library, folder: Path, *, on_progress: Progress = lambda stage, done, total: None) -> Atlas:
    """The picture of the library as it is now, made and kept in ``folder`` where it is not yet.

    ``on_progress`` is told the stage ("vectors", "topics", "papers", "names") and how many papers of all are through it.
    """
    path = kept_at(library, folder)
    if path.is_file():
        return read(path)
    snapshot = library.snapshot()
    ids = [i for i in snapshot.words.paper_ids if i in snapshot.chunks_of_paper]
    vectors = _paper_vectors(snapshot, ids, on_progress)
    on_progress("topics", 0, 0)
    topics = clusters(vectors, topic_count(len(ids)))
    places = spread(plane(vectors, topics))
    del vectors  # of 100,000 papers 150 MB
    years, sources, labels = _facts(library, ids, on_progress)
    on_progress("names", 0, 0)
    read_for_names = _evenly(len(ids), _READ_FOR_NAMES)
    names = names_of(library.papers([ids[i] for i in read_for_names]), topics[read_for_names])
    atlas = Atlas(tuple(ids), places, {"topic": Colouring(topics, names), "year": years, "source": sources}, labels)
    keep(atlas, path)
    return atlas


def _paper_vectors(snapshot: Snapshot, ids: Sequence[str], on_progress: Progress) -> Vectors:
    """The first chunk of each paper, which says what it is about: (n, d) float32, unit rows."""
    chunks = [snapshot.chunks_of_paper[i][0] for i in ids]
    parts = []
    for at in range(0, len(chunks), _BATCH):
        on_progress("vectors", at, len(chunks))
        parts.append(snapshot.embeddings.vectors(chunks[at : at + _BATCH]))
    return np.concatenate(parts)


def _facts(library: Library, ids: Sequence[str], on_progress: Progress) -> tuple[Colouring, Colouring, tuple[str, ...]]:
    """Of the papers the years, the files they were read from first, and the labels where they are few."""
    years: list[int | None] = []
    files: list[str | None] = []
    labels: list[str] = []
    for at in range(0, len(ids), _BATCH):
        on_progress("papers", at, len(ids))
        papers = library.papers(ids[at : at + _BATCH])
        years += [p.year for p in papers]
        files += [p.sources[0].file if p.sources else None for p in papers]
        labels += [_short(p.label) for p in papers] if len(ids) <= MOST_NAMED else []
    return by_year(years), by_source(files), tuple(labels)


def by_year(years: Sequence[int | None]) -> Colouring:
    """The years in their order, the latest 255 where there are more."""
    known = sorted({year for year in years if year is not None})[-_NONE:]
    index = {year: i for i, year in enumerate(known)}
    of = [_NONE if year is None else index.get(year, _NONE) for year in years]
    return Colouring(np.array(of, dtype=np.uint8), tuple(map(str, known)))


def by_source(files: Sequence[str | None]) -> Colouring:
    """The files that most papers come from, the largest first."""
    known = [name for name, _ in Counter(file for file in files if file is not None).most_common(MOST_TOPICS)]
    index = {name: i for i, name in enumerate(known)}
    of = [_NONE if file is None else index.get(file, _NONE) for file in files]
    return Colouring(np.array(of, dtype=np.uint8), tuple(known))


def topic_count(papers: int) -> int:
    """How many topics to look for."""
    return max(1, min(MOST_TOPICS, round(math.sqrt(papers / 4))))


def clusters(vectors: Vectors, k: int) -> NDArray[np.uint8]:
    """The cluster of each row, from 0, the largest first: spherical k-means from starts that lie far apart."""
    learnt_from = vectors[_evenly(len(vectors), _LEARNT_FROM)]
    starts = [int(np.argmin(learnt_from @ learnt_from.mean(axis=0)))]
    nearest = learnt_from @ learnt_from[starts[0]]
    for _ in range(1, k):
        starts.append(int(np.argmin(nearest)))
        nearest = np.maximum(nearest, learnt_from @ learnt_from[starts[-1]])
    middles = learnt_from[starts]
    labels = np.zeros(len(learnt_from), dtype=np.int64)
    for _ in range(_ROUNDS):
        fresh = np.argmax(learnt_from @ middles.T, axis=1)
        if np.array_equal(fresh, labels):
            break
        labels = fresh
        for cluster in range(k):
            if (members := learnt_from[labels == cluster]).size:
                middle = members.mean(axis=0)
                middles[cluster] = middle / max(float(np.linalg.norm(middle)), 1e-9)
    labels = np.argmax(vectors @ middles.T, axis=1)
    rank = np.empty(k, dtype=np.uint8)
    rank[np.argsort(-np.bincount(labels, minlength=k), kind="stable")] = np.arange(k)
    return np.asarray(rank[labels])


def _evenly(count: int, most: int) -> NDArray[np.int64]:
    """At most ``most`` of the numbers up to ``count``, ascending and evenly spread."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


def plane(vectors: Vectors, topics: NDArray[np.uint8]) -> NDArray[np.float64]:
    """(n, 2): the rows in the plane where the topics lie furthest apart for their width."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    present = np.unique(topics)
    middles = np.stack([vectors[topics == t].mean(axis=0, dtype=np.float64) - mean for t in present])
    share = np.array([(topics == t).mean() for t in present])
    scatter = np.asarray(vectors.T @ vectors, dtype=np.float64) / len(vectors) - np.outer(mean, mean)
    inside = scatter - (middles.T * share) @ middles
    inside += np.eye(len(inside)) * max(float(np.trace(inside)), 1e-6) / len(inside)  # few papers span few directions
    values, axes = np.linalg.eigh(inside)
    whiten = axes / np.sqrt(np.maximum(values, 1e-12))
    if len(middles) > 2:
        _, _, directions = np.linalg.svd(middles @ whiten, full_matrices=False)
    else:  # one or two topics span no plane: the directions of most variance do
        _, directions = np.linalg.eigh(scatter)
        directions, whiten = directions[:, ::-1].T, np.eye(len(inside))
    onto = whiten @ directions[:2].T
    placed = np.asarray(vectors @ onto.astype(np.float32), dtype=np.float64) - mean @ onto
    if placed.shape[1] < 2:
        placed = np.column_stack([placed, np.zeros(len(placed))])
    signs = np.where(np.abs(placed).max(axis=0) == placed.max(axis=0), 1.0, -1.0)  # they are arbitrary: fix them
    return np.asarray(placed * signs, dtype=np.float64)


def spread(placed: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Coordinates on the whole sheet: half by value, half by rank, so that a crowd is not a blot."""
    ranks = np.argsort(np.argsort(placed, axis=0, kind="stable"), axis=0, kind="stable") / max(len(placed) - 1, 1)
    low, high = placed.min(axis=0), placed.max(axis=0)
    values = (placed - low) / np.where(high > low, high - low, 1)
    return np.asarray(np.round((ranks + values) / 2 * _SIDE), dtype=np.uint16)


def payload(atlas: Atlas) -> dict[str, Any]:
    """What the browser draws: bytes as base64, little-endian; each paper's index into the names of every colouring."""
    return {
        "count": len(atlas.paper_ids),
        "labels": list(atlas.labels),
        "places": _base64(atlas.places.astype("<u2")),
        "colours": {name: {"of": _base64(c.of), "names": list(c.names)} for name, c in atlas.colours.items()},
    }


def _short(label: str) -> str:
    text = plain(label)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1].rstrip() + "…"


def _base64(values: NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")
