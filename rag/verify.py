"""Does the library bear a sentence out? The words that do, a score, and a verdict with its reason.

Support is sought among single sentences of abstracts, joined by up to two more of the same paper, or of another where
the sentence draws on both. A logistic model over lexical, embedding and mismatch features gives the score
(``verifier.json``, fitted by ``citewell eval fit``); rules have the last word where a figure, a name or a polarity
disagrees, since those are what small models get wrong and what no similarity shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rag.embed import Embedder
from rag.figures import names, numbers
from rag.fitted import fitted
from rag.mismatch import Mismatch, mismatches
from rag.records import Paper, Verdict
from rag.sentences import sentence_spans
from rag.terms import terms

FEATURES = ("cosine", "coverage", "names", "numbers", "mismatches", "polarity", "reach")


_WORTH_A_CITATION = 0.28
"""What a further passage must bring of a sentence, as a share of it, to be cited as well."""
FILLER = frozenset(
    terms("work paper propose method approach show introduce present result framework use based study author")
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence of an abstract: ``text == abstract[start:end]``."""

    paper_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found for a sentence: ``score`` is the probability that ``support`` bears it out."""

    verdict: Verdict
    score: float
    support: tuple[Passage, ...]
    reason: str = ""
    coverage: float = 0.0
    """Share of the sentence's terms, weighed by their rarity, that the support holds; in [0, 1]."""


def passages_of(paper: Paper) -> list[Passage]:
    """The sentences of a paper's abstract."""
    return [Passage(paper.paper_id, a, b, paper.abstract[a:b]) for a, b in sentence_spans(paper.abstract)]


class Verifier:
    """Judges sentences against passages."""

    def __init__(self, embedder: Embedder, idf: Callable[[str], float]) -> None:
        """``idf`` weighs the terms of a sentence: a rare one that is missing counts for more."""
        self._embedder = embedder
        self._idf = idf

    def judge(
        self,
        sentence: str,
        passages: Sequence[Passage],
        *,
        labels: Mapping[str, str],
        asked: str = "",
        preferred: Sequence[Passage] = (),
        across: bool = False,
    ) -> Judgement:
        """The verdict on ``sentence`` by the best of ``passages``.

        ``preferred`` ones, those the writer names as its source, win where others are no better. A name must stand in
        the papers that bear the sentence out, or be the label of one (``labels``, by paper id), or at least in the
        question (``asked``). ``across`` allows a
        sentence to rest on two papers; else half of it could be borne out by a paper that speaks of something else.
        """
        if not passages:
            return Judgement("unsupported", 0.0, (), "the library holds nothing to bear it out")
        if not self._wanted(sentence):
            return Judgement("unsupported", 0.0, (), "it says nothing that a source could bear out")
        support = self._support(sentence, passages, preferred, across)
        papers = {p.paper_id for p in support}
        # a name may stand anywhere in the papers that bear the sentence out
        around = " ".join([*(labels[i] for i in papers), *(p.text for p in passages if p.paper_id in papers)])
        joined = " ".join(p.text for p in support)
        found = mismatches(sentence, joined, context=around)
        others = names(": " + " ".join(label for i, label in labels.items() if i not in papers))
        known = names(f": {asked}")
        found = [replace(m, kind=_name_kind(m.detail, others, known)) if m.kind == "name" else m for m in found]
        row = self.features(sentence, support, found)
        score = self.score(row)
        coverage = float(row[FEATURES.index("coverage")])
        return Judgement(*_verdict(score, found), support=support, reason=_reason(score, found), coverage=coverage)

    def _support(
        self, said: str, passages: Sequence[Passage], preferred: Sequence[Passage], across: bool
    ) -> tuple[Passage, ...]:
        """The best passage, then up to two more, each only if it brings what the sentence says and is missing yet."""
        wanted = self._wanted(said)
        total = sum(wanted.values()) or 1.0
        vectors = self._embedder.remember([said, *(p.text for p in passages)])
        cosines = vectors[1:] @ vectors[0]
        held = [set(terms(p.text)) for p in passages]
        figures = numbers(said)
        called = names(said)
        has_figures = [numbers(p.text) & figures for p in passages]
        has_names = [names(p.text) & called for p in passages]

        def worth(i: int, have: set[str], have_figures: set[str], have_names: set[str]) -> float:
            new = sum(wanted[t] for t in (held[i] & wanted.keys()) - have) / total
            figures_new = len(has_figures[i] - have_figures) / (len(figures) or 1)
            names_new = len(has_names[i] - have_names) / (len(called) or 1)
            return new + 0.6 * figures_new + 0.25 * names_new

        named = set(preferred)
        first = max(
            range(len(passages)),
            key=lambda i: (worth(i, set(), set(), set()) + float(cosines[i]) + 0.15 * (passages[i] in named), -i),
        )
        chosen = [first]
        while len(chosen) < 3:
            have = set().union(*(held[i] for i in chosen))
            have_figures = set().union(*(has_figures[i] for i in chosen))
            have_names = set().union(*(has_names[i] for i in chosen))

            def gain(i: int) -> float:
                same = passages[i].paper_id in {passages[j].paper_id for j in chosen}
                return worth(i, have, have_figures, have_names) - (0.0 if same else 0.08)  # noqa: B023

            own = passages[first].paper_id
            rest = [i for i, p in enumerate(passages) if i not in chosen and (across or p.paper_id == own)]
            best = max(rest, key=lambda i: (gain(i), -i), default=None)
            if best is None or gain(best) < _WORTH_A_CITATION or cosines[best] < 0.2:
                break
            chosen.append(best)
        return tuple(passages[i] for i in chosen)

    def _wanted(self, said: str) -> dict[str, float]:
        """What the sentence says: its terms, weighed by rarity, without those any abstract may or may not hold."""
        return {t: self._idf(t) for t in set(terms(said)) - FILLER}

    def features(self, said: str, support: Sequence[Passage], found: Sequence[Mismatch]) -> NDArray[np.float64]:
        """One row in the order of FEATURES: (7,) float64."""
        joined = " ".join(p.text for p in support)
        vectors = self._embedder.remember([said, joined, *(p.text for p in support)])
        wanted = self._wanted(said)
        held = set(terms(joined))
        coverage = sum(w for t, w in wanted.items() if t in held) / (sum(wanted.values()) or 1.0)
        kinds = [m.kind for m in found]
        return np.array(
            [
                max(float(v @ vectors[0]) for v in vectors[1:]),
                coverage,
                len(names(said) & names(joined)) / (len(names(said)) or 1),
                len(numbers(said) & numbers(joined)) / (len(numbers(said)) or 1),
                min(sum(k in kinds for k in ("number", "name", "paper", "stranger")), 3),
                min(kinds.count("negation") + kinds.count("direction"), 2),
                len(support),
            ]
        )

    def score(self, features: NDArray[np.float64]) -> float:
        """The probability of support for one row of features."""
        model = fitted("verifier")
        z = float(features @ np.asarray(model["weights"])) + model["bias"][0]
        return float(1.0 / (1.0 + np.exp(-z)))


def _name_kind(name: str, others: set[str], asked: set[str]) -> str:
    """What a name is that the source lacks: that of another paper, a word of the question, or one from nowhere."""
    return "paper" if name in others else "name" if name in asked else "stranger"


def _verdict(score: float, found: Sequence[Mismatch]) -> tuple[Verdict, float]:
    low, high = fitted("verifier")["thresholds"]
    kinds = {m.kind for m in found}
    if kinds & {"number", "negation", "direction", "paper", "stranger"} or score < low:
        return "unsupported", min(score, 0.49)
    if "name" in kinds or score < high:
        return "partial", score
    return "supported", score


def _reason(score: float, found: Sequence[Mismatch]) -> str:
    told = {
        "number": "the figure {} is not in the source",
        "name": "the name {} is not in the source",
        "paper": "the source is not about {}",
        "stranger": "the name {} is in no source",
        "negation": "the source does not agree on the negation ({})",
        "direction": "the source says the opposite of “{}”",
    }
    if found:
        return "; ".join(dict.fromkeys(told[m.kind].format(m.detail) for m in found))
    low, high = fitted("verifier")["thresholds"]
    if score < low:
        return "no sentence of the library says this"
    return "the source says only part of this" if score < high else ""
