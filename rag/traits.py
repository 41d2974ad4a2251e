"""What decides with which others a record is compared: a few numbers a record, so that they can be kept.

Two editions are worth a judgement where their texts may be near copies, where they share a key that is seldom shared
(DOI, title, text), or where an author and one of their title's rarest words meet. All of that is found for all at once
with arrays; a record whose numbers are known is neither folded nor shingled again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rag.facets import Facets, strong_keys
from rag.shingles import near_copies, shared, signatures

Numbers = NDArray[np.uint64]
Pairs = NDArray[np.int64]
"""(n, 2): pairs of positions, the lower first, each once."""

_TEXT_FLOOR = 0.2
_TITLE_FLOOR = 0.4
_FAMILIES = 12
_RAREST = 3
_WIDE_BLOCK = 40
_PIECE = 1 << 17


@dataclass(frozen=True, slots=True)
class Traits:
    """Of one record, or of several with the same words."""

    signature: NDArray[np.uint32]
    """MinHash of the abstract; empty where there is none."""
    keys: Numbers
    """Ascending; seldom shared by two works."""
    words: Numbers
    """Ascending; of the title."""
    families: Numbers
    """Ascending, at most 12; family names."""

    @classmethod
    def of(cls, many: Sequence[Facets]) -> list[Traits]:
        """The traits of each."""
        return [
            cls(
                signature if len(one.shingles) else signature[:0],
                _numbers(strong_keys(one)),
                _numbers(one.words),
                _numbers(sorted({family for family, _ in one.authors})[:_FAMILIES]),
            )
            for one, signature in zip(many, signatures([one.shingles for one in many]), strict=True)
        ]

    def dump(self) -> bytes:
        """The same as bytes: the sizes of the parts, then the parts; whole numbers of 8 bytes."""
        parts = (self.signature, self.keys, self.words, self.families)
        sizes = np.array([len(part) for part in parts], np.uint16)
        return b"".join((sizes.tobytes(), *(part.tobytes() for part in parts)))


@dataclass(frozen=True, slots=True)
class _Column:
    """Numbers of many records in one row."""

    numbers: Numbers
    owners: NDArray[np.int64]
    """The position of the record that each number is of; ascending."""

    @classmethod
    def cut(cls, buffer: Numbers, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> _Column:
        """Of record i, ``sizes[i]`` numbers of ``buffer`` from ``starts[i]``."""
        skipped = starts - (np.cumsum(sizes) - sizes)
        return cls(buffer[np.repeat(skipped, sizes) + np.arange(sizes.sum())], np.repeat(np.arange(len(sizes)), sizes))


def joined(dumped: Sequence[bytes]) -> bytes:
    """The traits of records with the same words, dumped: all their keys and people."""
    if len(dumped) == 1:
        return dumped[0]
    signatures, _, keys, words, families = _loaded(dumped)
    first = words.numbers[words.owners == 0]
    people = np.unique(families.numbers)[:_FAMILIES]
    return Traits(signatures[:1].ravel(), np.unique(keys.numbers), first, people).dump()


def worth_judging(dumped: Sequence[bytes]) -> Pairs:
    """The pairs that may be one work, of many that may be, by their dumped traits."""
    if not dumped:
        return np.empty((0, 2), np.int64)
    signatures, signed, keys, words, families = _loaded(dumped)
    found = [
        signed[near_copies(signatures, floor=_TEXT_FLOOR)],
        shared(keys.numbers, keys.owners, wide=_WIDE_BLOCK),
        _titled(words, families, len(dumped)),
    ]
    return np.unique(np.concatenate(found), axis=0)


def _loaded(dumped: Sequence[bytes]) -> tuple[NDArray[np.uint32], NDArray[np.int64], _Column, _Column, _Column]:
    """Of many at once: the signatures, (n, 64), and the positions of those who have one; keys, words and families."""
    buffer = np.frombuffer(b"".join(dumped), np.uint64)
    lengths = np.array([len(one) for one in dumped], np.int64) // 8
    starts = np.cumsum(lengths) - lengths
    sizes = buffer[starts].view(np.uint16).reshape(-1, 4).astype(np.int64)
    signed = np.flatnonzero(sizes[:, 0])
    width = int(sizes[:, 0].max(initial=0)) // 2
    signatures = buffer[starts[signed, None] + 1 + np.arange(width)].view(np.uint32)
    ends = np.cumsum(np.concatenate([starts[:, None] + 1 + sizes[:, :1] // 2, sizes[:, 1:]], axis=1), axis=1)
    keys, words, families = (_Column.cut(buffer, ends[:, part], sizes[:, part + 1]) for part in range(3))
    return signatures, signed, keys, words, families


def _titled(words: _Column, families: _Column, count: int) -> Pairs:
    """The pairs, of ``count`` records, with a likeness in their titles that share a family name and one of their
    title's rarest words."""
    flat, owners = words.numbers, words.owners
    names, named = families.numbers, families.owners
    if not len(flat) or not len(names):
        return np.empty((0, 2), np.int64)
    _, columns, counts = np.unique(flat, return_inverse=True, return_counts=True)
    order = np.lexsort((flat, counts[columns], owners))
    first = np.searchsorted(owners, np.arange(count))
    sizes = np.bincount(owners, minlength=count)
    keys, holders = [], []
    for rank in range(_RAREST):
        held = sizes[named] > rank
        telling = flat[order[first[named[held]] + rank]]
        keys.append((names[held] * np.uint64(0x9E3779B97F4A7C15)) ^ telling)
        holders.append(named[held])
    pairs = shared(np.concatenate(keys), np.concatenate(holders), wide=_WIDE_BLOCK)
    titles = csr_array((np.ones(len(flat), np.float32), (owners, columns)), shape=(count, len(counts)))
    alike = [np.empty((0, 2), np.int64)]
    for at in range(0, len(pairs), _PIECE):
        left, right = pairs[at : at + _PIECE].T
        both = np.asarray((titles[left].multiply(titles[right])).sum(axis=1)).ravel()
        alike.append(pairs[at : at + _PIECE][both >= _TITLE_FLOOR * (sizes[left] + sizes[right] - both)])
    return np.concatenate(alike)


def _numbers(texts: Iterable[str]) -> Numbers:
    found = {blake2b(text.encode("utf-8", "replace"), digest_size=8).digest() for text in texts}
    return np.unique(np.frombuffer(b"".join(sorted(found)), np.uint64))
