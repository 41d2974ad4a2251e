"""What a value needs before it is kept: broken characters mended, the rest untouched."""

from __future__ import annotations

import html
import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# UTF-8 read as Latin-1: a lead byte with its continuation bytes, one of them a C1 control or a soft hyphen, which no
# text means to hold; and the "â€™" family, the same read as Windows-1252.
_MOJIBAKE = re.compile("[\xc2-\xf4][\x80-\xbf]{1,3}|[\xc2-\xf4](?:[\u0152-\u2122\x80-\xbf]){1,3}")
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")


def clean(text: str) -> str:
    """``text`` trimmed, HTML entities and twice-encoded characters decoded, lone surrogates and NULs replaced."""
    if not text.isascii():
        text = _MOJIBAKE.sub(_mended, _UNSTORABLE.sub("\ufffd", text))
    elif "\0" in text:
        text = text.replace("\0", "\ufffd")
    if "&" in text:
        text = _ENTITY.sub(_unescaped, text)
    return text.strip()


def line(text: str) -> str:
    """``text`` cleaned and on one line: titles, names, venues."""
    return " ".join(clean(text).split())


def _unescaped(match: re.Match[str]) -> str:
    character = html.unescape(match[0])
    return match[0] if _UNSTORABLE.search(character) else character


def _mended(match: re.Match[str]) -> str:
    for encoding in ("latin-1", "cp1252"):
        try:
            return match[0].encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
    return match[0]
