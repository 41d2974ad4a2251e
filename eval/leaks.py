"""``citewell eval leaks``: what the splits of a questions file share that they must not.

A test question that was seen in other words while weights were chosen flatters the figure it is part of. Found are
questions of different splits that say nearly the same, and papers, or words of them, that answer questions of several
splits. Questions about the whole library name papers of every split, and are left out of the latter.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from eval.facts import normal
from eval.questions import Question
from eval.results import Json
from rag.embed import Vectors
from rag.terms import terms

WORDS = 0.7
"""Jaccard of the stems of two questions from which they are said to be the same; both must have three stems or more."""
COSINE = 0.9
"""Cosine of their vectors from which they are. With MiniLM, other wordings of one question are at .75 to .95, and other
questions about one paper seldom above .8."""
_FEW = 3


@dataclass(frozen=True, slots=True)
class Twins:
    """Two questions of different splits that say nearly the same, with what shows it."""

    a: str
    b: str
    splits: tuple[str, str]
    questions: tuple[str, str]
    words: float
    shared_words: tuple[str, ...]
    cosine: float | None
    papers: tuple[str, ...]
    """The papers that answer both, or are near to both."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A paper, or words of an abstract, that answer questions of several splits."""

    what: str
    """ "paper" or "evidence"."""
    value: str
    questions: dict[str, list[str]]
    """Split -> ids."""


def find_leaks(
    questions: Sequence[Question],
    encode: Callable[[list[str]], Vectors] | None = None,
    *,
    words: float = WORDS,
    cosine: float = COSINE,
) -> Json:
    """Twins and what is shared, those that touch the test split first.

    ``encode`` gives unit vectors of texts; without it only words are compared. A follow-up is compared with the turns
    before it, a question in another language by its translation where the file has one.
    """
    texts = [" ".join([*q.history, q.english or q.question]) for q in questions]
    stems = [set(terms(text)) for text in texts]
    vectors = encode(texts) if encode and texts else None
    twins = []
    for i, j in itertools.combinations(range(len(questions)), 2):
        a, b = questions[i], questions[j]
        if a.split == b.split:
            continue
        close = None if vectors is None else float(np.dot(vectors[i], vectors[j]))
        common, either = stems[i] & stems[j], stems[i] | stems[j]
        jaccard = len(common) / len(either) if min(len(stems[i]), len(stems[j])) >= _FEW else 0.0
        same = " ".join(texts[i].lower().split()) == " ".join(texts[j].lower().split())
        if same or jaccard >= words or (close is not None and close >= cosine):
            papers = tuple(sorted({*a.papers, *a.near} & {*b.papers, *b.near}))
            twins.append(
                Twins(
                    a.id,
                    b.id,
                    (a.split, b.split),
                    (texts[i], texts[j]),
                    round(1.0 if same else jaccard, 3),
                    tuple(sorted(common)),
                    None if close is None else round(close, 3),
                    papers,
                )
            )
    twins.sort(key=lambda t: ("test" not in t.splits, -max(t.words, t.cosine or 0.0), t.a, t.b))
    shared = [*_shared("paper", questions), *_shared("evidence", questions)]
    return {
        "measured": "leaks",
        "questions": len(questions),
        "compared_by": ["words", *(["vectors"] if vectors is not None else [])],
        "twins": [asdict(t) for t in twins],
        "shared": [asdict(s) for s in sorted(shared, key=lambda s: ("test" not in s.questions, s.what, s.value))],
    }


def print_leaks(found: Json) -> str:
    """Everything found with its evidence, as text."""
    lines = [
        f"{found['questions']} questions compared by {' and '.join(found['compared_by'])}: "
        f"{len(found['twins'])} pairs of different splits say nearly the same, "
        f"{len(found['shared'])} papers or passages answer questions of several splits"
    ]
    for t in found["twins"]:
        how = f"words {t['words']:.2f}" + ("" if t["cosine"] is None else f", cosine {t['cosine']:.2f}")
        lines.append(f"\n{t['a']} ({t['splits'][0]}) and {t['b']} ({t['splits'][1]}): {how}")
        lines += [f"  {text}" for text in t["questions"]]
        if t["papers"]:
            lines.append(f"  same papers: {', '.join(t['papers'])}")
    for s in found["shared"]:
        where = "; ".join(f"{split}: {', '.join(ids)}" for split, ids in s["questions"].items())
        lines.append(f"\n{s['what']} {s['value']!r} answers questions of several splits: {where}")
    return "\n".join(lines)


def _shared(what: str, questions: Sequence[Question]) -> list[Shared]:
    where: dict[str, dict[str, list[str]]] = {}
    for question in questions:
        if question.kind == "whole-library":
            continue
        values = question.papers if what == "paper" else tuple(normal(e) for e in question.evidence)
        for value in dict.fromkeys(values):
            where.setdefault(value, {}).setdefault(question.split, []).append(question.id)
    return [Shared(what, value, by_split) for value, by_split in where.items() if len(by_split) > 1]
