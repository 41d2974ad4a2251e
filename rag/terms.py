"""What words a text is made of, for searching and comparing: stems without stop words; the only importer of bm25s.

English stop words left out, Snowball stems: the settings whose BM25 figures on SciFact and Cranfield are published.
"""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import Stemmer

_stemmer = Stemmer.Stemmer("english")


def terms(text: str) -> list[str]:
    """The stems ``text`` is indexed under, in order, stop words left out."""
    tokens = bm25s.tokenize([text], stopwords="en", stemmer=_stemmer, return_ids=False, show_progress=False)
    return [t for t in tokens[0] if t]


def numbered_terms(texts: Sequence[str]) -> tuple[list[list[int]], dict[str, int]]:
    """The ``terms`` of each of ``texts`` by their numbers, and the number of each term; the term "" stands in for a text
    without one."""
    if not texts:
        return [], {}
    tokens = bm25s.tokenize(list(texts), stopwords="en", stemmer=_stemmer, show_progress=False)
    return tokens.ids, dict(tokens.vocab)


def stems(words: Sequence[str]) -> list[str]:
    """The stem of each of ``words``, stop words too, so that places are kept."""
    found: list[str] = _stemmer.stemWords([word.lower() for word in words])
    return found
