"""Names of people, as they are compared."""

from __future__ import annotations

import re
from functools import lru_cache

from rag.fold import fold, plain

_NOBODY = frozenset({"anonymous", "anonymous author", "anonymous authors", "unknown", "et al", "na", "n a", ""})
_HONORIFIC = re.compile(r"^(?:mr|mrs|ms|dr|prof|and)\.?\s+", re.IGNORECASE)
_PARTICLES = frozenset("al bin da das de del della den der di do dos du el la le ten ter van von zu".split())  # noqa: SIM905

Name = tuple[str, str]
"""Folded family name and given names; the latter may be initials or empty."""


@lru_cache(maxsize=1 << 18)
def name(author: str) -> Name | None:
    """Family and given names of "Given Family" or "Family, Given"; None for nobody ("Anonymous")."""
    author = _HONORIFIC.sub("", plain(author))
    if fold(author) in _NOBODY:
        return None
    family, comma, given = author.partition(",")
    if not comma:
        given, _, family = author.strip().rpartition(" ")
    return fold(family).rpartition(" ")[2], fold(given.replace(".", " "))


def fits(asked: Name, held: Name) -> bool:
    """Whether a person asked for may be the one held: the family name, and given names as far as both tell them.

    "Y. Bengio", "Bengio" and "Bengio Yoshua" fit "Yoshua Bengio"; "Samy Bengio" does not.
    """
    if asked[0] == held[0]:
        pairs = zip(_given(asked), _given(held), strict=False)
        return all(one == two or (min(len(one), len(two)) == 1 and one[0] == two[0]) for one, two in pairs)
    return bool(asked[1] and held[1]) and {asked[0], *asked[1].split()} == {held[0], *held[1].split()}


def _given(one: Name) -> list[str]:
    return [word for word in one[1].split() if word not in _PARTICLES]
