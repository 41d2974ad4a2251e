"""What is a paper about? How likely it is that a paper belongs to a topic named in a few words.

A logistic model (``topic.json``, fitted by ``citewell eval fit topics`` on questions about the whole library) over the
words of the topic that the paper holds, and how near it comes by its vectors and tokens, also as measured against how
near the library as a whole comes: "language models" is near everything in a library about them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rag.fitted import fitted
from rag.fold import plain
from rag.late import even_weights
from rag.records import Paper
from rag.terms import terms
from rag.verify import Passage

if TYPE_CHECKING:
    from rag.library import Library, Snapshot
    from rag.within import Within

FEATURES = ("sentence", "abstract", "adjacent", "cosine", "late", "cosine_z", "late_z")
_NEAREST = 2000
"""Chunks, and papers by their words, that are looked at; of a small library all."""
_BACKGROUND = 256
"""Chunks that stand for the library as a whole."""
_ACRONYM = re.compile(r"((?:[\w-]+ ){1,6}[\w-]+) \(([A-Z][A-Za-z]*[A-Z]s?|[A-Z]{2,})\)")


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic in all its spellings, held against a library."""

    wordings: tuple[_Wording, ...]

    @classmethod
    def of(
        cls, text: str, papers: Iterable[Paper], library: Library, snapshot: Snapshot, within: Within | None
    ) -> Topic:
        """``papers`` tell what its acronym stands for, or what its acronym is."""
        spellings = dict.fromkeys([text])
        wanted = terms(text)
        named, worded = f"({text.rstrip('s')}", _holding(wanted, snapshot)
        for paper in papers:
            if named not in paper.abstract and paper.paper_id not in worded:
                continue  # reading the acronyms of every paper takes a minute with 100,000
            for long, short in acronyms(paper):
                if text.rstrip("s") == short:
                    spellings[long] = None
                elif terms(long) == wanted:
                    spellings[short] = None
        return cls(tuple(_Wording.of(spelt, library, snapshot, within) for spelt in spellings))

    @property
    def candidates(self) -> set[str]:
        """Papers that may belong to it."""
        return {i for wording in self.wordings for i in wording.candidates}

    def holds(self, paper: Paper, passages: Sequence[Passage]) -> bool:
        """Whether the paper names it as it is worded, or belongs to it more likely than not."""
        model = fitted("topic")
        rows = np.array([wording.features(paper, passages) for wording in self.wordings])
        z = rows @ np.asarray(model["weights"]) + model["bias"][0]
        return bool(rows[:, FEATURES.index("adjacent")].any() or z.max() > 0)

    def telling(self, passages: Sequence[Passage]) -> Passage:
        """The sentence in which the topic stands as it is worded, or that holds most of its words; the first of equals."""

        def worth(passage: Passage) -> tuple[bool, float, int]:
            held = terms(passage.text)
            stands = any(w.stands_in(passage.text, held) for w in self.wordings)
            return stands, max(w.share(set(held)) for w in self.wordings), -passage.start

        return max(passages, key=worth)


def _holding(wanted: Sequence[str], snapshot: Snapshot) -> set[str]:
    """The papers that hold each of the terms ``wanted``."""
    rows = np.ones(len(snapshot.words.paper_ids), dtype=bool)
    for term in set(wanted):
        rows &= snapshot.words.scores([term]) > 0
    return {snapshot.words.paper_ids[row] for row in np.flatnonzero(rows)}


def acronyms(paper: Paper) -> list[tuple[str, str]]:
    """What the abstract spells out, each with its acronym: ("neural collapse", "NC")."""
    found = []
    for match in _ACRONYM.finditer(paper.abstract):
        short = match.group(2).rstrip("s")
        words = list(re.finditer(r"[^ -]+", match.group(1)))
        letters = [c.lower() for c in short if c.isalpha()]
        tail = words[-len(letters) :]
        if [w.group()[0].lower() for w in tail] == letters:
            found.append((match.group(1)[tail[0].start() :], short))
    return found


@dataclass(frozen=True, slots=True)
class _Wording:
    """One spelling of a topic, and how near the papers come to it."""

    text: str
    weights: dict[str, float]
    """Its terms with their rarity."""
    cosines: dict[str, float]
    """By paper, of its nearest chunk."""
    late: dict[str, float]
    ground: tuple[float, float, float, float]
    """Mean and deviation of cosine and late score over the library."""
    candidates: frozenset[str]

    @classmethod
    def of(cls, text: str, library: Library, snapshot: Snapshot, within: Within | None) -> _Wording:
        vectors, tokens = library.embedder.questions([text])
        depth = min(_NEAREST, len(snapshot.paper_of_chunk))
        found = (
            snapshot.vectors.nearest(vectors, depth) if within is None else within.nearest(snapshot, vectors, depth, 1)
        )
        near = [(c, cosine) for c, cosine in found[0][:depth] if c in snapshot.paper_of_chunk]
        every = sorted(snapshot.paper_of_chunk)
        sample = every[:: max(1, len(every) // _BACKGROUND)]
        fits = snapshot.embeddings.scores(tokens[0], [*(c for c, _ in near), *sample], even_weights(len(tokens[0])))
        cosines: dict[str, float] = {}
        late: dict[str, float] = {}
        for chunk, cosine in near:
            paper = snapshot.paper_of_chunk[chunk]
            cosines[paper] = max(cosines.get(paper, -1.0), cosine)
            late[paper] = max(late.get(paper, -1.0), fits.get(chunk, cosine))
        usual = snapshot.embeddings.vectors(sample) @ vectors[0]
        fit = np.array([fits.get(c, float(v)) for c, v in zip(sample, usual, strict=True)])
        query = terms(text)
        scores = snapshot.words.scores(query)
        held = [int(i) for i in np.argsort(-scores, kind="stable")[:_NEAREST] if scores[i] > 0]
        named = {snapshot.words.paper_ids[i] for i in held}
        return cls(
            text,
            {t: snapshot.words.idf(t) for t in set(query)},
            cosines,
            late,
            (float(usual.mean()), float(usual.std()) + 1e-6, float(fit.mean()), float(fit.std()) + 1e-6),
            frozenset((named if within is None else named & within.paper_ids) | cosines.keys()),
        )

    def share(self, held: set[str]) -> float:
        """Of the topic's terms, weighed by rarity, the share that is ``held``."""
        return sum(w for t, w in self.weights.items() if t in held) / (sum(self.weights.values()) or 1.0)

    def features(self, paper: Paper, passages: Sequence[Passage]) -> NDArray[np.float64]:
        """One row in the order of FEATURES: (7,) float64."""
        ordered = [terms(p.text) for p in passages]
        sentence = max((self.share(set(held)) for held in ordered), default=0.0)
        everything = set(terms(f"{paper.label} {paper.title} {paper.abstract}"))
        cosine, late = self.cosines.get(paper.paper_id, self.ground[0]), self.late.get(paper.paper_id, self.ground[2])
        return np.array(
            [
                sentence,
                self.share(everything),
                float(any(self.stands_in(p.text, held) for p, held in zip(passages, ordered, strict=True))),
                cosine,
                late,
                (cosine - self.ground[0]) / self.ground[1],
                (late - self.ground[2]) / self.ground[3],
            ]
        )

    def stands_in(self, sentence: str, held: Sequence[str]) -> bool:
        """Whether the topic stands in a sentence, word by word; an acronym as it is spelt."""
        if " " not in self.text and sum(c.isupper() for c in self.text) > 1:
            case = re.IGNORECASE if len(self.text) > 4 else 0  # "NC" is not the end of "since"
            return bool(re.search(rf"(?<![A-Za-z]){re.escape(self.text)}(?![a-z])", plain(sentence), case))
        wanted = terms(self.text)
        return bool(wanted) and any(held[i : i + len(wanted)] == wanted for i in range(len(held)))
