"""Late interaction: the vectors of a passage's tokens, kept beside its one vector, and how well a question's fit them.

A passage's one vector is the mean of its tokens' and blurs what only one clause of it says. Comparing token by token
(ColBERT's MaxSim, arXiv 2004.12832: for each token of the question its best match in the passage, averaged) finds the
clause. The token vectors come from the pass that makes the passage's vector, so they cost disk, not time: four bits a
component, on which MaxSim loses nothing that was measured.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.embed import Vectors
from rag.errors import IndexStateError

_SPREAD = 2.8
"""Standard deviations to either side that the sixteen steps of a component span."""
_STEPS = 15.0
_TELLING = 0.6
"""The share of a question's weight that goes to its tokens by how rare their words are."""
_BATCH = 128
"""Chunks unpacked at a time: about 40 MB."""
_TOGETHER = 16
"""Questions that are held against the same chunks at a time."""


class TokenStore:
    """Token vectors by chunk id in one SQLite file; safe to share between threads.

    Written before the catalogue is committed and cleaned after, as the chunks' vectors are.
    """

    def __init__(self, path: Path) -> None:
        """Opens the store, making it when missing. Raises IndexStateError where that cannot be done."""
        self._lock = threading.Lock()
        self._path = path
        with self._said("opened"):
            self._db = sqlite3.connect(path, check_same_thread=False, timeout=30, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("CREATE TABLE IF NOT EXISTS scale (mean BLOB NOT NULL, step BLOB NOT NULL)")
            self._db.execute("CREATE TABLE IF NOT EXISTS tokens (chunk_id TEXT PRIMARY KEY, body BLOB NOT NULL)")
            self._scale = self._read_scale()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def held(self, ids: Sequence[str]) -> set[str]:
        """Those of ``ids`` that are held."""
        with self._lock, self._said("read"):
            known = "SELECT 1 FROM tokens WHERE chunk_id = ?"
            return {i for i in ids if self._db.execute(known, (i,)).fetchone()}

    def write(self, ids: Sequence[str], tokens: Sequence[Vectors]) -> None:
        """Keeps ``tokens[i]``, (t_i, d) float32 unit rows or none, under ``ids[i]``; what was there is replaced.

        The first vectors written decide the mean and the spread that every component is measured by.
        """
        with self._lock, self._said("written"):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                if self._scale is None and any(len(t) for t in tokens):
                    self._scale = self._read_scale() or self._write_scale(np.concatenate(tokens))
                self._db.executemany(
                    "INSERT OR REPLACE INTO tokens VALUES (?, ?)",
                    (
                        (i, _packed(t, *self._scale) if self._scale and len(t) else b"")
                        for i, t in zip(ids, tokens, strict=True)
                    ),
                )
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def delete(self, ids: Iterable[str]) -> None:
        """Removes ``ids``; unknown ones are passed over."""
        with self._lock, self._said("written"):
            self._db.executemany("DELETE FROM tokens WHERE chunk_id = ?", [(i,) for i in ids])

    def scores(self, question: Vectors, ids: Sequence[str]) -> dict[str, float]:
        """As ``scores_many`` for one question whose tokens count alike."""
        return self.scores_many([question], [ids], [even_weights(len(question))])[0]

    def scores_many(
        self, questions: Sequence[Vectors], ids: Sequence[Sequence[str]], weights: Sequence[Vectors]
    ) -> list[dict[str, float]]:
        """MaxSim of each question, the (q, d) unit rows of its tokens, and each of its own chunks ``ids[i]``: the mean over
        its tokens, weighted by ``weights[i]``, (q,) with sum 1, of the best cosine; in [-1, 1], to six decimals. Chunks
        without token vectors are left out. A chunk is read and unpacked once, however many questions it is held against."""
        found: list[dict[str, float]] = [{} for _ in questions]
        if self._scale is None:
            return found
        mean, step = self._scale
        asked = [
            _Asked(q, w, mean, step, set(chunk_ids))
            for q, w, chunk_ids in zip(questions, weights, ids, strict=True)
            if len(q)
        ]
        scored = [at for at, q in enumerate(questions) if len(q)]
        every = list(dict.fromkeys(i for at in scored for i in ids[at]))
        for at in range(0, len(every), _BATCH):
            held, bodies = self._bodies(every[at : at + _BATCH])
            if not held:
                continue
            passages = _Passages.of(held, bodies, 2 + (len(mean) + 1) // 2)
            for place, scores in zip(scored, passages.scores(asked), strict=True):
                found[place].update(scores)
        return found

    def _bodies(self, ids: Sequence[str]) -> tuple[list[str], list[bytes]]:
        """Those of ``ids`` that have token vectors, with what is kept of them."""
        with self._lock, self._said("read"):
            marks = ",".join("?" * len(ids))
            rows = self._db.execute(f"SELECT chunk_id, body FROM tokens WHERE chunk_id IN ({marks})", list(ids))
            held = [(chunk_id, body) for chunk_id, body in rows if body]
        return [i for i, _ in held], [b for _, b in held]

    def _read_scale(self) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        row = self._db.execute("SELECT mean, step FROM scale").fetchone()
        return (np.frombuffer(row[0], np.float32), np.frombuffer(row[1], np.float32)) if row else None

    def _write_scale(self, rows: Vectors) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        mean = rows.mean(axis=0, dtype=np.float32)
        step = np.maximum(rows.std(axis=0, dtype=np.float32) * (2 * _SPREAD / _STEPS), 1e-6).astype(np.float32)
        self._db.execute("INSERT INTO scale VALUES (?, ?)", (mean.tobytes(), step.tobytes()))
        return mean, step

    @contextlib.contextmanager
    def _said(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise IndexStateError(
                f"the token vectors {self._path} cannot be {what} ({error}); "
                "check the disk; 'citewell index --rebuild' makes them anew"
            ) from error


class _Asked:
    """A question's tokens, weighed so that they can be held against codes, and the chunks it asks about."""

    def __init__(self, tokens: Vectors, weights: Vectors, mean: Vectors, step: Vectors, ids: set[str]) -> None:
        weighed = _padded(tokens * step)
        self.weights = weights
        self.even, self.odd = np.ascontiguousarray(weighed[:, 0::2].T), np.ascontiguousarray(weighed[:, 1::2].T)
        self.shift = tokens @ (mean - step * (_STEPS / 2))
        self.ids = ids


class _Passages:
    """Chunks unpacked: of each row (a token) the codes at even and at odd places, and the length of what was kept."""

    def __init__(self, ids: list[str], sizes: list[int], even: Vectors, odd: Vectors, lengths: Vectors) -> None:
        self._ids, self._sizes = ids, sizes
        self._starts = np.cumsum([0, *sizes])
        self._even, self._odd, self._lengths = even, odd, lengths

    @classmethod
    def of(cls, ids: list[str], bodies: list[bytes], width: int) -> _Passages:
        rows = np.frombuffer(b"".join(bodies), dtype=np.uint8).reshape(-1, width)
        lengths = np.ascontiguousarray(rows[:, :2]).view(np.float16).astype(np.float32)
        codes = rows[:, 2:]
        even, odd = (codes & 15).astype(np.float32), (codes >> 4).astype(np.float32)
        return cls(ids, [len(b) // width for b in bodies], even, odd, lengths)

    def scores(self, questions: Sequence[_Asked]) -> list[dict[str, float]]:
        """MaxSim of each question with each of these chunks that it asks about."""
        chosen = [[at for at, i in enumerate(self._ids) if i in q.ids] for q in questions]
        whole = [at for at, places in enumerate(chosen) if len(places) == len(self._ids)]
        found: list[dict[str, float]] = [{} for _ in questions]
        for at in range(0, len(whole), _TOGETHER):  # one product for many questions takes half the time
            part = whole[at : at + _TOGETHER]
            cosines = self._cosines([questions[i] for i in part], range(len(self._ids)))
            ends = np.cumsum([questions[i].even.shape[1] for i in part])
            for i, best in zip(part, np.split(cosines, ends[:-1], axis=1), strict=True):
                found[i] = self._told(chosen[i], best @ questions[i].weights)
        for i, places in enumerate(chosen):
            if places and not found[i]:
                found[i] = self._told(places, self._cosines([questions[i]], places) @ questions[i].weights)
        return found

    def _cosines(self, questions: Sequence[_Asked], places: Sequence[int]) -> Vectors:
        """The best cosine of each token of the questions, side by side, in each of the chunks at ``places``."""
        even, odd, lengths = self._even, self._odd, self._lengths
        if len(places) < len(self._ids):
            parts = [slice(self._starts[at], self._starts[at + 1]) for at in places]
            even, odd, lengths = (np.concatenate([rows[p] for p in parts]) for rows in (even, odd, lengths))
        cosines = even @ np.concatenate([q.even for q in questions], axis=1)
        cosines += odd @ np.concatenate([q.odd for q in questions], axis=1)
        cosines += np.concatenate([q.shift for q in questions])
        cosines /= lengths
        return np.maximum.reduceat(cosines, np.cumsum([0, *(self._sizes[at] for at in places[:-1])]), axis=0)

    def _told(self, places: Sequence[int], means: Vectors) -> dict[str, float]:
        return {self._ids[at]: round(float(score), 6) for at, score in zip(places, means, strict=True)}


def even_weights(tokens: int) -> Vectors:
    """The weights of ``tokens`` tokens that count alike: (tokens,)."""
    return np.full(tokens, 1.0 / max(1, tokens), dtype=np.float32)


def telling_weights(rarities: Sequence[float]) -> Vectors:
    """Weights of a question's tokens by the inverse document frequency of the word each is part of, 0 for a token that is
    part of none: (tokens,), sum 1.

    Two fifths are dealt out evenly, the rest by the square root of the frequency: what is rare tells papers apart, but a
    token's vector holds its neighbours too. Chosen on SciFact's training claims, where it gains over even weights.
    """
    telling = np.sqrt(np.maximum(np.asarray(rarities, dtype=np.float32), 0.0))
    even = even_weights(len(telling))
    return (1 - _TELLING) * even + _TELLING * telling / telling.sum() if telling.any() else even


def maxsim(question: Vectors, passage: Vectors) -> float:
    """The mean over the question's token vectors, (q, d), of their best cosine among the passage's, (t, d); 0 where
    either has none."""
    if not len(question) or not len(passage):
        return 0.0
    return float((question @ passage.T).max(axis=1).mean())


def _packed(rows: Vectors, mean: NDArray[np.float32], step: NDArray[np.float32]) -> bytes:
    """Each row as the length of what is kept of it (two bytes, so that cosines are of unit rows) and its codes."""
    codes = np.clip(np.rint((rows - mean) / step + _STEPS / 2), 0, _STEPS).astype(np.uint8)
    lengths = np.linalg.norm(mean + step * (codes - np.float32(_STEPS / 2)), axis=1).astype(np.float16)
    codes = _padded(codes)
    halves = codes[:, 0::2] | (codes[:, 1::2] << 4)
    return np.concatenate([lengths[:, None].view(np.uint8), halves], axis=1).tobytes()


def _padded(rows: NDArray[Any]) -> NDArray[Any]:
    """``rows`` with an even number of columns."""
    return np.pad(rows, ((0, 0), (0, 1))) if rows.shape[1] % 2 else rows
