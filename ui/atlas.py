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
from rag.lexical import terms
from rag.library import Library
from rag.records import Paper

VERSION = "1"
MOST_TOPICS = 10
_ROUNDS = 25
_BATCH = 5000
_SIDE = 65535
"""Both coordinates are whole numbers from 0 to this."""


@dataclass(frozen=True, slots=True)
class Atlas:
    """``places`` (n, 2) uint16 and ``topics`` (n,) uint8 of the papers, in the order of ``paper_ids``."""

    paper_ids: tuple[str, ...]
    places: NDArray[np.uint16]
    topics: NDArray[np.uint8]
    names: tuple[str, ...]
    """Of each topic, the words that tell it from the others."""


def atlas_of(library: Library, cache: Path) -> Atlas:
    """The picture of the library as it is now; kept in the folder ``cache``, where older ones are removed."""
    snapshot = library.snapshot()
    path = cache / f"map-{VERSION}-{snapshot.fingerprint}.npz"
    if path.is_file():
        with np.load(path, allow_pickle=False) as held:
            meta = json.loads(str(held["meta"]))
            return Atlas(tuple(meta["ids"]), held["places"], held["topics"], tuple(meta["names"]))
    ids = [i for i in snapshot.words.paper_ids if i in snapshot.chunks_of_paper]
    vectors = _paper_vectors(library, ids)
    topics = clusters(vectors, topic_count(len(ids)))
    atlas = Atlas(tuple(ids), spread(plane(vectors, topics)), topics, names_of(library.papers(ids), topics))
    cache.mkdir(parents=True, exist_ok=True)
    part = cache / f".{path.name}.part"
    with part.open("wb") as file:
        meta = json.dumps({"ids": ids, "names": atlas.names})
        np.savez_compressed(file, places=atlas.places, topics=atlas.topics, meta=np.array(meta))
    part.replace(path)
    for old in cache.glob("map-*.npz"):
        if old != path:
            old.unlink(missing_ok=True)
    return atlas


def _paper_vectors(library: Library, ids: Sequence[str]) -> Vectors:
    """The first chunk of each paper, which says what it is about: (n, d) float32, unit rows."""
    snapshot = library.snapshot()
    chunks = [snapshot.chunks_of_paper[i][0] for i in ids]
    parts = [snapshot.vectors.vectors(chunks[at : at + _BATCH]) for at in range(0, len(chunks), _BATCH)]
    return np.concatenate(parts)


def topic_count(papers: int) -> int:
    """How many topics to look for."""
    return max(1, min(MOST_TOPICS, round(math.sqrt(papers / 4))))


def clusters(vectors: Vectors, k: int) -> NDArray[np.uint8]:
    """The cluster of each row, from 0, the largest first: spherical k-means from starts that lie far apart."""
    mean = vectors.mean(axis=0)
    starts = [int(np.argmin(vectors @ mean))]
    nearest = vectors @ vectors[starts[0]]
    for _ in range(1, k):
        starts.append(int(np.argmin(nearest)))
        nearest = np.maximum(nearest, vectors @ vectors[starts[-1]])
    middles = vectors[starts]
    labels = np.zeros(len(vectors), dtype=np.int64)
    for _ in range(_ROUNDS):
        fresh = np.argmax(vectors @ middles.T, axis=1)
        if np.array_equal(fresh, labels):
            break
        labels = fresh
        for cluster in range(k):
            if (members := vectors[labels == cluster]).size:
                middle = members.mean(axis=0)
                middles[cluster] = middle / max(float(np.linalg.norm(middle)), 1e-9)
    sizes = np.bincount(labels, minlength=k)
    rank = np.empty(k, dtype=np.uint8)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(k)
    return rank[labels]


def plane(vectors: Vectors, topics: NDArray[np.uint8]) -> NDArray[np.float64]:
    """(n, 2): the rows in the plane where the topics lie furthest apart for their width."""
    centred = (vectors - vectors.mean(axis=0)).astype(np.float64)
    middles = np.stack([centred[topics == t].mean(axis=0) for t in np.unique(topics)])
    within = centred - middles[np.searchsorted(np.unique(topics), topics)]
    inside = within.T @ within / len(centred)
    inside += np.eye(len(inside)) * max(float(np.trace(inside)), 1e-9) / len(inside)  # few papers span few directions
    values, axes = np.linalg.eigh(inside)
    whiten = axes / np.sqrt(np.maximum(values, 1e-12))
    between = middles @ whiten
    if len(middles) > 2:
        _, _, directions = np.linalg.svd(between, full_matrices=False)
    else:  # one or two topics span no plane: the directions of most variance do
        _, directions = np.linalg.eigh(centred.T @ centred)
        directions, whiten = directions[:, ::-1].T, np.eye(len(inside))
    placed = centred @ whiten @ directions[:2].T
    if placed.shape[1] < 2:
        placed = np.column_stack([placed, np.zeros(len(placed))])
    return placed * np.where(np.abs(placed).max(axis=0) == placed.max(axis=0), 1, -1)  # signs are arbitrary: fix them


def spread(placed: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Coordinates on the whole sheet: half by value, half by rank, so that a crowd is not a blot."""
    ranks = np.argsort(np.argsort(placed, axis=0, kind="stable"), axis=0, kind="stable") / max(len(placed) - 1, 1)
    low, high = placed.min(axis=0), placed.max(axis=0)
    values = (placed - low) / np.where(high > low, high - low, 1)
    return np.round((ranks + values) / 2 * _SIDE).astype(np.uint16)


def names_of(papers: Sequence[Paper], topics: NDArray[np.uint8], *, most: int = 3) -> tuple[str, ...]:
    """For each topic the words that far more of its papers hold than of the others."""
    held = [{word: shown for shown in _words(p) for word in terms(shown)[:1]} for p in papers]
    everywhere = Counter(word for words in held for word in words)
    names = []
    for topic in range(int(topics.max()) + 1 if len(topics) else 0):
        members = [words for words, t in zip(held, topics, strict=True) if t == topic]
        here = Counter(word for words in members for word in words)
        spelt = {word: shown for words in members for word, shown in words.items()}
        others = max(1, len(papers) - len(members))
        worth = {
            word: (n / len(members) - (everywhere[word] - n) / others) * math.log(1 + len(papers) / everywhere[word])
            for word, n in here.items()
            if n >= len(members) / 4
        }
        best = sorted(worth, key=lambda word: (-worth[word], word))[:most]
        names.append(", ".join(spelt[word] for word in best) or f"topic {topic + 1}")
    return tuple(names)


def _words(paper: Paper) -> list[str]:
    text = f"{paper.title or ''} {paper.abstract}".lower()
    return [word for word in text.replace("-", " ").split() if word.isalpha() and len(word) > 3]


def payload(atlas: Atlas, papers: Sequence[Paper]) -> dict[str, Any]:
    """What the browser draws: bytes as base64, little-endian; each paper's index into the names of every colouring."""
    years = sorted({p.year for p in papers if p.year is not None})
    files = [name for name, _ in Counter(p.sources[0].file for p in papers if p.sources).most_common(MOST_TOPICS)]
    by_year = {year: i for i, year in enumerate(years)}
    by_file = {name: i for i, name in enumerate(files)}
    year = np.array([by_year.get(p.year, 255) if p.year is not None else 255 for p in papers], dtype=np.uint8)
    file = np.array([by_file.get(p.sources[0].file, 255) if p.sources else 255 for p in papers], dtype=np.uint8)
    return {
        "count": len(atlas.paper_ids),
        "places": _base64(atlas.places.astype("<u2")),
        "colours": {
            "topic": {"of": _base64(atlas.topics), "names": list(atlas.names)},
            "year": {"of": _base64(year), "names": [str(y) for y in years[:255]]},
            "source": {"of": _base64(file), "names": files},
        },
    }


def _base64(values: NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")
