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
from rag.lexical import terms
from rag.library import Library
from rag.records import Paper

VERSION = "2"
MOST_TOPICS = 10
MOST_NAMED = 400
"""Papers of a library whose dots are named in the picture; of more the names would not be read."""
_LONGEST_NAME = 32
_PAIR = 4.0
"""What a pair of words is worth more than one as the name of a topic; by eye."""
_COMMON = """
across additionally address addresses achieve achieves achieving among analysis approach approaches available based
because benchmark benchmarks best better between both challenge challenges code compared comparable comprehensive
consistent consistently currently demonstrate demonstrates demonstrating design designed despite different diverse
effective effectively effectiveness efficient enables enabling ensure evaluate evaluation existing experiments
experimental extensive first framework from further generate generated have however important improve improves
improvement including instead into introduce introduces introducing issue key leading leads leverage leverages
leveraging limited limitations mechanism method methods more multiple need novel often only outperforming
outperforms over paper perform performance present prior problem process promising propose proposed provide
provides recent recently remain remains remarkable require requires research respectively results robust shown
show shows significant significantly simple single specifically state strategy strong study such superior
systems task tasks than that their them then these they this those through thus toward towards under unlike
used using validate various well what when where whether which while will with within without work works yet
"""
_OF_ANY_ABSTRACT = frozenset(stem for word in _COMMON.split() for stem in terms(word)[:1])
"""Stems of words that tell of no subject."""
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
    placed: NDArray[np.float64] = centred @ whiten @ directions[:2].T
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


def names_of(papers: Sequence[Paper], topics: NDArray[np.uint8], *, most: int = 2) -> tuple[str, ...]:
    """For each topic the words, rather two that go together than one, that far more of its papers hold than of the
    others."""
    held = [_phrases(p) for p in papers]
    everywhere = Counter(key for phrases in held for key in phrases)
    names = []
    for topic in range(int(topics.max()) + 1 if len(topics) else 0):
        members = [phrases for phrases, t in zip(held, topics, strict=True) if t == topic]
        here = Counter(key for phrases in members for key in phrases)
        spelt = {key: shown for phrases in members for key, shown in phrases.items()}
        others = max(1, len(papers) - len(members))
        worth = {
            key: (n / len(members) - (everywhere[key] - n) / others)
            * math.log(1 + len(papers) / everywhere[key])
            * (_PAIR if len(key) > 1 else 1.0)
            for key, n in here.items()
            if n >= max(min(2, len(members)), len(members) / 8)
        }
        chosen: list[tuple[str, ...]] = []
        for key in sorted(worth, key=lambda key: (-worth[key], key)):
            if len(chosen) < most and worth[key] > 0 and not any(set(key) & set(other) for other in chosen):
                chosen.append(key)
        names.append(", ".join(spelt[key] for key in chosen) or f"topic {topic + 1}")
    return tuple(names)


def _phrases(paper: Paper) -> dict[tuple[str, ...], str]:
    """The words of a paper and its pairs of neighbours, by their stems: as they are spelt."""
    found: dict[tuple[str, ...], str] = {}
    before = ("", "")
    for word in plain(f"{paper.title or ''} {paper.abstract}").lower().replace("-", " ").split():
        bare = word.strip(".,;:()")
        stem = (terms(bare) or [""])[0] if bare.isalpha() and len(bare) > 3 else ""
        stem = "" if stem in _OF_ANY_ABSTRACT else stem
        if stem:
            found[(stem,)] = bare
            if before[0]:
                found[(before[0], stem)] = f"{before[1]} {bare}"
        before = (stem, bare) if bare == word else ("", "")
    return found


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
        "labels": [_short(p.label) for p in papers] if len(papers) <= MOST_NAMED else [],
        "places": _base64(atlas.places.astype("<u2")),
        "colours": {
            "topic": {"of": _base64(atlas.topics), "names": list(atlas.names)},
            "year": {"of": _base64(year), "names": [str(y) for y in years[:255]]},
            "source": {"of": _base64(file), "names": files},
        },
    }


def _short(label: str) -> str:
    text = plain(label)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1].rstrip() + "…"


def _base64(values: NDArray[Any]) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")
