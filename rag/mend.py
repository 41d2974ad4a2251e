"""Chroma's graph of vectors, made anew from the kept embeddings where a write that was killed left it torn.

What is torn is not tried: it is dropped, and filled from the embeddings, which SQLite keeps whole.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from rag.catalogue import Catalogue
from rag.embeddings import Embeddings, fill
from rag.errors import IndexStateError
from rag.records import Chunk
from rag.store import Collection, Guard, VectorStore

_PROBES = 16
"""Chunks by which a graph is tried: each is asked for by its own vector."""
_LOST = 0.25
"""The part of them that may stay unfound; the search is approximate."""
_SAME = 0.999
"""Cosine from which on two vectors are the same."""


def sound(folder: Path, name: str, kept: Embeddings, catalogue: Catalogue) -> tuple[VectorStore, Collection] | None:
    """The store in ``folder`` with its collection ``name``, made when missing; None where the last write to it was cut short,
    where it lacks chunks of ``catalogue``, or where it does not give back what ``kept`` has. Its graph is read into memory
    then, and nobody else's write changes that."""
    with Guard(folder).reading() as ended, contextlib.suppress(IndexStateError):
        if not ended:
            return None
        store = VectorStore(folder)
        collection = store.collection(name)
        meta = catalogue.meta()
        wanted = catalogue.count_chunks() if meta.get("collection") == name else 0
        if len(collection) < wanted:
            return None
        probes = sorted(collection.held(kept.some(_PROBES)))
        near = collection.nearest(kept.vectors(probes), 1) if probes else []
        lost = sum(not row or row[0][1] < _SAME for row in near)
        if lost <= _LOST * len(probes):
            return store, collection
    return None


def mended(folder: Path, name: str, kept: Embeddings, catalogue: Catalogue) -> tuple[VectorStore, Collection]:
    """As ``sound``, after filling the collection anew where it is not: with the chunks in ``catalogue`` whose vectors are
    in ``kept``. For the one process that may write the library. Raises IndexStateError where Chroma still refuses."""
    if found := sound(folder, name, kept, catalogue):
        return found
    try:
        store = VectorStore(folder)
        store.drop(name)
    except IndexStateError:
        shutil.rmtree(folder)
        store = VectorStore(folder)
    collection = store.collection(name)
    chunks = _chunks(catalogue)
    held = kept.held([c.chunk_id for c in chunks])
    fill(kept, collection, [c for c in chunks if c.chunk_id in held])
    return store, collection


def _chunks(catalogue: Catalogue) -> list[Chunk]:
    """The chunks in force."""
    abstracts = {p.paper_id: p.abstract for p in catalogue.papers()}
    return [
        Chunk(chunk_id, paper_id, start, end, abstracts[paper_id][start:end])
        for chunk_id, (paper_id, start, end) in catalogue.chunks().items()
    ]
