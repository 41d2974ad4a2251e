"""Bytes to text: which encoding a file is written in, found by trial in a fixed order."""

from __future__ import annotations

import codecs
import io
import re
from typing import TextIO

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark its own begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MAGIC = (
    (b"%PDF-", "a PDF"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
    (b"{\\rtf", "a rich text document"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "a database"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a rar archive"),
)
_SAMPLE = 1 << 18
_CONTROLS = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_GB_CHARACTER = re.compile(rb"[\x81-\xfe](?:[\x30-\x39][\x81-\xfe][\x30-\x39]|[\x40-\x7e\x80-\xfe])")


class NotText(ValueError):
    """The bytes are no text; the message says what they look like."""


def open_text(data: bytes) -> TextIO:
    r"""The text of ``data``; lines end at ``\n`` only, ``\r`` is left to the reader. Raises NotText."""
    encoding = detect(data)
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding, errors="replace", newline="\n")


def detect(data: bytes) -> str:
    """The encoding of ``data``: a byte order mark, else UTF-8, UTF-16, GB18030, Windows-1252. Raises NotText."""
    for magic, what in _MAGIC:
        if data.startswith(magic):
            raise NotText(f"not text: it looks like {what}")
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return encoding
    sample = data[:_SAMPLE]
    if b"\0" in sample:
        return _utf16(sample)
    if len(_CONTROLS.findall(sample)) > max(3, len(sample) // 200):
        raise NotText("not text: it is full of control characters")
    if _is_utf8(data):
        return "utf-8"
    return "gb18030" if _looks_chinese(data) else _latin(data)


def _utf16(sample: bytes) -> str:
    # Without a mark, UTF-16 shows by its zeros: nearly all high bytes of Western text are 0.
    half = max(1, len(sample) // 2)
    even, odd = sample[0::2].count(0) / half, sample[1::2].count(0) / half
    if odd > 0.3 and even < 0.05:
        return "utf-16-le"
    if even > 0.3 and odd < 0.05:
        return "utf-16-be"
    raise NotText("not text: it holds NUL bytes")


def _is_utf8(data: bytes) -> bool:
    """Whether UTF-8 is right, allowing one broken sequence in a hundred: one bad record never stops a file."""
    try:
        codecs.utf_8_decode(data, "strict", True)
        return True
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return broken * 100 < sum(character > "\x7f" for character in text)


def _looks_chinese(data: bytes) -> bool:
    # GB18030 writes Chinese as runs of two high bytes; in Latin-1 a high byte mostly stands between ASCII letters.
    pairs = _GB_CHARACTER.findall(data)
    if not pairs:
        return False
    common = sum(len(pair) == 2 and pair[0] >= 0xA1 and pair[1] >= 0xA1 for pair in pairs)
    high = sum(byte > 0x7F for byte in data)
    return bool(common * 2 >= 0.6 * high)


def _latin(data: bytes) -> str:
    # Windows-1252 is Latin-1 with printable signs where Latin-1 has controls, save five bytes it leaves undefined.
    return "latin-1" if any(byte in data for byte in b"\x81\x8d\x8f\x90\x9d") else "cp1252"
