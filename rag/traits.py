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

    @classmethod
    def joined(cls, many: Sequence[Traits]) -> Traits:
        """The traits of records with the same words: all their keys and people."""
        if len(many) == 1:
            return many[0]
        keys, families = (np.unique(np.concatenate([getattr(m, name) for m in many])) for name in ("keys", "families"))
        return cls(many[0].signature, keys, many[0].words, families[:_FAMILIES])

    def dump(self) -> bytes:
        """The same as bytes, for ``load``."""
        parts = (self.signature, self.keys, self.words, self.families)
        sizes = np.array([len(part) for part in parts], np.uint16)
        return b"".join((sizes.tobytes(), *(part.tobytes() for part in parts)))

    @classmethod
    def load(cls, body: bytes) -> Traits:
        signature, keys, words, families = np.frombuffer(body, np.uint16, 4).tolist()
        numbers = np.frombuffer(body, np.uint64, keys + words + families, offset=8 + 4 * signature)
        return cls(
            np.frombuffer(body, np.uint32, signature, offset=8),
            numbers[:keys],
            numbers[keys : keys + words],
            numbers[keys + words :],
        )


def worth_judging(many: Sequence[Traits]) -> Pairs:
    """The pairs that may be one work, of many that may be."""
    found = [
        near_copies([one.signature for one in many], floor=_TEXT_FLOOR),
        shared(*_flat([one.keys for one in many]), wide=_WIDE_BLOCK),
        _titled([one.words for one in many], [one.families for one in many]),
    ]
    return np.unique(np.concatenate(found), axis=0)


def _titled(words: Sequence[Numbers], families: Sequence[Numbers]) -> Pairs:
    """The pairs with a likeness in their titles that share a family name and one of their title's rarest words."""
    flat, owners = _flat(words)
    names, named = _flat(families)
    if not len(flat) or not len(names):
        return np.empty((0, 2), np.int64)
    _, columns, counts = np.unique(flat, return_inverse=True, return_counts=True)
    order = np.lexsort((flat, counts[columns], owners))
    first = np.searchsorted(owners, np.arange(len(words)))
    sizes = np.bincount(owners, minlength=len(words))
    keys, holders = [], []
    for rank in range(_RAREST):
        held = sizes[named] > rank
        telling = flat[order[first[named[held]] + rank]]
        keys.append((names[held] * np.uint64(0x9E3779B97F4A7C15)) ^ telling)
        holders.append(named[held])
    pairs = shared(np.concatenate(keys), np.concatenate(holders), wide=_WIDE_BLOCK)
    titles = csr_array((np.ones(len(flat), np.float32), (owners, columns)), shape=(len(words), len(counts)))
    alike = [np.empty((0, 2), np.int64)]
    for at in range(0, len(pairs), _PIECE):
        left, right = pairs[at : at + _PIECE].T
        both = np.asarray((titles[left].multiply(titles[right])).sum(axis=1)).ravel()
        alike.append(pairs[at : at + _PIECE][both >= _TITLE_FLOOR * (sizes[left] + sizes[right] - both)])
    return np.concatenate(alike)


def _flat(many: Sequence[Numbers]) -> tuple[Numbers, NDArray[np.int64]]:
    """All numbers in one row, and the position of the one that each is of."""
    owners = np.repeat(np.arange(len(many)), [len(one) for one in many])
    return np.concatenate([np.empty(0, np.uint64), *many]), owners


def _numbers(texts: Iterable[str]) -> Numbers:
    found = {blake2b(text.encode("utf-8", "replace"), digest_size=8).digest() for text in texts}
    return np.unique(np.frombuffer(b"".join(sorted(found)), np.uint64))
