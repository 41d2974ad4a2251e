"""Vectors on disk in Chroma; the only importer of chromadb.

Chroma is written before the catalogue is committed and cleaned after, so at any moment it may hold more vectors than
the catalogue knows, never fewer: readers pass over ids they do not know.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import chromadb
import numpy as np
from chromadb.config import Settings

from rag.embed import Vectors
from rag.errors import IndexStateError

_BATCH = 2000


class VectorStore:
    """Collections of unit vectors by chunk id, cosine distance, one folder."""

    def __init__(self, folder: Path) -> None:
        """Opens or makes the store in ``folder``. Raises IndexStateError where Chroma cannot."""
        try:
            self._client = chromadb.PersistentClient(
                path=str(folder), settings=Settings(anonymized_telemetry=False, allow_reset=False)
            )
        except Exception as error:  # chromadb raises whatever its Rust core, sqlite or the disk raised
            raise IndexStateError(
                f"the vectors in {folder} cannot be opened ({error}); "
                "'citewell index --rebuild' makes them anew from the sources"
            ) from error

    def collections(self) -> list[str]:
        return sorted(c.name for c in self._client.list_collections())

    def drop(self, name: str) -> None:
        """Removes a collection with all its vectors; one that is not there is no fault."""
        with contextlib.suppress(chromadb.errors.NotFoundError):
            self._client.delete_collection(name)

    def collection(self, name: str) -> Collection:
        """The collection ``name``, made when missing."""
        return Collection(
            self._client.get_or_create_collection(
                name,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine", "ef_construction": 200, "ef_search": 200, "max_neighbors": 32}},
            )
        )


class Collection:
    """One collection of the store."""

    def __init__(self, collection: chromadb.Collection) -> None:
        self._collection = collection

    def __len__(self) -> int:
        return self._collection.count()

    def ids(self) -> set[str]:
        """All ids held."""
        return set(self._collection.get(include=[])["ids"])

    def upsert(self, ids: Sequence[str], vectors: Vectors, texts: Sequence[str], paper_ids: Sequence[str]) -> None:
        """Writes vectors (n, d) with their texts under ``ids``; what was there under an id is replaced."""
        for at in range(0, len(ids), _BATCH):
            part = slice(at, at + _BATCH)
            self._collection.upsert(
                ids=list(ids[part]),
                embeddings=np.asarray(vectors[part], dtype=np.float32),
                documents=list(texts[part]),
                metadatas=[{"paper_id": p} for p in paper_ids[part]],
            )

    def delete(self, ids: Iterable[str]) -> None:
        """Removes ``ids``; unknown ones are passed over."""
        gone = sorted(ids)
        for at in range(0, len(gone), _BATCH):
            self._collection.delete(ids=gone[at : at + _BATCH])

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """The stored vectors of ``ids``, in their order: (n, d) float32. Raises KeyError for one that is missing."""
        rows: dict[str, Sequence[float]] = {}
        for at in range(0, len(ids), _BATCH):
            got = self._collection.get(ids=list(ids[at : at + _BATCH]), include=["embeddings"])
            embeddings = got["embeddings"]
            if embeddings is not None:
                rows.update(zip(got["ids"], embeddings, strict=True))  # type: ignore[arg-type]
        return np.asarray([rows[i] for i in ids], dtype=np.float32)

    def nearest(self, vectors: Vectors, k: int) -> list[list[tuple[str, float]]]:
        """For each query row of ``vectors`` (q, d) its ``k`` nearest ids with cosines, best first."""
        k = min(k, len(self))
        if k == 0:
            return [[] for _ in vectors]
        got = self._collection.query(query_embeddings=np.asarray(vectors, dtype=np.float32), n_results=k, include=["distances"])
        distances = got["distances"]
        assert distances is not None
        return [
            [(i, 1.0 - float(d)) for i, d in zip(ids, row, strict=True)]
            for ids, row in zip(got["ids"], distances, strict=True)
        ]
