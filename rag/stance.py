"""What a paper says of a sentence in other words: that it is so, that it is not, or nothing.

For sentences of one's own, which say things in words that no source holds. A multinomial logistic model over the best
two sentences of the paper (``stance.json``, fitted by ``citewell eval fit stance`` on SciFact's training claims); the
rules of ``rag.verify`` are for sentences that are made from the source's words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rag.embed import Embedder
from rag.fitted import fitted
from rag.mismatch import mismatches
from rag.polarity import polarity
from rag.terms import terms
from rag.verify import FILLER, Passage

GROUPS = {
    "embedding": ("cosine", "cosine_max", "cosine_top3"),
    "lexical": ("coverage_best", "coverage_two", "coverage_all", "rarest_missing"),
    "polarity": ("agreed_best", "opposed_best", "denied_best", "agreed_two", "opposed_two", "denied_two"),
    "mismatch": ("numbers", "names", "negations", "directions"),
}
"""The features by what they look at."""
FEATURES = tuple(name for group in GROUPS.values() for name in group)
CLASSES: tuple[Literal["supported", "contradicted", "unsupported"], ...] = ("supported", "contradicted", "unsupported")
_NEVER = 8.0
"""About the rarity of a term that one paper in some thousands holds."""


@dataclass(frozen=True, slots=True)
class Stance:
    """Probabilities that sum to 1, and the one or two passages they were read from."""

    supported: float
    contradicted: float
    unsupported: float
    passages: tuple[Passage, ...]


def stance(sentence: str, passages: Sequence[Passage], embedder: Embedder, idf: Callable[[str], float]) -> Stance:
    """What the paper of ``passages``, at least one, says of ``sentence``."""
    row, best = features(sentence, passages, embedder, idf)
    model = fitted("stance")
    z = np.asarray(model["weights"]) @ row + np.asarray(model["bias"])
    p = np.exp(z - z.max())
    supported, contradicted, unsupported = (float(x) for x in p / p.sum())
    return Stance(supported, contradicted, unsupported, best)


def features(
    sentence: str, passages: Sequence[Passage], embedder: Embedder, idf: Callable[[str], float]
) -> tuple[NDArray[np.float64], tuple[Passage, ...]]:
    """One row in the order of FEATURES, (17,) float64, and the passages that stand nearest, the best first."""
    wanted = {t: idf(t) for t in set(terms(sentence)) - FILLER}
    total = sum(wanted.values()) or 1.0
    held = [set(terms(p.text)) for p in passages]

    def covered(words: set[str]) -> float:
        return sum(w for t, w in wanted.items() if t in words) / total

    coverage = np.array([covered(h) for h in held])
    vectors = embedder.remember([sentence, *(p.text for p in passages)])
    cosines = (vectors[1:] @ vectors[0]).astype(np.float64)
    order = np.argsort(-(coverage + cosines), kind="stable")[:2]
    best = tuple(passages[i] for i in order)
    joined = " ".join(p.text for p in best)
    everything = set().union(*held)
    highest = np.sort(cosines)[::-1]
    one, two = polarity(sentence, best[0].text, idf), polarity(sentence, joined, idf)
    kinds = [m.kind for m in mismatches(sentence, joined, context=" ".join(p.text for p in passages))]
    row = [
        cosines[order[0]],
        highest[0],
        highest[:3].mean(),
        coverage[order[0]],
        covered(held[order[0]] | held[order[-1]]),
        covered(everything),
        max((w for t, w in wanted.items() if t not in everything), default=0.0) / _NEVER,
        *(one.agreed, one.opposed, one.denied, two.agreed, two.opposed, two.denied),
        *(kinds.count(kind) for kind in ("number", "name", "negation", "direction")),
    ]
    return np.array(row, dtype=np.float64), best
