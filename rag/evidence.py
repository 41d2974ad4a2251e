"""Hits to numbered evidence: the sentences that matter for the question, within a token budget.

Every sentence of the best papers gets the probability that it bears on the question, by a logistic model over how it
fits the question, how its paper ranks, where it stands and what it is about (``evidence.json``, fitted by
``citewell eval fit`` on the tuning questions). Sentences are taken by that probability; a question that needs a second
paper, which shows in words that the first one lacks and the second one has, shares the budget between both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.embed import Embedder
from rag.fitted import fitted
from rag.late import maxsim
from rag.records import Evidence, Hit
from rag.terms import terms
from rag.verify import Passage, passages_of

FEATURES = (
    "cosine", "standing", "overlap", "overlap_before", "around", "gap", "first_paper", "fit", "part", "place",
    "place_squared", "figure_asked", "figure_unasked", "asks_figure", "result", "result_asked", "own", "background",
    "length", "opening", "problem_asked", "late", "late_standing", "late_gap",
)  # fmt: skip

_FIGURE = re.compile(r"\d")
_ASKS_FIGURE = re.compile(
    r"\b(how (much|many|far|large|big|long|fast|often|few)|what (percentage|fraction|share|score|figure|factor|accuracy|"
    r"speed-?up|size|number|value)|by what|percent|which (number|figure)|reduction|"
    r"how .*(improve|faster|better|gain|reduc))|多少|几|多大|多快|比例|百分",
    re.IGNORECASE,
)
_RESULT = re.compile(
    r"\b(outperform|achiev|improv|reduc|surpass|results|experiments|demonstrat|empirical|extensive|across|show)", re.I
)
_OWN = re.compile(r"\b(we|our|this work|this paper|in this)\b", re.IGNORECASE)
_BACKGROUND = re.compile(r"\b(existing|however|prior|typically|often|traditional|current|recent)\b", re.IGNORECASE)
_ASKS_PROBLEM = re.compile(
    r"\b(problem|weakness|limitation|shortcoming|drawback|fail\w*|why|challenge|issue|bottleneck|difficult\w*|wrong|suffer\w*|"
    r"motivat\w*|flaw)|为什么|问题|缺点|不足|局限|弱点|挑战",
    re.IGNORECASE,
)
_PROBLEM = re.compile(
    r"\b(however|suffer|fail|lack|limit|challeng|bottleneck|problem|issue|struggl|degrad|drift|misalign|expensive|costly|"
    r"cannot|insufficient|unstable|ignor|overlook|because|due to|hinder|prohibitive)",
    re.IGNORECASE,
)
_PARTS = re.compile(
    r"(?:,\s*)?\b(?:and|while|but|versus|vs\.?|compared (?:to|with))\b\s+|[?;；？，]\s*|(?:和|以及|与)", re.IGNORECASE
)
_COMPARES = re.compile(
    r"\b(both|each|respectively|compar\w+|versus|vs|differ\w*|whereas|two papers|in common|shared? by|"
    r"(?:and|while|whereas) (?:how|what|which|the one)|alike|unlike)\b|分别|相比|区别|不同|共同|两",
    re.IGNORECASE,
)
_LATE_WEIGHT = 2.0
"""Late interaction beside 1 for the dense half of how well a paper fits."""
_MORE = 1.8
"""Budget of a question that needs two papers, or shares next to no word with any, beside that of another."""
_FEW_WORDS = 0.15
"""Lexical score of the best paper below which a question is put in other words than the library's."""
_TOKEN_FACTOR = 1.15
"""The language model's tokens to the embedder's, on abstracts."""
_LINE_TOKENS = 5
"""Tokens of a line's number and end."""


def parts_of(question: str) -> list[str]:
    """The parts a question asks about, each of three words or more; the question itself where it has but one."""
    parts = [p.strip() for p in _PARTS.split(question) if len(p.split()) >= 3]
    return parts if len(parts) > 1 else [question]


def asks_figure(question: str) -> bool:
    """Whether a figure is asked for: "how much", "what fraction", "多少"."""
    return bool(_ASKS_FIGURE.search(question))


@dataclass(frozen=True, slots=True)
class Candidates:
    """The sentences of the best papers: ``features`` is (n, len(FEATURES)) float64, row i for passage i."""

    passages: tuple[Passage, ...]
    features: NDArray[np.float64]
    tokens: tuple[int, ...]


class EvidencePicker:
    """Picks the sentences an answer is to be made from."""

    def __init__(self, embedder: Embedder, idf: Callable[[str], float]) -> None:
        """``idf`` weighs the question's terms."""
        self._embedder = embedder
        self._idf = idf

    def candidates(self, question: str, hits: Sequence[Hit]) -> Candidates:
        """All sentences of ``hits`` with their features."""
        passages = [passages_of(h.paper) for h in hits]
        texts = [p.text for row in passages for p in row]
        parts = parts_of(question)
        vectors, tokens = self._embedder.questions([question, *parts, *texts])
        asked, part_vectors, sentences = vectors[0], vectors[1 : 1 + len(parts)], vectors[1 + len(parts) :]
        late = np.array([maxsim(tokens[0], t) for t in tokens[1 + len(parts) :]])
        wanted = {t: self._idf(t) for t in set(terms(question))}
        total = sum(wanted.values()) or 1.0
        asks = asks_figure(question)
        asks_problem = bool(_ASKS_PROBLEM.search(question))
        own = np.split(sentences, np.cumsum([len(row) for row in passages])[:-1]) if passages else []
        own_late = np.split(late, np.cumsum([len(row) for row in passages])[:-1]) if passages else []
        fits = [_fit(hit, vectors @ asked) for hit, vectors in zip(hits, own, strict=True)]
        rows: list[list[float]] = []
        for fit, row, sentence_vectors, lates in zip(fits, passages, own, own_late, strict=True):
            cosines = sentence_vectors @ asked
            spread = float(cosines.std()) + 1e-6
            late_spread = float(lates.std()) + 1e-6
            held = [set(terms(p.text)) for p in row]
            last = max(len(row) - 1, 1)
            for i, passage in enumerate(row):
                here = sum(w for t, w in wanted.items() if t in held[i]) / total
                before = held[i] | held[i - 1] if i else held[i]
                figure = bool(_FIGURE.search(passage.text))
                result = bool(_RESULT.search(passage.text))
                place = i / last
                rows.append(
                    [
                        float(cosines[i]),
                        float(cosines[i] - cosines.mean()) / spread,
                        here,
                        sum(w for t, w in wanted.items() if t in before) / total,
                        max(float(cosines[i - 1]) if i else 0.0, float(cosines[i + 1]) if i + 1 < len(row) else 0.0),
                        fit - max(fits),
                        fit == max(fits),
                        fit,
                        float((part_vectors @ sentence_vectors[i]).max()),
                        place,
                        place**2,
                        asks and figure,
                        figure and not asks,
                        asks,
                        result,
                        asks and result,
                        bool(_OWN.search(passage.text)),
                        bool(_BACKGROUND.search(passage.text)),
                        min(len(passage.text), 500) / 250,
                        i == 0,
                        asks_problem and bool(_PROBLEM.search(passage.text)),
                        float(lates[i]),
                        float(lates[i] - lates.mean()) / late_spread,
                        float(lates[i] - late.max()),
                    ]
                )
        counts = self._embedder.count_tokens(texts) if texts else []
        return Candidates(
            tuple(p for row in passages for p in row),
            np.asarray(rows, dtype=np.float64).reshape(-1, len(FEATURES)),
            tuple(int(c * _TOKEN_FACTOR) + _LINE_TOKENS for c in counts),
        )

    def pick(self, question: str, hits: Sequence[Hit], *, budget: int) -> list[Evidence]:
        """Evidence for ``question``, numbered from 1, paper by paper, best paper first, in the order of the text.

        At most ``budget`` tokens, and four fifths more for a question that needs two papers, or whose words are not
        the library's, so that the right sentences stand further down. Empty only where ``hits`` is, or not even one
        sentence fits.
        """
        candidates = self.candidates(question, hits)
        scores = probabilities(candidates.features)
        shares = self._shares(question, hits)
        if len(shares) > 1:
            budget = int(_MORE * budget)
        chosen: list[int] = []
        used = 0
        for paper_ids, share in shares:
            limit = min(budget, used + int(share * budget))
            order = sorted(
                (i for i, p in enumerate(candidates.passages) if p.paper_id in paper_ids and i not in chosen),
                key=lambda i: (-scores[i], i),
            )
            for i in order:
                if used + candidates.tokens[i] <= limit:
                    chosen.append(i)
                    used += candidates.tokens[i]
        best = list(dict.fromkeys(candidates.passages[i].paper_id for i in sorted(chosen, key=lambda i: -scores[i])))
        chosen.sort(key=lambda i: (best.index(candidates.passages[i].paper_id), candidates.passages[i].start))
        return [
            Evidence(n, p.paper_id, p.start, p.end, p.text, float(scores[i]))
            for n, (i, p) in enumerate(((i, candidates.passages[i]) for i in chosen), 1)
        ]

    def _shares(self, question: str, hits: Sequence[Hit]) -> list[tuple[set[str], float]]:
        """Which papers get which share of the budget, in turn."""
        everyone = {h.paper.paper_id for h in hits}
        second = self.second_paper(question, hits)
        if second is not None:
            return [({hits[0].paper.paper_id}, 0.5), ({second.paper.paper_id}, 0.5), (everyone, 1.0)]
        if self.other_words(hits):
            # its sentences cannot be told apart by words; the best paper is read nearly whole
            return [({hits[0].paper.paper_id}, 0.7), (everyone, 1.0)]
        return [(everyone, 1.0)]

    def other_words(self, hits: Sequence[Hit]) -> bool:
        """Whether the question is put in other words than those of the papers found."""
        return bool(hits) and max(h.lexical for h in hits) < _FEW_WORDS

    def second_paper(self, question: str, hits: Sequence[Hit]) -> Hit | None:
        """The paper that a question needs beside the first: the question calls both by their labels, or it holds words of
        the question that the first one lacks.

        They must weigh enough among all its words that the library knows: a fifth; less where the question says that it
        compares. A question that shares few words even with the best paper is a paraphrase and needs no second one.
        """
        if len(hits) < 2:
            return None
        spelt = _squeezed(question)
        called = [h for h in hits if len(h.paper.label) > 3 and _squeezed(h.paper.label) in spelt]
        if len(called) > 1:
            return next(h for h in called if h is not hits[0])
        wanted = {t: self._idf(t) for t in set(terms(question))}
        held = [set(terms(f"{h.paper.title} {h.paper.abstract}")) for h in hits]
        known = set().union(*held) & wanted.keys()
        total = sum(wanted[t] for t in known) or 1.0
        covered = sum(wanted[t] for t in known & held[0]) / (sum(wanted.values()) or 1.0)
        missing = known - held[0]
        gains = [sum(wanted[t] for t in missing & h) / total for h in held]
        near = [h.score / (hits[0].score or 1.0) for h in hits]
        best = max(range(1, len(hits)), key=lambda i: (gains[i] * near[i], -i))
        gain, nearness, known_share = (0.12, 0.55, 0.15) if _COMPARES.search(question) else (0.2, 0.7, 0.3)
        needed = covered >= known_share and gains[best] >= gain and near[best] >= nearness
        return hits[best] if needed else None


def _squeezed(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


def _fit(hit: Hit, cosines: NDArray[np.float32]) -> float:
    """How well a paper fits the question once its sentences are known: its chunk, its best sentence and its best three
    count for the dense half, late interaction beside it; in about [0, 1]."""
    best = np.sort(cosines)[::-1]
    dense = 0.5 * hit.dense + 0.25 * float(best[0]) + 0.25 * float(best[:3].mean())
    return (dense + _LATE_WEIGHT * hit.late + 0.8 * hit.lexical) / 1.8


def probabilities(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability that each sentence bears on the question: (n,) float64 in (0, 1)."""
    model = fitted("evidence")
    scaled = (features - np.asarray(model["mean"])) / np.asarray(model["scale"])
    return np.asarray(1.0 / (1.0 + np.exp(-(scaled @ np.asarray(model["weights"]) + model["bias"][0]))))
