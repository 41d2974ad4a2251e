"""Which split a question of one's own belongs to: by its paper, so that no paper is both tuned on and tested."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from eval.questions import SPLITS, Question


def splits_of_papers(questions: Sequence[Question]) -> dict[str, str]:
    """The split of every paper that ``questions`` are about; the first question's where they differ."""
    found: dict[str, str] = {}
    for question in questions:
        for paper in (*question.papers, *question.near):
            found.setdefault(paper, question.split)
    return found


def split_of(paper: str, known: Mapping[str, str]) -> str:
    """The split of a paper: the ``known`` one, else a third of all papers each, by a hash of the id."""
    digest = hashlib.sha256(f"split\x1f{paper}".encode()).digest()
    return known.get(paper, SPLITS[digest[0] % len(SPLITS)])
