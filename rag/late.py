"""Late interaction: how well the vectors of a question's tokens fit those of a passage's.

A passage's one vector is the mean of its tokens' and blurs what only one clause of it says. Comparing token by token
(ColBERT's MaxSim, arXiv 2004.12832: for each token of the question its best match in the passage, averaged) finds the
clause. The token vectors come from the pass that makes the passage's vector, so they cost disk, not time: four bits a
component, on which MaxSim loses nothing that was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.embed import Vectors

_SPREAD = 2.8
"""Standard deviations to either side that the sixteen steps of a component span."""
_STEPS = 15.0
_TELLING = 0.6
"""The share of a question's weight that goes to its tokens by how rare their words are."""
_TOGETHER = 16
"""Questions that are held against the same chunks at a time."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The mean and the width of a step, (d,) float32 both, that every component of a token's vector is measured by."""

    mean: NDArray[np.float32]
    step: NDArray[np.float32]

    @classmethod
    def of(cls, rows: Vectors) -> Scale:
        """The scale that ``rows``, (t, d), are kept on with the least loss."""
        spread = rows.std(axis=0, dtype=np.float32) * (2 * _SPREAD / _STEPS)
        return cls(rows.mean(axis=0, dtype=np.float32), np.maximum(spread, 1e-6).astype(np.float32))

    @property
    def width(self) -> int:
        """Bytes of a token."""
        return 2 + (len(self.mean) + 1) // 2

    def packed(self, rows: Vectors) -> bytes:
        """Each row as the length of what is kept of it (two bytes, so that cosines are of unit rows) and its codes."""
        codes = np.clip(np.rint((rows - self.mean) / self.step + _STEPS / 2), 0, _STEPS).astype(np.uint8)
        kept = self.mean + self.step * (codes - np.float32(_STEPS / 2))
        lengths = np.linalg.norm(kept, axis=1).astype(np.float16)
        codes = _padded(codes)
        halves = codes[:, 0::2] | (codes[:, 1::2] << 4)
        return np.concatenate([lengths[:, None].view(np.uint8), halves], axis=1).tobytes()


class Asked:
    """A question's tokens, weighed so that they can be held against codes, and the chunks it asks about."""

    def __init__(self, tokens: Vectors, weights: Vectors, scale: Scale, ids: set[str]) -> None:
        """``tokens``: (q, d) unit rows; ``weights``: (q,), sum 1."""
        weighed = _padded(tokens * scale.step)
        self.weights = weights
        self.even, self.odd = np.ascontiguousarray(weighed[:, 0::2].T), np.ascontiguousarray(weighed[:, 1::2].T)
        self.shift = tokens @ (scale.mean - scale.step * (_STEPS / 2))
        self.ids = ids


class Passages:
    """Chunks unpacked: of each row (a token) the codes at even and at odd places, and the length of what was kept."""

    def __init__(self, ids: list[str], sizes: list[int], even: Vectors, odd: Vectors, lengths: Vectors) -> None:
        self._ids, self._sizes = ids, sizes
        self._starts = np.cumsum([0, *sizes])
        self._even, self._odd, self._lengths = even, odd, lengths

    @classmethod
    def of(cls, ids: list[str], bodies: list[bytes], scale: Scale) -> Passages:
        """``bodies[i]``: what ``scale`` packed of chunk ``ids[i]``, at least a token each."""
        width = scale.width
        rows = np.frombuffer(b"".join(bodies), dtype=np.uint8).reshape(-1, width)
        lengths = np.ascontiguousarray(rows[:, :2]).view(np.float16).astype(np.float32)
        codes = rows[:, 2:]
        even, odd = (codes & 15).astype(np.float32), (codes >> 4).astype(np.float32)
        return cls(ids, [len(b) // width for b in bodies], even, odd, lengths)

    def scores(self, questions: Sequence[Asked]) -> list[dict[str, float]]:
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

    def _cosines(self, questions: Sequence[Asked], places: Sequence[int]) -> Vectors:
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


def _padded(rows: NDArray[Any]) -> NDArray[Any]:
    """``rows`` with an even number of columns."""
    return np.pad(rows, ((0, 0), (0, 1))) if rows.shape[1] % 2 else rows
