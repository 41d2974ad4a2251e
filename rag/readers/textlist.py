"""Text: a heading line and abstracts with blank lines between, one abstract a file, or a title line above each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from rag.readers.fields import Raw
from rag.records import Skipped, Source

_BLANK = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_SENTENCE_END = re.compile(r"""[.!?…]["'”’)\]]*$|[。！？]""")
_INNER_SENTENCE = re.compile(r"[a-z0-9)][.!?]\s+[A-Z]|[。！？；]")
_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_RULE = re.compile(r"[\W_]+")
# Words a list is headed with rather than a paper, and the year that goes with them.
_LIST_WORDS = re.compile(
    r"(?i)\b(?:papers?|abstracts?|proceedings|accepted|posters?|orals?|spotlights?|track|session|list|day)\b"
    r"|\b(?:19|20)\d\d\b|论文|列表|摘要|会议|目录|論文|一覧|논문"
)


def read(stream: TextIO, file: str) -> Iterator[Raw | Skipped]:
    """The abstracts of a text in order, headings as Skipped; a block is an abstract, a heading or a title."""
    blocks = _split(stream.read().replace("\r\n", "\n").replace("\r", "\n"))
    headings = [is_heading(block) for block in blocks]
    titled = _are_titles(blocks, headings)
    row = 0
    pending = ""
    for position, block in enumerate(blocks):
        if headings[position]:
            if titled and position + 1 < len(blocks) and not headings[position + 1]:
                pending = block
                continue
            row += row > 0
            yield Skipped(file, row, "heading")
            continue
        row += 1
        title, abstract = (pending, block) if pending else _title_line(block)
        pending = ""
        yield Raw({"title": title, "abstract": abstract}, Source(file, row))


def is_heading(block: str) -> bool:
    """Whether a block is short and holds no sentence: the heading of a list or a title, never an abstract."""
    text = block.strip()
    if text.count("\n") > 2:
        return False
    if not _RULE.sub("", text):
        return True
    limit = 70 if len(_WIDE.findall(text)) * 2 > len(text) else 250
    return len(text) <= limit and not _INNER_SENTENCE.search(text) and not _SENTENCE_END.search(text)


def _split(text: str) -> list[str]:
    blocks = [block.strip("\n") for block in _BLANK.split(text) if block.strip()]
    # No blank lines at all: an abstract a line, if every line is as long as one and ends as one.
    if 1 <= len(blocks) <= 2:
        lines = [part for part in blocks[-1].split("\n") if part.strip()]
        head = lines[:1] if lines and is_heading(lines[0]) else []
        body = lines[len(head) :]
        if len(body) >= 3 and all(len(part) >= 250 and _SENTENCE_END.search(part.rstrip()) for part in body):
            return blocks[:-1] + head + body
    return blocks


def _are_titles(blocks: list[str], headings: list[bool]) -> bool:
    """Whether the headings are the titles of the abstracts that follow them rather than of the list."""
    above = [
        blocks[position] for position in range(len(blocks) - 1) if headings[position] and not headings[position + 1]
    ]
    abstracts = headings.count(False)
    if not above or len(set(above)) < len(above):
        return False
    if abstracts == 1:
        return not _LIST_WORDS.search(above[0]) and len(above[0].split()) >= 2
    wordy = sum(len(block.split()) >= 3 or len(_WIDE.findall(block)) >= 6 for block in above)
    return len(above) >= max(2, 0.8 * abstracts) and wordy * 2 > len(above)


def _title_line(block: str) -> tuple[str, str]:
    """A block's title line and the rest; no title where the first line is just the first of wrapped text."""
    first, newline, rest = block.partition("\n")
    if not newline or not is_heading(first) or is_heading(rest):
        return "", block
    width = max(map(len, rest.split("\n")))
    next_word = rest.split(maxsplit=1)[0]
    fits = len(first.rstrip()) + 1 + len(next_word) <= width
    return (first, rest) if fits and not next_word[:1].islower() else ("", block)
