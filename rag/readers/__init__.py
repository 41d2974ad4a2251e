"""Files of any kind to records: ``read`` for all of a path; ``files``, ``read_file`` for one file at a time.

``read_raw`` and ``made`` are the two halves of ``read_file``, for who can do without making every record.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rag.errors import SourceError
from rag.readers.archive import LARGEST, unpacked
from rag.readers.encoding import NotText, open_text
from rag.readers.fields import Raw
from rag.readers.formats import UnknownFormat, reader_of
from rag.readers.screen import reason_to_skip
from rag.records import Skipped, SourceRecord

__all__ = ["Raw", "files", "made", "read", "read_file", "read_raw"]


def files(path: Path) -> list[tuple[Path, str]]:
    """Every file to read under ``path``, sorted: its path and its name relative to the folder, ``/`` between parts.

    A single file is named by itself. Hidden files and folders are left out. Raises SourceError for no such path.
    """
    if path.is_file():
        return [(path, path.name)]
    if not path.is_dir():
        raise SourceError(f"no such file or folder: {path}; check the spelling or give another path")
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(folder, name) for name in names if not name.startswith(".")]
    return sorted(((item, item.relative_to(path).as_posix()) for item in found), key=lambda pair: pair[1])


def read(path: Path) -> Iterator[SourceRecord | Skipped]:
    """Every record of a file or folder, and what was no paper with the reason. Raises SourceError: no such path."""
    for file, name in files(path):
        yield from read_file(file, name)


def read_file(path: Path, name: str) -> Iterator[SourceRecord | Skipped]:
    """The records of one file, called ``name`` in the sources. A file that cannot be read is one Skipped."""
    return map(made, read_raw(path, name))


def made(raw: Raw | Skipped) -> SourceRecord | Skipped:
    """The record of ``raw``, or why it is no paper."""
    if isinstance(raw, Skipped):
        return raw
    try:
        record = raw.record()
    except Exception as error:  # one bad record never stops a file, whatever it holds
        return Skipped(raw.source.file, raw.source.row, f"cannot be read: {type(error).__name__}: {error}")
    reason = reason_to_skip(record.abstract, record.title)
    return Skipped(raw.source.file, raw.source.row, reason) if reason else record


def read_raw(path: Path, name: str) -> Iterator[Raw | Skipped]:
    """As ``read_file``, but the records are not made yet, and may turn out to be no papers."""
    try:
        if path.stat().st_size > LARGEST:
            yield Skipped(name, None, f"larger than {LARGEST >> 20} MB; cut it into smaller files")
            return
        data = path.read_bytes()
    except OSError as error:
        yield Skipped(name, None, f"cannot be read: {error.strerror or error}")
        return
    yield from _read_bytes(data, name)


def _read_bytes(data: bytes, name: str) -> Iterator[Raw | Skipped]:
    if not data.strip():
        yield Skipped(name, None, "empty file")
        return
    for found in unpacked(data, name):
        if isinstance(found, Skipped):
            yield found
        else:
            yield from _read_text(found[1], found[0])


def _read_text(data: bytes, name: str) -> Iterator[Raw | Skipped]:
    if not data.strip():
        yield Skipped(name, None, "empty file")
        return
    empty = True
    try:
        stream = open_text(data)
        for item in reader_of(stream, name)(stream, name):
            empty = False
            yield item
    except (NotText, UnknownFormat) as error:
        yield Skipped(name, None, str(error))
        return
    except Exception as error:  # one bad file never stops a run, whatever a parser trips over
        yield Skipped(name, None, f"reading broke off: {type(error).__name__}: {error}")
        return
    if empty:
        yield Skipped(name, None, "no records in it")
