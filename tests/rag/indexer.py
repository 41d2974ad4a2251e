"""Indexes in children of its own, one after another, so that a test can kill them: run by tests/rag/test_kill.py.

    indexer.py LIBRARY SOURCES LOG

For each line on stdin it forks a child that indexes SOURCES into LIBRARY, and prints the child's process id; when the
child has ended it prints its exit status. The child appends a line to LOG for each text it encodes ("encoded …") and
for each text whose vector is stored ("stored …").
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from conftest import FakeEmbedder
from numpy.typing import NDArray

from rag import embeddings, store, sync

FOLDER, SOURCES, LOG = map(Path, sys.argv[1:])


def log(kind: str, texts: Sequence[str]) -> None:
    with LOG.open("ab", buffering=0) as file:
        file.write("".join(json.dumps([kind, text]) + "\n" for text in texts).encode())


class Embedder(FakeEmbedder):
    def encode(self, texts: Sequence[str], *, on_batch: Callable[[int], None] | None = None) -> NDArray:  # type: ignore[type-arg]
        log("encoded", texts)
        return super().encode(texts, on_batch=on_batch)


class Collection(store.Collection):
    def upsert(self, ids, vectors, texts, paper_ids) -> None:  # type: ignore[no-untyped-def]
        super().upsert(ids, vectors, texts, paper_ids)
        log("stored", texts)


def index() -> None:
    store.Collection = Collection  # type: ignore[misc]
    store.HNSW.update(sync_threshold=16, batch_size=8)  # the graph goes to disk every few vectors, not every thousand
    embeddings._EMBED_BATCH = 8
    embedder = Embedder()
    sync.sync(FOLDER, [SOURCES], lambda: embedder, embedder_print=embedder.fingerprint)  # type: ignore[arg-type,return-value]


for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        index()
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
