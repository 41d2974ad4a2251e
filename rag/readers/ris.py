"""RIS, the export of reference managers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

import rispy  # type: ignore[import-untyped]

from rag.readers.fields import Raw
from rag.records import Skipped, Source

_START = re.compile(r"^TY\s{1,2}-\s?", re.MULTILINE)
_END = re.compile(r"^ER\s{1,2}-.*$", re.MULTILINE)
_VENUE = ("journal_name", "secondary_title", "alternate_title3", "alternate_title1", "custom3", "publisher")


def looks_like(head: str) -> bool:
    """Whether a text begins a RIS record within its first lines."""
    return bool(_START.search(head[:4096]))


def read(stream: TextIO, file: str) -> Iterator[Raw | Skipped]:
    """The references of a RIS text; one that cannot be read is one Skipped."""
    text = stream.read().replace("\r\n", "\n").replace("\r", "\n")
    starts = [match.start() for match in _START.finditer(text)]
    for row, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True), 1):
        record = _END.sub("", text[start:end]).rstrip()
        try:
            found = rispy.loads(f"{record}\nER  - \n")
        except (OSError, ValueError, KeyError, IndexError) as error:
            yield Skipped(file, row, f"not valid RIS: {error}")
            continue
        if not found:
            yield Skipped(file, row, "not valid RIS: an empty record")
            continue
        yield _record(found[0], Source(file, row))


def _record(found: dict[str, object], source: Source) -> Raw:
    return Raw(
        {
            "title": found.get("title") or found.get("primary_title") or found.get("short_title"),
            "abstract": found.get("abstract") or found.get("notes_abstract"),
            "authors": found.get("authors") or found.get("first_authors"),
            "venue": next((found[name] for name in _VENUE if found.get(name)), ""),
            "year": found.get("year") or found.get("publication_year") or found.get("date"),
            "keywords": found.get("keywords"),
            "doi": found.get("doi"),
            "url": (found.get("urls") or [""]) if not isinstance(found.get("urls"), list) else _first(found["urls"]),
            "key": found.get("id") or found.get("accession_number"),
        },
        source,
    )


def _first(values: object) -> object:
    return values[0] if isinstance(values, list) and values else ""
