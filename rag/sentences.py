"""Sentences of a text, with exact offsets; made for abstracts: LaTeX, "e.g.", decimals, links, Chinese stops."""

from __future__ import annotations

import re

_NEVER_ENDS = frozenset(
    "e.g i.e cf vs viz w.r.t resp approx fig figs eq eqs sec secs tab ref refs no nos vol pp ch thm lem prop def ver "
    "dr mr mrs ms prof st jr sr inc ltd a.k.a s.t i.i.d".split()
)
_ENDS_BEFORE_CAPITAL = frozenset("al etc".split())
_STOP = re.compile(r"[.!?]+|[。！？；]+")
_MATH = re.compile(r"\$\$.+?\$\$|\$[^$\n]{1,300}?\$|\\\(.+?\\\)|\\\[.+?\\\]", re.DOTALL)
_PROTECTED = re.compile(r"https?://\S+|\\url\{[^}]*\}|`[^`\n]+`")
_CLOSERS = "\"'”’)]}*_）」』】"


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans ``(start, end)`` of the sentences of ``text``, in order, trimmed of white space, never overlapping.

    Every character that is not white space lies in exactly one span.
    """
    closed = _protected(text)
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _STOP.finditer(text):
        if any(a < match.end() and match.start() < b for a, b in _near(closed, match.start(), match.end())):
            continue
        end = match.end()
        while end < len(text) and text[end] in _CLOSERS:
            end += 1
        if _is_end(text, match, end):
            _add(spans, text, start, end)
            start = end
    _add(spans, text, start, len(text))
    return spans


def _protected(text: str) -> list[tuple[int, int]]:
    spans = []
    for match in _MATH.finditer(text):
        inner = match.group()
        # "$3000 and then $40" is money: mathematics neither opens before nor closes after a blank
        if inner[1:2] != " " and (inner[-2:-1] != " " or inner.startswith("\\")):
            spans.append(match.span())
    for match in _PROTECTED.finditer(text):
        end = match.end()
        while end > match.start() and text[end - 1] in ".,;:!?)" + _CLOSERS and not text[match.start()] == "`":
            end -= 1
        spans.append((match.start(), end))
    return sorted(spans)


def _near(spans: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    return [span for span in spans if span[0] < end and span[1] > start]


def _is_end(text: str, match: re.Match[str], end: int) -> bool:
    stop = match.group()
    if stop[0] in "。！？；":
        return True
    if end >= len(text):
        return True
    rest = text[end:]
    tex_space = rest.startswith("\\ ")
    if not rest[0].isspace() and not tex_space:
        # "tasks.We" is two sentences badly joined; "0.83" and "Node.js" are not
        before = text[: match.start()]
        return bool(re.match(r"[A-Z][a-z]+\s", rest) and re.search(r"[a-z)\]]{2}$", before) and stop == ".")
    if tex_space:
        return False
    following = rest.lstrip()
    if not following:
        return True
    word = re.search(r"([^\s(\[{]+)$", text[: match.start()])
    last = word.group(1).lower() if word else ""
    if stop == ".":
        if last in _NEVER_ENDS:
            return False
        capital = following[0].isupper() or not following[0].isascii()
        if last in _ENDS_BEFORE_CAPITAL:
            return capital
        if len(last) == 1 and last.isalpha() and word and word.group(1).isupper() and word.start() > 0:
            return False  # an initial: "J. Smith"
        if following[0].islower():
            return False
        if stop == "." and set(last) == {"."}:
            return capital
    return not (following[0].islower() and stop[0] in "?!")


def _add(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    # an empty line parts sentences even where no stop stands
    for piece in re.finditer(r"(?:(?!\n\s*\n)[\s\S])+", text[start:end]):
        inner = piece.group()
        left = len(inner) - len(inner.lstrip())
        if inner.strip():
            a = start + piece.start() + left
            spans.append((a, a + len(inner.strip())))
