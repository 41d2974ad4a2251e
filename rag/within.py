"""The part of a library that a filter leaves, and the chunks in it that are near a question."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rag.embed import Vectors

if TYPE_CHECKING:
    from rag.library import Snapshot

_COMPARED = 5000
"""Chunks up to which the vectors are compared one by one; beyond, the graph of all of them is asked for more."""


@dataclass(frozen=True, slots=True)
class Within:
    """The papers of a snapshot that a filter lets through, ``len`` of them."""

    paper_ids: frozenset[str]
    held: NDArray[np.bool_]
    """Whether each paper of the word index is one of them."""
    chunk_ids: tuple[str, ...]
    vectors: Vectors | None
    """(n, d), those of ``chunk_ids``; None where there are many."""

    @classmethod
    def of(cls, snapshot: Snapshot, paper_ids: Set[str]) -> Within:
        found = frozenset(i for i in paper_ids if i in snapshot.position)
        held = np.zeros(len(snapshot.words.paper_ids), dtype=np.bool_)
        held[[snapshot.position[i] for i in found]] = True
        chunk_ids = tuple(c for i in sorted(found) for c in snapshot.chunks_of_paper.get(i, ()))
        few = len(chunk_ids) <= _COMPARED
        return cls(found, held, chunk_ids, snapshot.embeddings.vectors(chunk_ids) if few and chunk_ids else None)

    def __len__(self) -> int:
        return len(self.paper_ids)

    def nearest(self, snapshot: Snapshot, vectors: Vectors, depth: int, papers: int) -> list[list[tuple[str, float]]]:
        """For each query row of ``vectors`` (q, d) chunks of these papers with their cosines, best first: all of them,
        or at least ``depth``, of at least ``papers`` papers."""
        if not self.chunk_ids:
            return [[] for _ in vectors]
        if self.vectors is not None:
            cosines = vectors @ self.vectors.T
            order = np.argsort(-cosines, axis=1, kind="stable")
            return [
                [(self.chunk_ids[i], float(row[i])) for i in best] for row, best in zip(cosines, order, strict=True)
            ]
        total = len(snapshot.vectors)
        reach = depth * total // len(self.chunk_ids)
        while True:
            reach = min(total, 2 * reach)
            found = [
                [(c, cosine) for c, cosine in row if snapshot.paper_of_chunk.get(c) in self.paper_ids]
                for row in snapshot.vectors.nearest(vectors, reach)
            ]
            enough = all(
                len(row) >= depth and len({snapshot.paper_of_chunk[c] for c, _ in row}) >= papers for row in found
            )
            if enough or reach == total:
                return found
