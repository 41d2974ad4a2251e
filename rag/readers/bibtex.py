"""BibTeX, entry by entry, so that a broken one costs no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from pybtex.database.input.bibtex import LowLevelParser, month_names  # type: ignore[import-untyped]
from pybtex.exceptions import PybtexError  # type: ignore[import-untyped]

from rag.fold import plain
from rag.readers.fields import Raw
from rag.records import Skipped, Source

_START = re.compile(r"^[^\S\n]*@(?=\s*[A-Za-z]+\s*[{(])", re.MULTILINE)
_KIND = re.compile(r"@\s*([A-Za-z]+)")
_PROSE = frozenset({"abstract", "annote"})


def looks_like(head: str) -> bool:
    """Whether a text holds BibTeX entries."""
    return bool(re.search(r"^[^\S\n]*@\s*[A-Za-z]+\s*[{(]\s*(?:[^\s,{}()]+\s*,|\w+\s*=)", head, re.MULTILINE))


def read(stream: TextIO, file: str) -> Iterator[Raw | Skipped]:
    """The entries of a BibTeX text; ``@string`` abbreviations hold from where they stand."""
    macros = dict(month_names)
    row = 0
    for entry in _entries(stream.read().replace("\r\n", "\n").replace("\r", "\n")):
        kind = match[1].casefold() if (match := _KIND.match(entry)) else ""
        if kind in ("comment", "preamble"):
            continue
        row += kind != "string"
        try:
            found = fields(entry, macros)
        except (PybtexError, RecursionError) as error:
            if kind != "string":
                yield Skipped(file, row, f"not valid BibTeX: {error}")
            continue
        if kind != "string":
            yield Raw(found, Source(file, row))


def fields(entry: str, macros: dict[str, str] | None = None) -> dict[str, str]:
    """The fields of one entry by lower-case name, titles and names without LaTeX, the abstract as it stands.

    ``macros`` gets what an ``@string`` defines. Raises PybtexError.
    """
    parser = LowLevelParser(entry, macros=macros if macros is not None else dict(month_names), handle_error=_tolerate)
    found: dict[str, str] = {}
    for command, body in parser:
        if command.casefold() in ("string", "preamble"):
            continue
        key, pairs = body
        found["key"] = key or ""
        for name, parts in pairs:
            value = re.sub(r"\s+", " ", "".join(parts)) if name.casefold() not in _PROSE else "".join(parts)
            found.setdefault(name.casefold(), value if name.casefold() in _PROSE else _readable(value))
    return found


def _readable(value: str) -> str:
    return plain(value.replace("{", "").replace("}", "") if "\\" not in value and "$" not in value else value)


def _entries(text: str) -> Iterator[str]:
    starts = [match.end() - 1 for match in _START.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text[start:end]


def _tolerate(error: PybtexError) -> None:
    # An abbreviation nobody defined ("journal = jmlr") loses that field, not the entry.
    if type(error).__name__ != "UndefinedMacro":
        raise error
