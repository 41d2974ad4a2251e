"""CSV and TSV: with a header line where there is one, else by the looks of the columns."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterator
from typing import TextIO

from rag.readers.fields import KNOWN, Raw, field_name, is_telling
from rag.records import Skipped, Source

_DELIMITERS = ("\t", ",", ";", "|")
_LARGEST_CELL = 1 << 20


def looks_like(head: str, name: str) -> bool:
    """Whether a text is a table: its first line names a title or abstract column, or its name says so."""
    first = next((line for line in head.split("\n") if line.strip()), "")
    if any(_is_header(_cells(first, delimiter)) for delimiter in _DELIMITERS):
        return True
    return name.casefold().removesuffix(".gz").endswith((".csv", ".tsv", ".tab"))


def read(stream: TextIO, file: str) -> Iterator[Raw | Skipped]:
    """The rows of a table, the header not counted. A row that cannot be read is one Skipped."""
    text = stream.read().replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    lines = [f"{line}\n" for line in text.split("\n")]  # str.splitlines() also breaks at U+2028 and the like
    start = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    if start == len(lines):
        return
    delimiter = _delimiter(lines[start : start + 50])
    columns = _cells(lines[start], delimiter)
    if _is_header(columns):
        start += 1
    else:
        columns = _guessed([_cells(line, delimiter) for line in lines[start : start + 50]])
    for row, cells in enumerate(_rows(lines, start, delimiter, len(columns)), 1):
        if not isinstance(cells, str):
            cells = _fitted(cells, columns, delimiter)
        if isinstance(cells, str):
            yield Skipped(file, row, cells)
        else:
            yield Raw(dict(zip(columns, cells, strict=False)), Source(file, row))


def _fitted(cells: list[str], columns: list[str], delimiter: str) -> list[str] | str:
    """The cells of a row that fit its columns; an unquoted abstract in the last column may hold the delimiter."""
    while len(cells) > len(columns) and not cells[-1].strip():
        cells.pop()
    surplus = len(cells) - len(columns)
    if surplus <= 0:
        return cells
    if field_name(columns[-1]) in ("abstract", "summary", "text"):
        return [*cells[: len(columns) - 1], f"{delimiter} ".join(cells[len(columns) - 1 :])]
    return f"not valid CSV: {len(cells)} cells in a table of {len(columns)} columns"


def _rows(lines: list[str], start: int, delimiter: str, width: int) -> Iterator[list[str] | str]:
    previous = csv.field_size_limit(_LARGEST_CELL)
    try:
        while start < len(lines):
            reader = csv.reader(lines[start:], delimiter=delimiter, skipinitialspace=True)
            restart = None
            while restart is None:
                line = start + reader.line_num
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    yield f"not valid CSV: {error}"
                    restart = line + 1
                    continue
                if not any(cell.strip() for cell in cells):
                    continue
                spread = start + reader.line_num - line
                if len(cells) < width and spread > 1 and start + reader.line_num >= len(lines):
                    # A quote that is never closed swallowed the rest of the file: give up its line only.
                    yield "not valid CSV: a quotation mark is not closed"
                    restart = line + 1
                else:
                    yield cells
            start = restart
    finally:
        csv.field_size_limit(previous)


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        cells = next(csv.reader([line.strip("\r\n")], delimiter=delimiter, skipinitialspace=True), [])
        return [cell.strip() for cell in cells]
    except csv.Error:
        return []


def _is_header(cells: list[str]) -> bool:
    names = [field_name(cell) for cell in cells]
    return len(cells) > 1 and any(map(is_telling, names)) and sum(name in KNOWN for name in names) * 3 >= len(names)


def _delimiter(lines: list[str]) -> str:
    for delimiter in _DELIMITERS:
        if _is_header(_cells(lines[0], delimiter)):
            return delimiter
    return max(_DELIMITERS, key=lambda sign: statistics.median(len(_cells(line, sign)) for line in lines))


def _guessed(rows: list[list[str]]) -> list[str]:
    """Names for the columns of a table without a header: the longest text is the abstract, the next the title."""
    width = max(map(len, rows))
    padded = [[*row, *[""] * (width - len(row))] for row in rows]
    lengths = [statistics.median(len(row[column]) for row in padded) for column in range(width)]
    names = [""] * width
    order = sorted(range(width), key=lambda column: (-lengths[column], column))
    names[order[0]] = "abstract"
    if width > 1 and lengths[order[1]] >= 15:
        names[order[1]] = "title"
    for column in range(width):
        values = [row[column] for row in rows if column < len(row) and row[column]]
        if not names[column] and values and all(value.isdecimal() and len(value) == 4 for value in values):
            names[column] = "year"
    return [name or f"column{column}" for column, name in enumerate(names)]
