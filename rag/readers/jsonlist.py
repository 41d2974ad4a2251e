"""JSON: an array of papers, an object that holds one, or one object a line (JSONL)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO, cast

from pybtex.exceptions import PybtexError  # type: ignore[import-untyped]

from rag.readers import bibtex
from rag.readers.fields import Raw, field_name, is_telling, to_record
from rag.records import Skipped, Source, SourceRecord

_DECODER = json.JSONDecoder(strict=False)
_NEXT_OBJECT = re.compile(r"\}\s*,\s*(?=\{)|\n\s*(?=\{)")


def looks_like(head: str) -> bool:
    """Whether a text begins like JSON rather than like prose in brackets ("[1] We show …")."""
    return bool(re.match(r'\s*(?:\{\s*["}]|\[\s*(?:[\]{["]|$))', head))


def read(stream: TextIO, file: str) -> Iterator[Raw | Skipped]:
    """The records of a JSON or JSONL text; an object that cannot be read is one Skipped."""
    first = next((line for line in stream if line.strip()), "")
    stream.seek(0)
    objects = _lines(stream) if _is_object(first) else _whole(stream.read())
    for row, found in enumerate(objects, 1):
        if isinstance(found, Mapping):
            yield Raw(cast("Mapping[str, object]", found), Source(file, row), _record)
        elif isinstance(found, str) and len(found.split()) > 1:
            yield Raw({"abstract": found}, Source(file, row))
        else:
            broken = isinstance(found, ValueError)
            yield Skipped(file, row, f"not valid JSON: {found}" if broken else "no record: neither object nor text")


def _record(fields: Mapping[str, object], source: Source) -> SourceRecord:
    entry = fields.get("bibtex") or fields.get("_bibtex") or ""
    if isinstance(entry, Mapping):
        entry = entry.get("value", "")
    if isinstance(entry, str) and "@" in entry:
        # What the list itself says comes first; its BibTeX entry adds the venue and the year.
        named = {field_name(name) for name, value in fields.items() if value}
        known = _entry(entry)
        extra = {name: known[name] for name in ("booktitle", "journal", "year", "doi") if name in known}
        fields = {**fields, **{name: value for name, value in extra.items() if name not in named}}
    return to_record(fields, source)


def _entry(text: str) -> dict[str, str]:
    try:
        return bibtex.fields(text)
    except PybtexError:
        return {}  # an aside of the record, not the record


def _is_object(line: str) -> bool:
    try:
        found = _DECODER.decode(line.strip())
    except (ValueError, RecursionError):
        return False
    # A whole file on one line may hold its list inside.
    return isinstance(found, dict) and not isinstance(_inner(found), list)


def _lines(stream: Iterable[str]) -> Iterator[object]:
    for line in stream:
        if not line.strip():
            continue
        try:
            yield _DECODER.decode(line.strip().rstrip(","))
        except RecursionError:
            yield ValueError("nested too deeply")
        except ValueError as error:
            yield error


def _whole(text: str) -> Iterator[object]:
    try:
        found = _inner(_DECODER.decode(text.strip()))
    except RecursionError:
        yield ValueError("nested too deeply")
    except ValueError:
        yield from _salvaged(text)
    else:
        yield from found if isinstance(found, list) else [found]


def _inner(found: object) -> object:
    """The list of records in ``found``: itself, a list under any name, or the values of an object of objects."""
    if not isinstance(found, dict) or any(is_telling(str(name)) for name in found):
        return found
    lists = [value for value in found.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if lists:
        return max(lists, key=len)
    if len(found) > 1 and all(isinstance(value, dict) and any(map(is_telling, value)) for value in found.values()):
        return [{"id": key, **value} for key, value in found.items()]
    return found


def _salvaged(text: str) -> Iterator[object]:
    """The objects of a broken array that can be read, an error in place of each that cannot."""
    position = text.find("{", text.find("[") + 1)
    while position >= 0:
        try:
            found, position = _DECODER.raw_decode(text, position)
            yield found
            position = text.find("{", position)
        except RecursionError:
            yield ValueError("nested too deeply")
            return
        except ValueError as error:
            yield error
            match = _NEXT_OBJECT.search(text, position + 1)
            position = match.end() if match else -1
