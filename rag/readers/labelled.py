"""Text whose parts are labelled: "Title: …", "Authors: …", "Abstract: …"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from rag.readers.fields import Raw
from rag.records import Source

_LABEL = re.compile(
    r"(?i)^[^\S\n]*(?:[-*+]\s+)?[*_]{0,2}(titles?|authors?|abstract|summary|tl;?dr|year|date|venue|conference|journal|keywords?"
    r"|doi|url|link|arxiv|id|标题|题目|作者|摘要|关键词|会议|年份)[*_]{0,2}\s*[:：][*_]{0,2}[^\S\n]*(.*)$"
)


def looks_like(head: str) -> bool:
    """Whether lines of a text are labelled as title and abstract."""
    labels = {match[1].casefold() for line in head.split("\n") if (match := _LABEL.match(line))}
    return bool(labels & {"title", "标题", "题目"}) and bool(labels & {"abstract", "summary", "摘要"})


def read(stream: TextIO, file: str) -> Iterator[Raw]:
    """The records of a labelled text; one begins at a label that the one before already has."""
    text = stream.read().replace("\r\n", "\n").replace("\r", "\n")
    for row, found in enumerate(records(text), 1):
        yield Raw(found, Source(file, row))


def records(text: str) -> Iterator[dict[str, str]]:
    """The labelled fields of each record by lower-case name; lines without a label continue the field before."""
    found: dict[str, str] = {}
    current = ""
    for line in text.split("\n"):
        if match := _LABEL.match(line):
            current = match[1].casefold()
            if current in found:
                yield found
                found = {}
            found[current] = match[2].strip()
        elif current:
            found[current] = f"{found[current]}\n{line}" if found[current] else line
    if found:
        yield found
