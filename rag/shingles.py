"""Which texts may be near copies of each other: hashed word 3-shingles, MinHash, locality-sensitive hashing.

Broder, "On the resemblance and containment of documents", 1997. With 32 bands of 2 rows a pair with a Jaccard of
.3 becomes a candidate with probability .95, one of .4 with .996.
"""

from __future__ import annotations

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


def near_copies(stacked: NDArray[np.uint32], *, floor: float) -> NDArray[np.int64]:
    """(n, 2): the pairs of rows of ``signatures`` whose Jaccard, estimated from them, is ``floor`` or more."""
    if not len(stacked):
        return np.empty((0, 2), np.int64)
    pairs = []
    for band in range(_BANDS):
        rows = stacked[:, band * _ROWS : (band + 1) * _ROWS].astype(np.uint64)
        pairs.append(shared((rows[:, 0] << np.uint64(32)) | rows[:, 1], np.arange(len(stacked)), wide=_WIDE_BUCKET))
    found = np.unique(np.concatenate(pairs), axis=0)
    close = [
        (stacked[part[:, 0]] == stacked[part[:, 1]]).mean(axis=1) >= floor
        for part in np.array_split(found, max(1, len(found) // 65536))
    ]
    near: NDArray[np.int64] = found[np.concatenate(close)]
    return near


def signatures(texts: Sequence[Shingles]) -> NDArray[np.uint32]:
    """The MinHash of each text: (len(texts), 64) uint32; the rows of empty texts mean nothing."""
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


def shared(keys: NDArray[np.uint64], owners: NDArray[np.int64], *, wide: int) -> NDArray[np.int64]:
    """(n, 2): the pairs of owners, lower first, that share a key; of a key with more than ``wide`` only neighbours, to
    stay linear. No owner holds a key twice.
    """
    order = np.lexsort((owners, keys))
    starts = np.flatnonzero(np.diff(keys[order], prepend=keys[order][:1] ^ np.uint64(1)))
    sizes = np.diff(starts, append=len(keys))
    pairs = [np.empty((0, 2), np.int64)]
    for size in np.unique(sizes[sizes > 1]).tolist():
        blocks = owners[order[starts[sizes == size][:, None] + np.arange(size)]]
        left, right = np.triu_indices(size, 1) if size <= wide else (np.arange(size - 1), np.arange(1, size))
        pairs.append(np.stack([blocks[:, left].ravel(), blocks[:, right].ravel()], axis=1))
    return np.unique(np.concatenate(pairs), axis=0)
