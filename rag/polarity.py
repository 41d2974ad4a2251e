"""How far a sentence and its support agree on what goes up, what goes down, and what is denied.

Counts for a classifier, not findings to be told: a word of direction is held against that of the support which stands
nearest to the same things, with its sign turned where either is denied.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rag.fold import plain
from rag.terms import stems

_WORD = re.compile(r"[A-Za-z]+(?:n't)?|\d[\d.,]*|[,;:.()]")
_UP = frozenset(
    stems(
        """increase increased increases rise risen raise raised elevate elevated elevation enhance enhanced enhancement
        promote promoted induce induced activate activated activation stimulate upregulate upregulated upregulation higher
        high greater more positive positively improve improved improvement gain boost larger faster longer better
        strengthen exacerbate accelerate potentiate facilitate augment amplify outperform surpass exceed superior amplification
        overexpression accumulation growth favor encourage trigger cause drive gained hyperactive sufficient""".split()  # noqa: SIM905
    )
)
_DOWN = frozenset(
    stems(
        """decrease decreased decreases reduce reduced reduction lower low decline declined drop fall suppress suppressed
        suppression inhibit inhibited inhibition inhibitor attenuate attenuated downregulate downregulated downregulation
        less fewer negative negatively impair impaired impairment worsen worse deteriorate loss block blocked prevent
        abolish abrogate diminish shrink smaller slower shorter weaken limit limited mitigate ameliorate alleviate protect
        protective protection counteract underperform inferior deplete depletion deficiency deficient disrupt silence
        hinder delay poorer degrade degradation blunt restrict reverse poor ineffective insufficient""".split()  # noqa: SIM905
    )
)
_DENIAL = frozenset(
    """not no never nor neither without cannot none lack lacks lacked lacking fail fails failed unable unlikely unrelated
    independent independently unaffected unchanged absence absent hardly nonsignificant insignificant unnecessary
    dispensable irrelevant contrary""".split()  # noqa: SIM905
)
_CLAUSE_ENDS = frozenset(",;:.()") | {"but", "whereas", "while", "although", "however"}
_REACH = 7
"""Words that a denial reaches forward, and within which a word of direction belongs to a thing."""


@dataclass(frozen=True, slots=True)
class Polarity:
    """Each from 0: shares of what sentence and support both speak of."""

    agreed: float
    """Share of the sentence's words of direction that the support bears out by one of the same sign."""
    opposed: float
    """Share of them that the nearest in the support speaks against."""
    denied: float
    """Share of the common terms, weighed by rarity, that just one of the two denies."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A text's stems, the sign of each word (1, -1, or 0) and whether it stands under a denial."""

    stems: list[str]
    signs: list[int]
    denied: list[bool]

    def turned(self, i: int) -> int:
        return -self.signs[i] if self.denied[i] else self.signs[i]


def polarity(sentence: str, support: str, weight: Callable[[str], float]) -> Polarity:
    """The agreement of ``sentence`` with ``support``; ``weight`` is the rarity of a stem."""
    said, there = _read(sentence), _read(support)
    common = {s for s in {*said.stems} & {*there.stems} if len(s) > 2 and s not in _UP and s not in _DOWN}
    weights = {s: weight(s) for s in common}
    total = sum(weights.values())
    differ = 0.0
    for stem in common:
        one = {said.denied[i] for i, s in enumerate(said.stems) if s == stem}
        other = {there.denied[i] for i, s in enumerate(there.stems) if s == stem}
        differ += weights[stem] * (one.isdisjoint(other))
    agreed = opposed = 0
    directions = [i for i, sign in enumerate(said.signs) if sign]
    for i in directions:
        near = {s for s in said.stems[max(0, i - _REACH) : i + _REACH + 1] if s in common}
        best = _nearest(there, near, weights)
        if best is not None:
            agreed += best == said.turned(i)
            opposed += best == -said.turned(i)
    n = len(directions) or 1
    return Polarity(agreed / n, opposed / n, differ / total if total else 0.0)


def _nearest(there: _Read, things: set[str], weights: dict[str, float]) -> int | None:
    """The sign of the word of direction that stands nearest to the rarest of ``things``; None where none does."""
    best: tuple[float, int] | None = None
    for i, sign in enumerate(there.signs):
        if not sign:
            continue
        reached = sum(
            weights[s] / (1 + abs(i - j))
            for j, s in enumerate(there.stems[max(0, i - _REACH) : i + _REACH + 1], max(0, i - _REACH))
            if s in things
        )
        if reached and (best is None or reached > best[0]):
            best = (reached, there.turned(i))
    return None if best is None else best[1]


def _read(text: str) -> _Read:
    words = [w.lower() for w in _WORD.findall(plain(text))]
    found = stems(words)
    signs = [1 if s in _UP else -1 if s in _DOWN else 0 for s in found]
    denied, left = [], 0
    for i, word in enumerate(words):
        if word in _CLAUSE_ENDS:
            left = 0
        # "not only" adds, and denies nothing
        if (word in _DENIAL or word.endswith("n't")) and words[i + 1 : i + 2] != ["only"]:
            left = _REACH
            denied.append(False)
            continue
        denied.append(left > 0)
        left -= 1
    return _Read(found, signs, denied)
