"""Text made readable (``plain``) and made comparable (``fold``); neither keeps offsets."""

from __future__ import annotations

import re
import string
import unicodedata

from rag.latex import SYMBOLS, unlatex

_ODD = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff\ufb00-\ufb06]")
_ODD_SIGNS: dict[int, str | None] = {
    **{ord(sign): None for sign in "\u00ad\u200b\u200c\u200d\u2060\ufeff"},
    **dict(zip(range(0xFB00, 0xFB07), ("ff", "fi", "fl", "ffi", "ffl", "ft", "st"), strict=True)),
}
_MARKUP = re.compile(r"[\\$^*_`~\[]|--|''|/s[pu][lbp] |\(cid:")
_BOLD = re.compile(r"(\*\*|__)(?=\S)([^*_]{1,300}?)(?<=\S)\1")
_ITALIC = re.compile(r"(?<![\w*])([*_])(?=[^\s*_])([^*_]{1,200}?)(?<=[^\s*_])\1(?![\w*])")
_CODE = re.compile(r"(`{1,3})(?=[^\s`])([^`]{1,200}?)(?<=[^\s`])\1(?!['`])")
_LINK = re.compile(r"!?\[([^\[\]]{1,200})\]\((?:https?://|#|/)[^()\s]*\)")
_TIE = re.compile(r"(?<=[\w.,])~(?=\S)")
_IEEE_SYMBOL = re.compile(r"/spl ([A-Za-z]+)/")
_IEEE_SCRIPT = re.compile(r"/(su[bp]) ([^/]{1,40})/")
_CID = re.compile(r"\(cid:\d+\)")
_HYPHENATED = re.compile(r"(?<=[^\W\d_])- (?=[a-z])")
_MARKS = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"\w+")
_LEADING = re.compile(r"^(?:(?:abstract|summary|摘要)\b ?)+")
_ASCII_SIGNS = {ord(sign): " " for sign in string.punctuation} | {ord(sign): None for sign in "-'_"}
_JOINERS = {ord(sign): None for sign in "-'_"}
_TYPOGRAPHY = {
    **{ord(sign): "-" for sign in "\u2010\u2011"},
    **{ord(sign): " " for sign in "\u2012\u2013\u2014\u2015\u201c\u201d\u201e\u2026\u2022\u00a0"},
    **{ord(sign): "'" for sign in "\u2018\u2019\u02bc\u00b4"},
}


def plain(text: str) -> str:
    """``text`` with LaTeX, markdown and white space made readable Unicode, on one line; for labels and words.

    ``9.6$\\times$`` -> ``9.6×``, ``30\\%`` -> ``30%``, ``\\emph{x}`` and ``**x**`` -> ``x``.
    """
    if not text.isascii():
        if _ODD.search(text):
            text = text.translate(_ODD_SIGNS)
        text = unicodedata.normalize("NFC", text)
    if _MARKUP.search(text):
        text = _unmarked(text)
    return " ".join(text.split())


def _unmarked(text: str) -> str:
    if "/s" in text:
        text = _IEEE_SYMBOL.sub(lambda match: SYMBOLS.get(match[1], match[1]), text)
        text = _IEEE_SCRIPT.sub(lambda match: f"${'_' if match[1] == 'sub' else '^'}{{{match[2]}}}$", text)
    text = unlatex(text)
    if "*" in text or "_" in text:
        text = _ITALIC.sub(r"\2", _BOLD.sub(r"\2", text))
    if "`" in text:
        text = _CODE.sub(r"\2", text).replace("``", "“")
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "~" in text:
        text = _TIE.sub(" ", text)
    if "(cid:" in text:
        text = _CID.sub("-", text)
    return text.replace("---", "—").replace("--", "–").replace("''", "”")


def fold(text: str) -> str:
    """The words of ``text`` as they are compared: lower case, no accents, signs, markup or hyphens, one space between.

    Two spellings of one text, with LaTeX or Unicode, hyphenated at line ends or not, fold to the same string.
    """
    text = plain(text)
    if not text.isascii():
        text = text.translate(_TYPOGRAPHY)
    if "- " in text:
        text = _HYPHENATED.sub("", text)
    if text.isascii():
        folded = " ".join(text.lower().translate(_ASCII_SIGNS).split())
    else:
        text = unicodedata.normalize("NFKD", text).casefold()
        text = unicodedata.normalize("NFKC", _MARKS.sub("", text)).translate(_JOINERS)
        folded = " ".join(_WORD.findall(text))
    return _LEADING.sub("", folded, count=1) or folded
