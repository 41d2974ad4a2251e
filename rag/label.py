"""A short name for a paper that a person recognises."""

from __future__ import annotations

from rag.fold import plain


def label(title: str, abstract: str) -> str:
    return plain(title or abstract)[:60]
