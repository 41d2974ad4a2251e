"""A graph of passages over which a question's hits spread, for papers that answer it only by way of another.

After G³RAG (Geometric Gain Graph, one of the seeds), as its abstract tells it: no language model is asked; an edge of two
passages at angle θ weighs cos θ · sin θ, most at 45°, nothing for a copy (no news) or a stranger (no relevance); passages
that many others lead to are held down; what the hits give off spreads for a few steps and is read before it settles.
Edges go to the nearest passages of other papers, out of the vector index.

Off by default, since it gained nothing where it was measured: the 210 tune and calibrate questions about the seeds that
stand alone and are about one or two papers, 22 of them about two (x100; all@2: both papers are the first two)::

                            all             two papers              paraphrases
                            nDCG@10  R@1    nDCG@10  all@2  all@5   nDCG@10  R@5
    without                 94.3     85.7   99.1     90.9   100     75.0     85.1
    3 sources, 1 step       94.3     85.2   99.3     90.9   100     74.8     85.1
    3 sources, 2 steps      94.2     85.2   98.7     86.4   100     74.8     85.1
    5 sources, 2 steps      93.7     84.3   98.7     86.4   100     72.4     85.1
    3, 2, no hub penalty    94.1     85.2   98.3     81.8   100     74.5     87.2
    3, 2, weight 0.4        91.7     80.7   97.2     86.4   95.5    68.8     74.5

Questions of several hops, whose second paper the question does not name, are not among them.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rag.embeddings import Embeddings
from rag.errors import IndexStateError
from rag.store import Collection

NEIGHBOURS = 12
"""Edges that leave a passage."""
STEPS = 2
"""Steps of the diffusion that are read."""
DECAY = 0.5
"""What a step passes on of what it got."""
HUB_PENALTY = 0.5
"""Power of a passage's incoming edges that the edges to it are divided by."""
_ASKED = 500
_SPARE = 6
"""Neighbours asked for beyond those wanted: a passage finds itself and its own paper's others."""


@dataclass(frozen=True, slots=True)
class PassageGraph:
    """Passages and, of each, where what it holds goes: (n, n), rows sum to 1, or to 0 where no edge leaves."""

    chunk_ids: tuple[str, ...]
    """Ascending."""
    moves: csr_matrix

    @classmethod
    def build(cls, vectors: Collection, embeddings: Embeddings, paper_of_chunk: Mapping[str, str]) -> PassageGraph:
        """The graph of the passages ``paper_of_chunk`` names, whose vectors are in ``vectors`` and in ``embeddings``."""
        chunk_ids = sorted(paper_of_chunk)
        place = {c: i for i, c in enumerate(chunk_ids)}
        rows: list[int] = []
        columns: list[int] = []
        cosines: list[float] = []
        for at in range(0, len(chunk_ids), _ASKED):
            part = chunk_ids[at : at + _ASKED]
            found = vectors.nearest(embeddings.vectors(part), NEIGHBOURS + _SPARE)
            for chunk_id, near in zip(part, found, strict=True):
                own = paper_of_chunk[chunk_id]
                others = [(place[c], s) for c, s in near if paper_of_chunk.get(c, own) != own][:NEIGHBOURS]
                rows += [place[chunk_id]] * len(others)
                columns += [i for i, _ in others]
                cosines += [s for _, s in others]
        return cls(tuple(chunk_ids), _moves(len(chunk_ids), rows, columns, np.asarray(cosines)))

    def save(self, path: Path) -> None:
        """Writes the graph to ``path``, whole or not at all."""
        partial = path.with_name(f"{path.stem}.{os.getpid()}.partial.npz")
        moves = self.moves
        np.savez(partial, ids=np.array(self.chunk_ids), data=moves.data, indices=moves.indices, indptr=moves.indptr)
        partial.replace(path)

    @classmethod
    def load(cls, path: Path) -> PassageGraph:
        """The graph in ``path``. Raises IndexStateError where it is damaged."""
        try:
            with np.load(path) as held:
                ids = tuple(held["ids"].tolist())
                moves = csr_matrix((held["data"], held["indices"], held["indptr"]), shape=(len(ids), len(ids)))
        except (OSError, EOFError, ValueError, KeyError) as error:
            raise IndexStateError(f"the graph {path} cannot be read ({error}); remove it, it is made anew") from error
        return cls(ids, moves)

    def spread(self, sources: Mapping[str, float]) -> dict[str, float]:
        """What reaches each passage from ``sources``, chunk ids with weights of at least 0, over all steps that are read;
        the most that reaches one is 1. Sources that are no passages of the graph give nothing."""
        places = ((bisect_left(self.chunk_ids, c), c, w) for c, w in sources.items() if w > 0)
        held = [(i, w) for i, c, w in places if i < len(self.chunk_ids) and self.chunk_ids[i] == c]
        if not held:
            return {}
        at, weights = (np.array(v) for v in zip(*held, strict=True))
        now = csr_matrix((weights / weights.sum(), (np.zeros(len(at), int), at)), shape=(1, len(self.chunk_ids)))
        total = csr_matrix(now.shape)
        for _ in range(STEPS):
            now = DECAY * (now @ self.moves)
            total = total + now
        most = float(total.max()) if total.nnz else 0.0
        if not most:
            return {}
        return {self.chunk_ids[i]: float(v) / most for i, v in zip(total.indices, total.data, strict=True)}


def gain(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weight of edges between passages of these cosines: cos θ · sin θ, in [0, 1/2]; 0 for obtuse angles."""
    bounded = np.clip(cosines, 0.0, 1.0)
    return np.asarray(bounded * np.sqrt(1.0 - bounded**2))


def _moves(size: int, rows: Sequence[int], columns: Sequence[int], cosines: NDArray[np.float64]) -> csr_matrix:
    incoming = np.bincount(np.asarray(columns, int), minlength=size)
    weights = gain(cosines) / np.maximum(incoming[list(columns)], 1) ** HUB_PENALTY if len(cosines) else cosines
    edges = csr_matrix((weights, (list(rows), list(columns))), shape=(size, size))
    leaving = np.asarray(edges.sum(axis=1)).ravel()
    scale = np.divide(1.0, leaving, out=np.zeros(size), where=leaving > 0)
    return csr_matrix(edges.multiply(scale[:, None]))
