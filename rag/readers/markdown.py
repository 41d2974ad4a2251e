"""Markdown: a heading above each abstract, or a heading above a list of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TextIO

from rag.readers import labelled
from rag.readers.clean import clean
from rag.readers.fields import Raw
from rag.readers.textlist import is_heading
from rag.records import Skipped, Source

_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(?:={3,}|-{3,})[ \t]*$")
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*\n", re.DOTALL)
_SECTION = re.compile(r"(?i)^(?:abstract|summary|摘要)\W*$")
_ENTRY = re.compile(r"^([A-Za-z][\w-]*)\s*:\s*(.*)$")


@dataclass
class _Section:
    heading: str
    blocks: list[str] = field(default_factory=list)


def looks_like(head: str, name: str) -> bool:
    """Whether a text has Markdown headings, or its name and front matter say so."""
    if _FRONT.match(head):
        return True
    if any(_HEADING.match(line) for line in head.split("\n")):
        return True
    return name.casefold().endswith((".md", ".markdown")) and bool(re.search(r"(?m)^(?:=|-){3,}\s*$", head))


def read(stream: TextIO, file: str) -> Iterator[Raw | Skipped]:
    """The abstracts under their headings; a heading above several paragraphs heads a list and is Skipped."""
    text = stream.read().replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT.match(text)
    if front:
        yield Raw(_front_matter(front[1], text[front.end() :]), Source(file, 1))
        return
    sections = list(_sections(text))
    filled = [section for section in sections if section.blocks]
    row = 0
    for section in sections:
        is_list = len(section.blocks) > 1 and (len(filled) == 1 or len(section.blocks) > 3) and not _labels(section)
        if section.heading and (is_list or not section.blocks):
            row += row > 0
            yield Skipped(file, row, "heading")
        for block in section.blocks if is_list or not section.heading else ["\n\n".join(section.blocks)]:
            if not block:
                continue
            row += 1
            if not section.heading and is_heading(block):
                yield Skipped(file, row, "heading")
                continue
            found = _fields(block)
            yield Raw({"title": "" if is_list else section.heading, **found}, Source(file, row))


def _sections(text: str) -> Iterator[_Section]:
    current = _Section("")
    paragraph: list[str] = []
    fenced = False

    def close() -> None:
        if block := "\n".join(paragraph).strip("\n"):
            current.blocks.append(block)
        paragraph.clear()

    for line in [*text.split("\n"), ""]:
        fenced ^= line.lstrip().startswith("```")
        heading = None if fenced else _HEADING.match(line)
        if not fenced and _UNDERLINE.match(line) and len(paragraph) == 1 and is_heading(paragraph[0]):
            title = paragraph.pop().strip()
        elif heading:
            title = heading[1]
        else:
            close() if not line.strip() else paragraph.append(line)
            continue
        close()
        if _SECTION.match(title):
            continue  # "## Abstract" below the title belongs to the paper it is in
        if current.heading or current.blocks:
            yield current
        current = _Section(title)
    close()
    if current.heading or current.blocks:
        yield current


def _labels(section: _Section) -> bool:
    return any(labelled.looks_like(f"title: x\n{block}") for block in section.blocks)


def _fields(block: str) -> dict[str, str]:
    """The labelled lines of a section ("**Authors:** …") and its abstract."""
    lines = block.split("\n")
    found = next(iter(labelled.records(block)), {})
    if "abstract" in found:
        return found
    rest = "\n".join(line for line in lines if not any(labelled.records(line)))
    return {**{name: value.split("\n")[0] for name, value in found.items()}, "abstract": clean(rest)}


def _front_matter(head: str, body: str) -> dict[str, object]:
    found: dict[str, object] = {}
    items: list[str] = []
    for line in head.split("\n"):
        if match := _ENTRY.match(line):
            value = match[2].strip().strip("\"'")
            items = []
            found[match[1]] = value if value not in ("", "|", ">", "|-", ">-") else items
            if value.startswith("[") and value.endswith("]"):
                found[match[1]] = [part.strip(" \"'") for part in value[1:-1].split(",")]
        elif line.strip():
            items.append(line.strip().removeprefix("- ").strip("\"'"))
    found.setdefault("abstract", re.sub(r"^#+ .*\n+", "", body.strip()))
    return found
