"""MEDLINE text, PubMed's ``.nbib`` export."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from rag.readers.fields import Raw
from rag.records import Source

_TAG = re.compile(r"^([A-Z][A-Z0-9]{1,3})\s{0,3}- ?(.*)$")
_START = re.compile(r"^PMID\s?- ?\d", re.MULTILINE)


def looks_like(head: str) -> bool:
    """Whether a text begins a MEDLINE record within its first lines."""
    return bool(_START.search(head[:4096]))


def read(stream: TextIO, file: str) -> Iterator[Raw]:
    """The citations of a MEDLINE text; a record begins at each PMID."""
    text = stream.read().replace("\r\n", "\n").replace("\r", "\n")
    for row, tags in enumerate(_records(text), 1):
        yield _record(tags, Source(file, row))


def _records(text: str) -> Iterator[dict[str, list[str]]]:
    tags: dict[str, list[str]] = {}
    values: list[str] = []
    for line in text.split("\n"):
        if match := _TAG.match(line):
            if match[1] == "PMID" and tags:
                yield tags
                tags = {}
            values = tags.setdefault(match[1], [])
            values.append(match[2].strip())
        elif line.startswith("      ") and values:
            values[-1] += f" {line.strip()}"
    if tags:
        yield tags


def _record(tags: dict[str, list[str]], source: Source) -> Raw:
    def first(*names: str) -> str:
        return next((tags[name][0] for name in names if tags.get(name)), "")

    identifiers = [*tags.get("LID", []), *tags.get("AID", [])]
    pmid = first("PMID")
    return Raw(
        {
            "title": first("TI", "BTI"),
            "abstract": first("AB"),
            "authors": tags.get("FAU") or tags.get("AU") or tags.get("CN") or [],
            "venue": first("JT", "TA"),
            "year": first("DP", "EDAT"),
            "keywords": [word.lstrip("*") for word in tags.get("OT", [])],
            "doi": next((value.removesuffix("[doi]").strip() for value in identifiers if value.endswith("[doi]")), ""),
            "url": f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/" if pmid else "",
            "key": pmid,
        },
        source,
    )
