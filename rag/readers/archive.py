"""What is inside ``.gz`` and ``.zip``, within limits that no bomb passes."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator

from rag.records import Skipped
from rag.zips import DAMAGE

LARGEST = 1 << 30
"""Bytes: no file is read, and no archive unpacked, beyond this."""
_MOST_MEMBERS = 20_000
_DEEPEST = 3
_RATIO, _HARMLESS = 300, 64 << 20  # text shrinks three- to tenfold, a list of repetitions perhaps a hundredfold


def unpacked(data: bytes, name: str, *, depth: int = 0) -> Iterator[tuple[str, bytes] | Skipped]:
    """The plain files in ``data`` by name (``archive.zip/member.txt``); ``data`` itself if it is no archive."""
    if not data.startswith((b"\x1f\x8b", b"PK\x03\x04", b"PK\x05\x06")):
        yield name, data
    elif depth == _DEEPEST:
        yield Skipped(name, None, f"an archive {_DEEPEST} archives deep")
    elif data.startswith(b"\x1f\x8b"):
        inner = _gunzipped(data)
        if isinstance(inner, str):
            yield Skipped(name, None, inner)
        else:
            yield from unpacked(inner, name, depth=depth + 1)
    else:
        yield from _unzipped(data, name, depth)


def _gunzipped(data: bytes) -> bytes | str:
    parts: list[bytes] = []
    size = 0
    rest = data
    try:
        while rest.startswith(b"\x1f\x8b"):  # a gzip file may have several members
            stream = zlib.decompressobj(wbits=31)
            while not stream.eof:
                part = stream.decompress(rest, 1 << 22)
                rest = stream.unconsumed_tail
                if not part and not rest and not stream.eof:
                    return "a gzip file cut short"
                parts.append(part)
                size += len(part)
                if _is_bomb(size, len(data)):
                    return "a gzip file that unpacks to too much"
            rest = stream.unused_data
    except zlib.error as error:
        return f"a broken gzip file: {error}"
    return b"".join(parts)


def _unzipped(data: bytes, name: str, depth: int) -> Iterator[tuple[str, bytes] | Skipped]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except DAMAGE as error:
        yield Skipped(name, None, f"a broken zip file: {error}")
        return
    with archive:
        members = sorted((info for info in archive.infolist() if not info.is_dir()), key=lambda info: info.filename)
        if any(info.filename == "[Content_Types].xml" for info in members):
            yield Skipped(name, None, "not text: it looks like an Office document")
            return
        if len(members) > _MOST_MEMBERS or _is_bomb(sum(info.file_size for info in members), len(data)):
            yield Skipped(name, None, "a zip file that unpacks to too much")
            return
        size = 0
        for info in members:
            parts = info.filename.replace("\\", "/").split("/")
            if any(part.startswith(".") and part not in (".", "..") for part in parts) or parts[0] == "__MACOSX":
                continue
            member = f"{name}/{'/'.join(part for part in parts if part not in ('', '.', '..'))}"
            try:
                with archive.open(info) as stream:
                    inner = stream.read(min(info.file_size, LARGEST) + 1)
            except (*DAMAGE, OSError) as error:  # OSError: damaged bzip2 data, for all of this is in memory
                yield Skipped(member, None, f"cannot be unpacked: {error}")
                continue
            size += len(inner)
            if len(inner) > info.file_size or _is_bomb(size, len(data)):
                yield Skipped(member, None, "a zip file that unpacks to too much")
                return
            yield from unpacked(inner, member, depth=depth + 1)


def _is_bomb(size: int, packed: int) -> bool:
    return size > LARGEST or (size > _HARMLESS and size > _RATIO * packed)
