"""An indexed library, open for reading: its papers, their vectors and their words, as of one generation."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag import chunk, lexical
from rag.catalogue import Catalogue
from rag.embed import Embedder
from rag.embeddings import Embeddings
from rag.errors import IndexStateError
from rag.filters import Filter
from rag.lexical import LexicalIndex
from rag.mend import mended, sound
from rag.records import Paper
from rag.store import Collection
from rag.sync import CATALOGUE, VECTORS, embeddings_of, exclusive, require_finished, require_index
from rag.within import Within

if TYPE_CHECKING:
    from rag.graph import PassageGraph
    from rag.rerank import Reranker

_PATIENCE = 20
"""Seconds to wait for a process that is writing the vectors when they are opened."""
_KEPT = 4
"""Filters whose papers are remembered, so that the turns of a conversation or a batch find them ready."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one generation of a library is searched with; a new one takes its place when the library changes."""

    generation: str
    words: LexicalIndex
    vectors: Collection
    embeddings: Embeddings
    paper_of_chunk: dict[str, str]
    chunks_of_paper: dict[str, list[str]]
    position: dict[str, int]
    """Row of each paper in the word index."""
    fingerprint: str


class Library:
    """The library in a folder. Follows the index: when another process changes it, the next call sees the new state."""

    def __init__(self, folder: Path, embedder: Embedder, reranker: Reranker | None = None) -> None:
        """``reranker`` looks again at what a search found. Raises IndexStateError where there is no index, or one that ``embedder`` did not make."""
        require_index(folder)
        self.name = folder.name
        self.embedder = embedder
        self.reranker = reranker
        self._folder = folder
        self._lock = threading.Lock()
        self.catalogue = Catalogue(folder / CATALOGUE)
        self._within: OrderedDict[tuple[str, Filter], Within] = OrderedDict()
        self._graph: tuple[str, PassageGraph] | None = None
        self._snapshot = self._open(self.catalogue.meta())

    def _open(self, meta: dict[str, str]) -> Snapshot:
        require_finished(self.name, meta)
        if meta["embedder"] != self.embedder.fingerprint:
            raise IndexStateError(
                f"the library {self.name!r} was indexed with the embedding model {meta['embedder_name']!r} "
                f"({meta['embedder']}), not with {self.embedder.model_name!r} ({self.embedder.fingerprint}); "
                "set 'embedder' back, or run 'citewell index' to embed it anew"
            )
        kept = embeddings_of(self._folder, meta["collection"])
        if (meta["chunker"], meta["words"]) != (chunk.VERSION, lexical.VERSION) or not kept.is_file():
            raise IndexStateError(f"the library {self.name!r} was indexed by an older Citewell; run 'citewell index'")
        words = LexicalIndex.load(self._folder / meta["lexical"])
        embeddings = Embeddings(kept)
        paper_of_chunk = self.catalogue.papers_of_chunks()
        chunks_of_paper: dict[str, list[str]] = {}
        for chunk_id, paper_id in paper_of_chunk.items():
            chunks_of_paper.setdefault(paper_id, []).append(chunk_id)
        return Snapshot(
            generation=meta["generation"],
            words=words,
            vectors=self._vectors(meta["collection"], embeddings),
            embeddings=embeddings,
            paper_of_chunk=paper_of_chunk,
            chunks_of_paper=chunks_of_paper,
            position={paper_id: i for i, paper_id in enumerate(words.paper_ids)},
            fingerprint=f"{meta['embedder']}-{meta['chunker']}.{meta['words']}-{meta['corpus']}",
        )

    def _vectors(self, name: str, kept: Embeddings) -> Collection:
        """Chroma's collection ``name`` as it is now: a store opened before does not see what was written since."""
        found = sound(self._folder / VECTORS, name, kept, self.catalogue)
        if found is None:  # torn by a writer that was killed
            with exclusive(self._folder, patience=_PATIENCE):
                found = mended(self._folder / VECTORS, name, kept, self.catalogue)
        return found[1]

    def snapshot(self) -> Snapshot:
        """The state in force now."""
        meta = self.catalogue.meta()
        with self._lock:
            if meta["generation"] != self._snapshot.generation:
                self._snapshot = self._open(meta)
            return self._snapshot

    def within(self, where: Filter, snapshot: Snapshot) -> Within | None:
        """What ``where`` leaves of ``snapshot``; None where it is empty, and all papers are looked at."""
        if not where:
            return None
        key = (snapshot.generation, where)
        with self._lock:
            if key in self._within:
                self._within.move_to_end(key)
                return self._within[key]
        found = Within.of(snapshot, self.catalogue.matching(where))
        with self._lock:
            self._within[key] = found
            while len(self._within) > _KEPT:
                self._within.popitem(last=False)
        return found

    def graph(self, snapshot: Snapshot) -> PassageGraph:
        """The graph of the passages of ``snapshot``; made when it is first asked for, and kept beside the library."""
        from rag.graph import PassageGraph

        with self._lock:
            if self._graph is None or self._graph[0] != snapshot.fingerprint:
                path = self._folder / f"graph-{snapshot.fingerprint}.npz"
                if path.is_file():
                    graph = PassageGraph.load(path)
                else:
                    graph = PassageGraph.build(snapshot.vectors, snapshot.embeddings, snapshot.paper_of_chunk)
                    graph.save(path)
                    for old in set(self._folder.glob("graph-*.npz")) - {path}:
                        old.unlink(missing_ok=True)
                self._graph = (snapshot.fingerprint, graph)
            return self._graph[1]

    def papers(self, paper_ids: Sequence[str] | None = None) -> list[Paper]:
        """All papers by id, or those of ``paper_ids`` in that order; unknown ones are left out."""
        return self.catalogue.papers(paper_ids)

    def __len__(self) -> int:
        return len(self.snapshot().words.paper_ids)

    def close(self) -> None:
        self.catalogue.close()
