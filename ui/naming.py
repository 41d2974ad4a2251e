"""What the topics of a picture are called: the words of its papers that tell them apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag.fold import plain
from rag.records import Paper
from rag.terms import stems

_PAIR = 4.0
"""What a pair of words is worth more than one as the name of a topic; by eye."""
_COMMON = """
across additionally address addresses achieve achieves achieving among analysis approach approaches available based
because benchmark benchmarks best better between both challenge challenges code compared comparable comprehensive
consistent consistently currently demonstrate demonstrates demonstrating design designed despite different diverse
effective effectively effectiveness efficient enables enabling ensure evaluate evaluation existing experiments
experimental extensive first framework from further generate generated have however important improve improves
improvement including instead into introduce introduces introducing issue key leading leads leverage leverages
leveraging limited limitations mechanism method methods more multiple need novel often only outperforming
outperforms over paper perform performance present prior problem process promising propose proposed provide
provides recent recently remain remains remarkable require requires research respectively results robust shown
show shows significant significantly simple single specifically state strategy strong study such superior
systems task tasks than that their them then there these they this those through thus toward towards under unlike
used using validate various well what when where whether which while will with within without work works yet
"""
_OF_ANY_ABSTRACT = frozenset(stems(_COMMON.split()))
"""Stems of words that tell of no subject."""


def names_of(papers: Sequence[Paper], topics: NDArray[np.uint8], *, most: int = 2) -> tuple[str, ...]:
    """For each topic the words, rather two that go together than one, that far more of its papers hold than of the
    others."""
    held = [_phrases(p) for p in papers]
    everywhere = Counter(key for phrases in held for key in phrases)
    names = []
    for topic in range(int(topics.max()) + 1 if len(topics) else 0):
        members = [phrases for phrases, t in zip(held, topics, strict=True) if t == topic]
        here = Counter(key for phrases in members for key in phrases)
        spelt = {key: shown for phrases in members for key, shown in phrases.items()}
        others = max(1, len(papers) - len(members))
        worth = {
            key: (n / len(members) - (everywhere[key] - n) / others)
            * math.log(1 + len(papers) / everywhere[key])
            * (_PAIR if len(key) > 1 else 1.0)
            for key, n in here.items()
            if n >= max(min(2, len(members)), len(members) / 8)
        }
        chosen: list[tuple[str, ...]] = []
        for key in sorted(worth, key=lambda key: (-worth[key], key)):
            if len(chosen) < most and worth[key] > 0 and not any(set(key) & set(other) for other in chosen):
                chosen.append(key)
        names.append(", ".join(spelt[key] for key in chosen) or f"topic {topic + 1}")
    return tuple(names)


def _phrases(paper: Paper) -> dict[tuple[str, ...], str]:
    """The words of a paper and its pairs of neighbours, by their stems: as they are spelt."""
    found: dict[tuple[str, ...], str] = {}
    before = ("", "")
    words = plain(f"{paper.title or ''} {paper.abstract}").lower().replace("-", " ").split()
    bare = [word.strip(".,;:()") for word in words]
    for word, spelt, stem in zip(words, bare, stems(bare), strict=True):
        if not (spelt.isalpha() and len(spelt) > 3) or stem in _OF_ANY_ABSTRACT:
            before = ("", "")
            continue
        found[(stem,)] = spelt
        if before[0]:
            found[(before[0], stem)] = f"{before[1]} {spelt}"
        before = (stem, spelt) if spelt == word else ("", "")
    return found
