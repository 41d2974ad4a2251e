"""Atom XML, as arXiv's API answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO
from xml.etree.ElementTree import Element

from rag.readers.fields import Raw
from rag.readers.xmltree import child, children, elements, local, words
from rag.records import Skipped, Source


def looks_like(head: str) -> bool:
    """Whether the XML is an Atom feed."""
    return bool(re.search(r"<(?:\w+:)?(?:feed|entry)\b[^>]*http://www\.w3\.org/2005/Atom", head))


def read(stream: TextIO, file: str) -> Iterator[Raw | Skipped]:
    """The entries of a feed."""
    row = 0
    for found in elements(stream, file, frozenset({"entry"})):
        if isinstance(found, Skipped):
            yield found
        else:
            row += 1
            yield _record(found, Source(file, row))


def _record(entry: Element, source: Source) -> Raw:
    address = words(child(entry, "id"))
    on_arxiv = "arxiv.org/" in address
    return Raw(
        {
            "title": words(child(entry, "title")),
            "abstract": words(child(entry, "summary")) or words(child(entry, "content")),
            "authors": [{"name": words(child(author, "name"))} for author in entry if local(author) == "author"],
            "venue": words(child(entry, "journal_ref")) or ("arXiv" if on_arxiv else ""),
            "year": words(child(entry, "published")) or words(child(entry, "updated")),
            "keywords": list(dict.fromkeys(term for item in children(entry, "category") if (term := item.get("term")))),
            "doi": words(child(entry, "doi")),
            "arxiv": address if on_arxiv else "",
            "url": address,
            "key": address.rpartition("/abs/")[2] if on_arxiv else address,
        },
        source,
    )
