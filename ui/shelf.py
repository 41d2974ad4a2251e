"""The papers of a library as a table: searched, filtered and sorted at once, for thousands of papers."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag.lexical import LexicalIndex
from rag.library import Library
from rag.records import Paper
from rag.terms import terms

SORTS = ("place", "label", "authors", "year", "relevance")
_IN_NAME, _IN_REST = 1000.0, 500.0


@dataclass(frozen=True, slots=True)
class Look:
    """How the table is looked at; "" and None filter nothing."""

    search: str = ""
    sort: str = "place"
    down: bool = False
    """The highest first."""
    source: str = ""
    """The name of a file."""
    year: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """What is searched and sorted of a paper; ``name`` and ``rest`` are folded for searching."""

    paper_id: str
    name: str
    rest: str
    authors: str
    year: int | None
    place: tuple[str, int]
    files: tuple[str, ...]


class Shelf:
    """The rows of all papers, as of one generation of the library; immutable but for what it remembers."""

    def __init__(self, papers: Sequence[Paper], words: LexicalIndex) -> None:
        self.rows = [_row(paper) for paper in papers]
        self._words = words
        self._position = {paper_id: i for i, paper_id in enumerate(words.paper_ids)}
        self._last: tuple[Look, list[str]] | None = None
        self.sources = sorted(Counter(file for row in self.rows for file in row.files).items())
        """Each file with the number of its papers."""
        self.years = sorted(Counter(row.year for row in self.rows if row.year is not None).items(), reverse=True)
        """Each year with the number of its papers, the latest first."""
        self.bare = [
            name for name, held in (("authors", any(r.authors for r in self.rows)), ("year", self.years)) if not held
        ]
        """Columns that no paper fills."""

    def __len__(self) -> int:
        return len(self.rows)

    def find(self, look: Look) -> list[str]:
        """Ids of the papers that ``look`` lets through, in its order; ties by id."""
        if self._last is not None and self._last[0] == look:
            return self._last[1]
        rows = [
            row
            for row in self.rows
            if (not look.source or look.source in row.files) and (look.year is None or row.year == look.year)
        ]
        if look.search.strip():
            scores = self._scores(look.search, rows)
            rows = [row for row in rows if scores[row.paper_id] > 0]
        else:
            scores = {}
        rows.sort(key=lambda row: row.paper_id)
        if look.sort == "relevance":
            rows.sort(key=lambda row: -scores.get(row.paper_id, 0.0))
        elif look.sort == "year":
            rows.sort(key=lambda row: row.year or 0, reverse=look.down)
            rows.sort(key=lambda row: row.year is None)  # what has no year comes last either way
        elif look.sort in ("label", "authors"):
            rows.sort(key=lambda row: row.name if look.sort == "label" else row.authors, reverse=look.down)
            rows.sort(key=lambda row: look.sort == "authors" and not row.authors)
        else:
            rows.sort(key=lambda row: row.place, reverse=look.down)
        found = [row.paper_id for row in rows]
        self._last = (look, found)
        return found

    def _scores(self, search: str, rows: Sequence[Row]) -> dict[str, float]:
        """How well each row fits: by the words of its abstract, and more where the very letters stand in its name."""
        by_words = self._words.scores(asked) if (asked := terms(search)) else np.zeros(len(self._position))
        wanted = _folded(search)
        return {
            row.paper_id: float(by_words[self._position[row.paper_id]] if row.paper_id in self._position else 0.0)
            + (_IN_NAME if wanted in row.name else _IN_REST if wanted in row.rest else 0.0)
            for row in rows
        }


class Shelves:
    """The shelf of a library that may change: made anew when it has."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: tuple[str, Shelf] | None = None

    def of(self, library: Library) -> Shelf:
        """The shelf of the library as it is now; takes a few seconds for the first time with 100,000 papers."""
        snapshot = library.snapshot()
        with self._lock:
            if self._made is None or self._made[0] != snapshot.generation:
                self._made = (snapshot.generation, Shelf(library.papers(), snapshot.words))
            return self._made[1]


def similar(library: Library, paper_id: str, *, k: int = 6) -> list[Paper]:
    """The ``k`` papers whose passages come nearest to the middle of the paper's own, nearest first."""
    snapshot = library.snapshot()
    own = snapshot.chunks_of_paper.get(paper_id, [])
    if not own:
        return []
    middle = snapshot.embeddings.vectors(own).mean(axis=0)
    near = snapshot.vectors.nearest(middle[None, :] / np.linalg.norm(middle), 10 * k + len(own))[0]
    ids = dict.fromkeys(snapshot.paper_of_chunk.get(chunk_id, paper_id) for chunk_id, _ in near)
    return library.papers([i for i in ids if i != paper_id][:k])


def _row(paper: Paper) -> Row:
    first = paper.sources[0] if paper.sources else None
    files = tuple(dict.fromkeys(source.file for source in paper.sources))
    authors = ", ".join(paper.authors)
    return Row(
        paper.paper_id,
        _folded(f"{paper.label} {paper.title}"),
        _folded(f"{authors} {paper.venue} {' '.join(paper.keywords)} {' '.join(files)} {paper.year or ''}"),
        _folded(authors),
        paper.year,
        (first.file, first.row) if first else ("", 0),
        files,
    )


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
