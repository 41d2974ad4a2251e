"""What the embedder said of the passages, in one SQLite file: of each chunk its vector and those of its tokens.

Chroma's graph finds the nearest chunks among all; everything else that looks at vectors reads them here, where a few
hundred cost a millisecond. A write that is killed leaves SQLite whole but may leave Chroma's graph torn, which is then
made anew from this file: nothing is embedded again.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rag.chunk import embedded_text
from rag.embed import Vectors
from rag.errors import IndexStateError
from rag.late import Asked, Passages, Scale
from rag.records import Chunk
from rag.sqlite import transaction

if TYPE_CHECKING:
    from rag.embed import Embedder
    from rag.store import Collection

_SCHEMA = """
CREATE TABLE IF NOT EXISTS scale (mean BLOB NOT NULL, step BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (chunk_id TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS tokens (chunk_id TEXT PRIMARY KEY, body BLOB NOT NULL);
"""
_ASKED_FOR = 10_000
"""Ids in one query, of the 32,766 values that SQLite takes."""
_UNPACKED = 128
"""Chunks whose tokens are unpacked at a time: about 40 MB."""
_EMBED_BATCH = 1024


class Embeddings:
    """Vectors and token vectors by chunk id; safe to share between threads.

    Written before Chroma is, and both before the catalogue is committed; cleaned after it.
    """

    def __init__(self, path: Path) -> None:
        """Opens the file, making it when missing. Raises IndexStateError where that cannot be done."""
        self._lock = threading.Lock()
        self._path = path
        with self._said("opened"):
            self._db = sqlite3.connect(path, check_same_thread=False, timeout=30, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            for statement in _SCHEMA.split(";"):
                self._db.execute(statement)
            self._scale = self._read_scale()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def held(self, ids: Sequence[str]) -> set[str]:
        """Those of ``ids`` that are held."""
        with self._lock, self._said("read"):
            known = "SELECT 1 FROM vectors WHERE chunk_id = ?"
            return {i for i in ids if self._db.execute(known, (i,)).fetchone()}

    def write(self, ids: Sequence[str], vectors: Vectors, tokens: Sequence[Vectors]) -> None:
        """Keeps ``vectors[i]``, a unit row of (n, d) float32, and ``tokens[i]``, (t_i, d) unit rows or none, under
        ``ids[i]``; what was there is replaced.

        The first tokens written decide the scale that all are kept on.
        """
        with self._lock, self._said("written"), transaction(self._db):
            if self._scale is None and any(len(t) for t in tokens):
                self._scale = self._read_scale() or self._write_scale(Scale.of(np.concatenate(tokens)))
            rows = np.asarray(vectors, dtype=np.float32)
            self._db.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                ((i, row.tobytes()) for i, row in zip(ids, rows, strict=True)),
            )
            self._db.executemany(
                "INSERT OR REPLACE INTO tokens VALUES (?, ?)",
                ((i, self._scale.packed(t)) for i, t in zip(ids, tokens, strict=True) if self._scale and len(t)),
            )
            self._db.executemany(
                "DELETE FROM tokens WHERE chunk_id = ?",
                ((i,) for i, t in zip(ids, tokens, strict=True) if not len(t)),
            )

    def delete(self, ids: Iterable[str]) -> None:
        """Removes ``ids``; unknown ones are passed over."""
        gone = [(i,) for i in ids]
        with self._lock, self._said("written"), transaction(self._db):
            self._db.executemany("DELETE FROM vectors WHERE chunk_id = ?", gone)
            self._db.executemany("DELETE FROM tokens WHERE chunk_id = ?", gone)

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """The vectors of ``ids``, in their order: (n, d) float32; no columns where none was asked for.

        Raises IndexStateError for one that is missing.
        """
        rows = dict(self._rows("vectors", ids))
        if missing := [i for i in ids if i not in rows]:
            raise IndexStateError(
                f"{len(missing)} vectors are missing from the index, {missing[0]} first; "
                "'citewell index --rebuild' makes them anew"
            )
        found = np.frombuffer(b"".join(rows[i] for i in ids), dtype=np.float32)
        return found.reshape(len(ids), -1 if len(found) else 0)

    def some(self, count: int) -> list[str]:
        """At most ``count`` of the ids held, from all over the file."""
        with self._lock, self._said("read"):
            last = self._db.execute("SELECT coalesce(max(rowid), 0) FROM vectors").fetchone()[0]
            above = "SELECT chunk_id FROM vectors WHERE rowid > ? ORDER BY rowid LIMIT 1"
            found = [self._db.execute(above, (last * n // count,)).fetchone() for n in range(count)]
        return list(dict.fromkeys(row[0] for row in found if row))

    def scores(self, question: Vectors, ids: Sequence[str], weights: Vectors) -> dict[str, float]:
        """As ``scores_many`` for one question."""
        return self.scores_many([question], [ids], [weights])[0]

    def scores_many(
        self, questions: Sequence[Vectors], ids: Sequence[Sequence[str]], weights: Sequence[Vectors]
    ) -> list[dict[str, float]]:
        """MaxSim of each question, the (q, d) unit rows of its tokens, and each of its own chunks ``ids[i]``: the mean over
        its tokens, weighted by ``weights[i]``, (q,) with sum 1, of the best cosine; in [-1, 1], to six decimals. Chunks
        without token vectors are left out. A chunk is read and unpacked once, however many questions it is held against."""
        found: list[dict[str, float]] = [{} for _ in questions]
        if self._scale is None:
            return found
        asked = [
            Asked(q, w, self._scale, set(chunk_ids))
            for q, w, chunk_ids in zip(questions, weights, ids, strict=True)
            if len(q)
        ]
        scored = [at for at, q in enumerate(questions) if len(q)]
        every = list(dict.fromkeys(i for at in scored for i in ids[at]))
        for at in range(0, len(every), _UNPACKED):
            rows = self._rows("tokens", every[at : at + _UNPACKED])
            if not rows:
                continue
            passages = Passages.of([i for i, _ in rows], [body for _, body in rows], self._scale)
            for place, scores in zip(scored, passages.scores(asked), strict=True):
                found[place].update(scores)
        return found

    def _rows(self, table: str, ids: Sequence[str]) -> list[tuple[str, bytes]]:
        """What ``table`` holds of ``ids``, in any order."""
        found: list[tuple[str, bytes]] = []
        for at in range(0, len(ids), _ASKED_FOR):
            part = list(ids[at : at + _ASKED_FOR])
            with self._lock, self._said("read"):
                found += self._db.execute(
                    f"SELECT chunk_id, body FROM {table} WHERE chunk_id IN ({','.join('?' * len(part))})", part
                )
        return found

    def _read_scale(self) -> Scale | None:
        row = self._db.execute("SELECT mean, step FROM scale").fetchone()
        return Scale(*(np.frombuffer(part, np.float32) for part in row)) if row else None

    def _write_scale(self, scale: Scale) -> Scale:
        self._db.execute("INSERT INTO scale VALUES (?, ?)", (scale.mean.tobytes(), scale.step.tobytes()))
        return scale

    @contextlib.contextmanager
    def _said(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise IndexStateError(
                f"the embeddings {self._path} cannot be {what} ({error}); "
                "check the disk; 'citewell index --rebuild' makes them anew"
            ) from error


def embed(
    embedder: Embedder,
    kept: Embeddings,
    indexed: Collection,
    chunks: Sequence[Chunk],
    *,
    on_progress: Callable[[int, int], None],
) -> int:
    """Brings ``chunks`` into the file and into Chroma; gives how many had to be embedded, of which ``on_progress`` is told
    how many are done and how many there are."""
    held = kept.held([c.chunk_id for c in chunks])
    known = indexed.held([c.chunk_id for c in chunks])
    fill(kept, indexed, [c for c in chunks if c.chunk_id in held and c.chunk_id not in known])
    todo = [c for c in chunks if c.chunk_id not in held]
    if todo:
        on_progress(0, len(todo))
    for at in range(0, len(todo), _EMBED_BATCH):
        part = todo[at : at + _EMBED_BATCH]
        done = at
        vectors, tokens = embedder.read(
            [embedded_text(c) for c in part],
            on_batch=lambda n, done=done: on_progress(done + n, len(todo)),  # type: ignore[misc]
        )
        kept.write([c.chunk_id for c in part], vectors, tokens)
        _index(indexed, part, vectors)
    return len(todo)


def fill(kept: Embeddings, indexed: Collection, chunks: Sequence[Chunk]) -> None:
    """Brings the vectors of ``chunks``, all of them kept, into Chroma."""
    for at in range(0, len(chunks), _EMBED_BATCH):
        part = chunks[at : at + _EMBED_BATCH]
        _index(indexed, part, kept.vectors([c.chunk_id for c in part]))


def _index(indexed: Collection, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    indexed.upsert([c.chunk_id for c in chunks], vectors, [c.text for c in chunks], [c.paper_id for c in chunks])
