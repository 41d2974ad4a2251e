"""Whether two records are one work, and why.

Text alone misleads both ways: a wrong abstract may be attached to a record, and versions of one work may share hardly a
word. So titles, authors, identifiers, venue and year decide, and the text bears witness; records that have nothing but
their text go by that.
"""

from __future__ import annotations

from dataclasses import dataclass

from rag.facets import Facets
from rag.names import Name
from rag.shingles import overlap

_COPIED = 0.95
_PARTS = frozenset({"ii", "iii", "iv"})


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether two records are one work, why, and how alike they are."""

    same: bool
    reasons: tuple[str, ...]
    scores: dict[str, float]
    """In [0, 1]: text (Jaccard of word 3-shingles), title, authors (shared part of the shorter list)."""
    foreign: bool = False
    """Same abstract, but other title and authors: one of the two probably carries the wrong abstract."""
    barred: bool = False
    """What they differ in means two works, whatever a third record says."""

    @property
    def strength(self) -> float:
        return sum(self.scores.values())


@dataclass(frozen=True, slots=True)
class _Likeness:
    text: float
    contained: float
    title: float
    authors: float | None
    """None where one of the two names nobody."""


def judge(left: Facets, right: Facets) -> Judgement:
    """Decide for two records whether they are one work."""
    text, contained = (1.0, 1.0) if left.abstract == right.abstract else overlap(left.shingles, right.shingles)
    like = _Likeness(text, contained, likeness(left.words, right.words), shared_authors(left.authors, right.authors))
    scores = {"text": round(text, 3)}
    if left.title and right.title:
        scores["title"] = round(like.title, 3)
    if like.authors is not None:
        scores["authors"] = round(like.authors, 3)
    if left.hollow or right.hollow:
        return Judgement(False, ("no abstract to go by",), scores, barred=True)
    if apart := _counted_apart(left, right):
        return Judgement(False, (f"they differ in {apart}",), scores, barred=True)
    if reason := _same_identifier(left, right, like) or (
        _same_titled(left, right, like) if left.title and right.title else _same_untitled(left, right, like)
    ):
        return Judgement(True, (reason, *_witnesses(reason, like)), scores)
    if text >= _COPIED:
        reason = "same abstract, other title and authors"
        return Judgement(False, (reason,), scores, foreign=True, barred=like.authors == 0)
    return Judgement(False, ("different works",), scores, barred=like.authors == 0 and text < 0.3)


def likeness(left: frozenset[str], right: frozenset[str]) -> float:
    """Jaccard of two sets of words, 0 where one is empty."""
    return len(left & right) / len(left | right) if left and right else 0.0


def shared_authors(left: frozenset[Name], right: frozenset[Name]) -> float | None:
    """The part of the shorter author list that is in the other; None where one list names nobody."""
    if not left or not right:
        return None
    shorter, longer = sorted((left, right), key=lambda names: (len(names), sorted(names)))
    return sum(one in longer or any(_same_person(one, two) for two in longer) for one in shorter) / len(shorter)


def _same_person(one: Name, two: Name) -> bool:
    if one[0] == two[0]:
        return one[1][:1] == two[1][:1] or not one[1] or not two[1]
    return one[1] != "" and two[1] != "" and {one[0], *one[1].split()} == {two[0], *two[1].split()}


def _counted_apart(left: Facets, right: Facets) -> str:
    """The numbers or parts that tell siblings apart ("Part I", "two robots"); empty if there are none."""
    if bool(left.title) != bool(right.title) or (left.abstract == right.abstract and not left.title):
        return ""
    mine, theirs = left.counts - right.counts, right.counts - left.counts
    if mine and theirs:
        return f"{' '.join(sorted(mine))} / {' '.join(sorted(theirs))}"
    # "Title" and "Title, Part II" are siblings too; "Title" and "Title: Part I" may be one.
    added = _PARTS & (mine | theirs).keys()
    return " ".join(sorted(added)) if added and left.title else ""


def _same_identifier(left: Facets, right: Facets, like: _Likeness) -> str:
    # A DOI may be that of a whole volume, an identifier mistyped: something else must agree.
    agrees = not (left.title and right.title) or like.title >= 0.4 or like.text >= 0.5
    if left.dois & right.dois and agrees:
        return "same DOI"
    return "same arXiv id" if left.arxivs & right.arxivs and agrees else ""


def _same_untitled(left: Facets, right: Facets, like: _Likeness) -> str:
    """Why two records of which one has no title are one work: the text, unless the authors are strangers."""
    if like.authors == 0:
        return ""
    if like.text == 1:
        return "same abstract"
    if min(len(left.shingles), len(right.shingles)) < 30:
        return ""
    if like.text >= 0.8:
        return "nearly the same abstract"
    return "one abstract is part of the other" if like.contained >= 0.95 else ""


def _same_titled(left: Facets, right: Facets, like: _Likeness) -> str:
    copied = like.text >= _COPIED or (like.contained >= 0.98 and like.text >= 0.85)
    if left.title == right.title:
        if like.authors == 0:
            return "same title" if copied else ""
        if like.authors is None and like.text < 0.2 and like.contained < 0.5:
            return ""
        return "same title"
    if copied and (like.title >= 0.5 or (like.authors or 0) >= 0.5):
        return "same abstract" if like.text == 1 else "nearly the same abstract"
    if like.authors is None:
        return "similar title" if like.title >= 0.7 and like.text >= 0.6 else ""
    return _kin(left, right, like) if like.authors >= 0.5 else ""


def _kin(left: Facets, right: Facets, like: _Likeness) -> str:
    """How two unequal titles by the same people say that they are one work; empty if they do not.

    The thresholds are drawn between the labelled pairs of one work and of siblings by the same authors.
    """
    if left.words == right.words and len(left.words) >= 3:
        return "same words in the title"
    for one, two in ((left, right), (right, left)):
        tail = len(one.tail.split())
        if like.text >= 0.1 and ((one.tail == two.tail and tail >= 4) or (one.tail == two.title and tail >= 3)):
            return "same title but for its head"
    only = max(len(left.words - right.words), len(right.words - left.words))
    if (like.title >= 0.75 and like.text >= 0.5) or (like.title >= 0.6 and like.text >= 0.6 and only <= 1):
        return "similar title"
    if like.title >= 0.5 and like.contained >= 0.8 and like.text < 0.4:
        return "similar title, and one abstract is part of the other"
    series = left.head and left.head == right.head
    if left.outlets & right.outlets and not series and like.title >= 0.6 and like.text >= 0.25:
        return "similar title at the same meeting"
    near = not left.years or not right.years or min(abs(a - b) for a in left.years for b in right.years) <= 2
    reworked = like.text >= 0.3 or (like.contained >= 0.6 and like.text >= 0.1)
    if (left.preprint or right.preprint) and near and not series and like.title >= 0.4 and reworked:
        return "similar title, first a preprint or submission"
    return ""


def _witnesses(reason: str, like: _Likeness) -> tuple[str, ...]:
    words = []
    if "abstract" not in reason or "part" in reason:
        words.append("same abstract" if like.text == 1 else f"{like.text:.0%} of the abstract's phrases shared")
    if like.authors:
        words.append("same authors" if like.authors == 1 else f"{like.authors:.0%} of the authors shared")
    return tuple(words)
