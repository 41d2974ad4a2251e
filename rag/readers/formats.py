"""Which format a text is in, by its first characters, and by its name only where they leave it open."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TextIO

from rag.readers import atom, bibtex, jsonlist, labelled, markdown, medline, pubmed, ris, table, textlist
from rag.readers.fields import Raw
from rag.records import Skipped

Reader = Callable[[TextIO, str], Iterator[Raw | Skipped]]
"""From an open text and the file's name, its records in order."""

_HEAD = 1 << 16
_MARKUP = re.compile(r"\s*(?:<\?xml\b|<!DOCTYPE\b|<!--|<[A-Za-z][\w:-]*(?:\s[^<>]*)?>)", re.IGNORECASE)
_HTML = re.compile(r"(?i)<(?:!doctype\s+html|html|head|body)\b")


class UnknownFormat(ValueError):
    """The text is in a format that is not read; the message names it."""


def reader_of(stream: TextIO, name: str) -> Reader:
    """The reader for a text, which is left at its beginning. Raises UnknownFormat."""
    head = stream.read(_HEAD)
    stream.seek(0)
    if _MARKUP.match(head):
        if pubmed.looks_like(head):
            return pubmed.read
        if atom.looks_like(head):
            return atom.read
        if _HTML.search(head):
            raise UnknownFormat("a web page; save the list as text, BibTeX, CSV or JSON")
        if head.lstrip().startswith("<?xml") or name.casefold().endswith(".xml"):
            raise UnknownFormat("XML that is neither PubMed's nor Atom (arXiv's)")
    if jsonlist.looks_like(head):
        return jsonlist.read
    if ris.looks_like(head):
        return ris.read
    if medline.looks_like(head):
        return medline.read
    if bibtex.looks_like(head):
        return bibtex.read
    if table.looks_like(head, name):
        return table.read
    if labelled.looks_like(head) and not re.match(r"\s*#", head):
        return labelled.read
    return markdown.read if markdown.looks_like(head, name) else textlist.read
