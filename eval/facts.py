"""Whether an answer holds what it must: required facts as regular expressions, forgiving of how signs are written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from rag.fold import plain

_DASHES = str.maketrans({**dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"), "\u2019": "'", "\u2018": "'"})
_MARKER = re.compile(r"\s*\[\d+\](?!\()")


def normal(text: str) -> str:
    """``text`` as facts are looked for in it: LaTeX and markdown simplified, NFKC (``W₂`` = ``W2``), one kind of
    hyphen and apostrophe, single blanks."""
    return _even(plain(text))


def missing_facts(facts: Sequence[Sequence[str]], answer: str) -> list[list[str]]:
    """The facts that ``answer`` does not hold, each as its alternatives.

    A fact is held where at least one of its alternatives, a regular expression, matches anywhere, whatever the case:
    in the answer made plain or as it stands, with its markers ``[n]`` left out or left in, and its dashes as they are
    or as hyphens.
    """
    bare = _MARKER.sub("", answer)
    read = [way(text) for text in (bare, answer) for way in (normal, _even, _composed)]
    texts = dict.fromkeys([*read, _composed(plain(bare))])
    return [
        list(alternatives)
        for alternatives in facts
        if not any(_compiled(pattern).search(text) for pattern in alternatives for text in texts)
    ]


def _even(text: str) -> str:
    return _composed(text).translate(_DASHES)


def _composed(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    # its dashes stay: in [–-] they would become a range
    return re.compile(unicodedata.normalize("NFKC", "".join(map(_spelt, pattern))), re.IGNORECASE)


def _spelt(sign: str) -> str:
    """A character of a pattern as texts are compared: "⑴" becomes the text "(1)", not a group."""
    spelt = unicodedata.normalize("NFKC", sign)
    return spelt if spelt == sign or spelt.isalnum() else re.escape(spelt)
