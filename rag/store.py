"""Vectors on disk in Chroma; the only importer of chromadb.

Chroma is written before the catalogue is committed and cleaned after, so at any moment it may hold more vectors than
the catalogue knows, never fewer: readers pass over ids they do not know.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.api import ServerAPI
from chromadb.api.client import Client
from chromadb.config import Settings, System
from chromadb.telemetry.product import ProductTelemetryClient
from filelock import FileLock, Timeout

from rag.embed import Vectors
from rag.errors import IndexStateError

HNSW: dict[str, Any] = {"space": "cosine", "ef_construction": 200, "ef_search": 800, "max_neighbors": 32}
"""The graph of vectors; what it holds is set when a collection is made. Of the ten nearest of 12,758 static vectors a
search of 200 finds .992, of 400 .998 and of 800 all, for 3.1, 3.6 and 4.2 ms."""

_BATCH = 2000
_PATIENCE = 30
"""Seconds to wait for another process that writes a batch."""


@contextlib.contextmanager
def _said(what: str) -> Iterator[None]:
    """Turns whatever chromadb, its Rust core, SQLite or the disk raises into an IndexStateError."""
    try:
        yield
    except chromadb.errors.ChromaError as error:
        raise IndexStateError(
            f"{what} ({' '.join(str(error).split())}); check the disk; 'citewell index --rebuild' makes them anew"
        ) from error


class Guard:
    """Keeps the graphs in a folder from being read while they are written, and remembers a write that was cut short.

    Chroma writes its graph in place. What a killed process leaves may be files that are too short for what they say they
    hold, which bring down a process that reads them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = FileLock(folder.with_name(f"{folder.name}.lock"))
        self._mark = folder.with_name(f"{folder.name}.writing")

    @contextlib.contextmanager
    def reading(self) -> Iterator[bool]:
        """Nobody writes meanwhile; gives whether the last write came to its end. Raises IndexStateError where another process
        does not come to an end of its own."""
        try:
            self._lock.acquire(timeout=_PATIENCE)
        except Timeout as error:
            raise IndexStateError(
                f"the vectors in {self._folder} are being written by another process; try again when it has ended"
            ) from error
        except OSError as error:
            raise IndexStateError(
                f"the vectors in {self._folder} cannot be locked ({error}); check that the folder can be written"
            ) from error
        try:
            yield not self._mark.exists()
        finally:
            self._lock.release()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Nobody reads or writes meanwhile. A fault, as being killed, is remembered until something is written again."""
        with self.reading():
            self._mark.touch()
            yield
            self._mark.unlink()


class VectorStore:
    """Collections of unit vectors by chunk id, cosine distance, one folder.

    What another process, or another store of the same folder, writes is seen by a store that is opened after it: Chroma
    keeps the graph of vectors it once read, and what it gave a client it gives all clients of the folder in a process.
    """

    def __init__(self, folder: Path) -> None:
        """Opens or makes the store in ``folder``. Raises IndexStateError where Chroma cannot."""
        self._guard = Guard(folder)
        try:
            # What chromadb.PersistentClient does, but for the system, which is this store's own
            system = System(
                Settings(
                    persist_directory=str(folder), is_persistent=True, anonymized_telemetry=False, allow_reset=False
                )
            )
            system.instance(ProductTelemetryClient)  # type: ignore[type-abstract]
            system.instance(ServerAPI)  # type: ignore[type-abstract]
            system.start()
            self._client = Client.from_system(system)
        except Exception as error:  # chromadb raises whatever its Rust core, sqlite or the disk raised
            raise IndexStateError(
                f"the vectors in {folder} cannot be opened ({error}); "
                "'citewell index --rebuild' makes them anew from the sources"
            ) from error

    def collections(self) -> list[str]:
        with _said("the vectors cannot be listed"):
            return sorted(c.name for c in self._client.list_collections())

    def drop(self, name: str) -> None:
        """Removes a collection with all its vectors; one that is not there is no fault."""
        missing = contextlib.suppress(chromadb.errors.NotFoundError)
        with _said("old vectors cannot be removed"), self._guard.writing(), missing:
            self._client.delete_collection(name)

    def collection(self, name: str) -> Collection:
        """The collection ``name``, made when missing."""
        configuration: Any = {"hnsw": dict(HNSW)}
        with _said("the vectors cannot be opened"):
            return Collection(
                self._client.get_or_create_collection(name, embedding_function=None, configuration=configuration),
                self._guard,
            )


class Collection:
    """One collection of the store."""

    def __init__(self, collection: chromadb.Collection, guard: Guard) -> None:
        self._collection = collection
        self._guard = guard

    def __len__(self) -> int:
        with _said("the vectors cannot be counted"):
            return self._collection.count()

    def ids(self) -> set[str]:
        """All ids held."""
        with _said("the vectors cannot be listed"):
            return set(self._collection.get(include=[])["ids"])

    def held(self, ids: Sequence[str]) -> set[str]:
        """Those of ``ids`` that are held."""
        found: set[str] = set()
        for at in range(0, len(ids), _BATCH):
            with _said("the vectors cannot be listed"):
                found.update(self._collection.get(ids=list(ids[at : at + _BATCH]), include=[])["ids"])
        return found

    def upsert(self, ids: Sequence[str], vectors: Vectors, texts: Sequence[str], paper_ids: Sequence[str]) -> None:
        """Writes vectors (n, d) with their texts under ``ids``; what was there under an id is replaced."""
        for at in range(0, len(ids), _BATCH):
            part = slice(at, at + _BATCH)
            with _said("vectors could not be written"), self._guard.writing():
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
            with _said("old vectors could not be removed"), self._guard.writing():
                self._collection.delete(ids=gone[at : at + _BATCH])

    def nearest(self, vectors: Vectors, k: int) -> list[list[tuple[str, float]]]:
        """For each query row of ``vectors`` (q, d) its ``k`` nearest ids with cosines, best first; all where there are
        fewer."""
        with _said("the vectors cannot be searched"):
            got = self._collection.query(
                query_embeddings=np.asarray(vectors, dtype=np.float32), n_results=k, include=["distances"]
            )
        distances = got["distances"]
        assert distances is not None
        return [
            [(i, 1.0 - float(d)) for i, d in zip(ids, row, strict=True)]
            for ids, row in zip(got["ids"], distances, strict=True)
        ]
