"""Which texts may be near copies of each other: hashed word 3-shingles, MinHash, locality-sensitive hashing.

Broder, "On the resemblance and containment of documents", 1997. With 32 bands of 2 rows a pair with a Jaccard of
.3 becomes a candidate with probability .95, one of .4 with .996.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Shingles = NDArray[np.uint32]
"""The distinct hashed shingles of a text, (n,) uint32, ascending; n is 0 for an empty text."""

_BANDS, _ROWS = 32, 2
_ODD_FACTORS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_WIDE_BUCKET = 48
_BATCH = 2048


class _WordHashes(dict[str, int]):
    """Word to a 64-bit number that is the same at every run, which ``hash`` is not."""

    def __missing__(self, word: str) -> int:
        number = int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "little")
        self[word] = number
        return number


def shingle(texts: Iterable[str]) -> Iterator[Shingles]:
    """The shingles of each folded text: runs of three words, or all its words where it has fewer."""
    hashes = _WordHashes()
    for text in texts:
        words = text.split()
        numbers = np.fromiter(map(hashes.__getitem__, words), np.uint64, len(words))
        if len(words) >= 3:
            numbers = numbers[:-2] * _ODD_FACTORS[0] + numbers[1:-1] * _ODD_FACTORS[1] + numbers[2:]
        yield np.unique((numbers ^ (numbers >> np.uint64(29))).astype(np.uint32))


def overlap(left: Shingles, right: Shingles) -> tuple[float, float]:
    """Jaccard and containment (shared part of the smaller) of two texts, both in [0, 1]; 0 where one is empty."""
    smaller = min(len(left), len(right))
    if not smaller:
        return 0.0, 0.0
    shared = len(np.intersect1d(left, right, assume_unique=True))
    return shared / (len(left) + len(right) - shared), shared / smaller


def candidates(texts: Sequence[Shingles], *, floor: float) -> set[tuple[int, int]]:
    """Index pairs (i < j) whose estimated Jaccard is ``floor`` or more; the same for the same texts in that order."""
    signatures = _signatures(texts)
    filled = np.array([len(text) > 0 for text in texts], bool)
    pairs: list[NDArray[np.int64]] = []
    for band in range(_BANDS):
        rows = signatures[:, band * _ROWS : (band + 1) * _ROWS].astype(np.uint64)
        keys = (rows[:, 0] << np.uint64(32)) | rows[:, 1]
        pairs.append(_bucket_pairs(keys, filled))
    if not pairs:
        return set()
    found = np.unique(np.concatenate(pairs), axis=0)
    close = np.concatenate(
        [
            (signatures[part[:, 0]] == signatures[part[:, 1]]).mean(axis=1) >= floor
            for part in np.array_split(found, max(1, len(found) // 65536))
        ]
    )
    return {(int(i), int(j)) for i, j in found[close]}


def _signatures(texts: Sequence[Shingles]) -> NDArray[np.uint32]:
    """(len(texts), bands * rows) uint32; the rows of empty texts mean nothing."""
    count = _BANDS * _ROWS
    generator = np.random.default_rng(20260101)
    factors = generator.integers(1, 1 << 63, count, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    offsets = generator.integers(0, 1 << 63, count, dtype=np.uint64)
    signatures = np.full((len(texts), count), np.iinfo(np.uint32).max, np.uint32)
    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        lengths = np.array([len(text) for text in batch])
        held = np.flatnonzero(lengths)
        if not len(held):
            continue
        starts = np.concatenate([[0], np.cumsum(lengths[held])[:-1]])
        values = np.concatenate([batch[index] for index in held.tolist()]).astype(np.uint64)
        for column in range(count):
            mixed = ((values * factors[column] + offsets[column]) >> np.uint64(32)).astype(np.uint32)
            signatures[start + held, column] = np.minimum.reduceat(mixed, starts)
    return signatures


def _bucket_pairs(keys: NDArray[np.uint64], filled: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(m, 2) int64: the pairs of indices that share a key; in a wide bucket only neighbours, to stay linear."""
    order = np.argsort(keys, kind="stable")
    order = order[filled[order]]
    ordered = keys[order]
    edges = np.flatnonzero(np.diff(ordered)) + 1
    pairs: list[tuple[int, int]] = []
    for start, end in itertools.pairwise((0, *edges.tolist(), len(order))):
        if end - start < 2:
            continue
        bucket = order[start:end].tolist()
        pairs += itertools.combinations(bucket, 2) if len(bucket) <= _WIDE_BUCKET else itertools.pairwise(bucket)
    return np.array(pairs, np.int64).reshape(-1, 2)
