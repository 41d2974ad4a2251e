"""Sentences of a text, with exact offsets; made for abstracts: LaTeX, "e.g.", decimals, links, Chinese stops."""

from __future__ import annotations

import re
from bisect import bisect_left

_NEVER_ENDS = frozenset(
    """e.g i.e cf vs viz w.r.t resp approx fig figs eq eqs sec secs tab ref refs no nos vol pp ch thm lem prop def ver
    dr mr mrs ms prof st jr sr inc ltd a.k.a s.t i.i.d""".split()  # noqa: SIM905
)
_ENDS_BEFORE_CAPITAL = frozenset(("al", "etc"))
_STOP = re.compile(r"[.!?]+|[。！？；]+")
_MATH = re.compile(r"\$\$.+?\$\$|\$[^$\n]{1,300}?\$|\\\(.+?\\\)|\\\[.+?\\\]", re.DOTALL)
_PROTECTED = re.compile(r"https?://\S+|\\url\{[^}]*\}|`[^`\n]+`")
_GAP = re.compile(r"\n\s*\n")
_VISIBLE = re.compile(r"\S")
_LOOK = 64  # characters looked at before and after a stop, so that a book takes no longer than its abstracts would
_CLOSERS = "\"'”’)]}*_）」』】"


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans ``(start, end)`` of the sentences of ``text``, in order, trimmed of white space, never overlapping.

    Every character that is not white space lies in exactly one span.
    """
    closed = protected_spans(text)
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _STOP.finditer(text):
        if _overlaps(closed, match.start(), match.end()):
            continue
        end = match.end()
        while end < len(text) and text[end] in _CLOSERS:
            end += 1
        if _is_end(text, match, end):
            _add(spans, text, start, end)
            start = end
    _add(spans, text, start, len(text))
    return spans


def protected_spans(text: str) -> list[tuple[int, int]]:
    """Spans of formulas, links and code, in which no sign means what it means in words; sorted."""
    spans = []
    for match in _MATH.finditer(text):
        inner = match.group()
        # "$3000 and then $40" is money: mathematics neither opens before nor closes after a blank
        if inner[1:2] != " " and (inner[-2:-1] != " " or inner.startswith("\\")):
            spans.append(match.span())
    for match in _PROTECTED.finditer(text):
        end = match.end()
        while end > match.start() and text[end - 1] in ".,;:!?)" + _CLOSERS and text[match.start()] != "`":
            end -= 1
        spans.append((match.start(), end))
    merged: list[tuple[int, int]] = []
    for a, b in sorted(spans):
        if merged and a < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(b, merged[-1][1]))
        else:
            merged.append((a, b))
    return merged


def _overlaps(spans: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether ``start`` to ``end`` touches one of ``spans``, which are in order and apart."""
    last = bisect_left(spans, (end, end)) - 1
    return last >= 0 and spans[last][1] > start


def _is_end(text: str, match: re.Match[str], end: int) -> bool:
    stop = match.group()
    if stop[0] in "。！？；":
        return True
    if end >= len(text):
        return True
    before, rest = text[max(0, match.start() - _LOOK) : match.start()], text[end : end + _LOOK]
    tex_space = rest.startswith("\\ ")
    if not rest[0].isspace() and not tex_space:
        # "tasks.We" is two sentences badly joined; "0.83" and "Node.js" are not
        return bool(re.match(r"[A-Z][a-z]+\s", rest) and re.search(r"[a-z)\]]{2}$", before) and stop == ".")
    if tex_space:
        return False
    visible = _VISIBLE.search(text, end)
    if not visible:
        return True
    following = visible.group()
    word = re.search(r"([^\s(\[{]+)$", before)
    last = word.group(1).lower() if word else ""
    if stop == ".":
        if last in _NEVER_ENDS:
            return False
        capital = following.isupper() or not following.isascii()
        if last in _ENDS_BEFORE_CAPITAL:
            return capital
        if len(last) == 1 and last.isalpha() and word and word.group(1).isupper() and word.start() > 0:
            return False  # an initial: "J. Smith"
        if following.islower():
            return False
        if stop == "." and set(last) == {"."}:
            return capital
    if stop[:2] == ".." and following.isdigit():
        return False  # "for k = 1 ... 9"
    return not following.islower()


def _add(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    # an empty line parts sentences even where no stop stands
    ends = [*((gap.start(), gap.end()) for gap in _GAP.finditer(text, start, end)), (end, end)]
    for stop, further in ends:
        if inner := text[start:stop].strip():
            a = start + len(text[start:stop]) - len(text[start:stop].lstrip())
            spans.append((a, a + len(inner)))
        start = further
