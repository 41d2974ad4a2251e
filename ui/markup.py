r"""Abstracts and answers as HTML: formulas, LaTeX text macros and light markdown, with quotes highlighted by offset.

Everything is escaped; nothing of the text is ever run. Offsets count characters of the text as it is stored, so a quote
that cuts through a formula or a macro highlights all of it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rag.latex import unlatex
from ui.formula import Formula, find_formulas, render_formula


@dataclass(frozen=True, slots=True)
class Mark:
    """``text[start:end]`` is quoted by the citation numbered ``marker``."""

    start: int
    end: int
    marker: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of the text. ``atom`` is its HTML where it shows something else than its characters ("" hides it)."""

    start: int
    end: int
    atom: str | None = None
    styles: tuple[str, ...] = ()


_TAGS = {
    "emph": "em",
    "textit": "em",
    "textsl": "em",
    "em": "em",
    "it": "em",
    "itshape": "em",
    "textbf": "strong",
    "bf": "strong",
    "bfseries": "strong",
    "textsc": "small-caps",
    "sc": "small-caps",
    "scshape": "small-caps",
    "texttt": "code",
    "tt": "code",
    "ttfamily": "code",
    "textsuperscript": "sup",
    "textsubscript": "sub",
    "underline": "u",
}
_OPEN = {"small-caps": '<span class="cw-sc">'}
_CLOSE = {"small-caps": "</span>"}
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")  # lone surrogates cannot be sent to a browser
_HIDDEN = "\ue000"  # stands for each character of a formula while other markup is looked for

# fmt: off
_TOKEN = re.compile(
    rf"""(?P<formula>{_HIDDEN}+)
    |\\(?P<style>emph|text(?:it|sl|bf|sc|tt|superscript|subscript)|underline|text(?:rm|sf|normal)?|mbox|mathrm)\s*\{{
    |\{{\s*\\(?P<switch>em|it|bf|sc|tt|itshape|bfseries|scshape|ttfamily)(?![A-Za-z])\s*
    |\\url\s*\{{(?P<url>[^{{}}\s]*)\}}
    |\\href\s*\{{(?P<target>[^{{}}\s]*)\}}\s*\{{(?P<shown>[^{{}}]*)\}}
    |(?P<dropped>~?\\(?:[cC]ite[a-zA-Z]*|ref|eqref|[cC]ref|autoref|label|footnotemark|vspace|hspace)\*?(?:\[[^\]]*\])*\{{[^{{}}]*\}})
    |(?P<escaped>\\{{1,2}}[%&\#_$])
    |(?P<brace>\\[{{}}])
    |(?P<accent>\\['`^"~=.]\s?(?:\{{\\?[A-Za-z]\}}|\\?[A-Za-z])|\\[cvuHkrd]\{{\\?[A-Za-z]\}})
    |(?P<space>\\[,;:!\s/]|\\\\)
    |(?P<argument>\\[A-Za-z]+\*?\{{)(?!\}})
    |(?P<macro>\\[A-Za-z]+(?:\{{\}})?)
    |(?P<dash>---|(?<=[\w{_HIDDEN}])--(?=[\w{_HIDDEN}])|(?<=\s)--(?=\s))
    |``(?P<said>[^`\n]{{1,300}}?)''
    |(?P<nbsp>(?<=[\w.)])~(?=[\w(\\{_HIDDEN}]))
    |(?<![\w*\\])\*\*(?P<strong>(?=[^\s*])[^*\n]{{1,240}}(?<=[^\s*]))\*\*(?![\w*])
    |(?<![\w*\\])\*(?P<em>(?=[^\s*])[^*\n]{{1,160}}(?<=[^\s*]))\*(?![\w*])
    |`(?P<code>(?=[^\s`])[^`\n]{{1,120}}(?<=[^\s`]))`(?![\w`])
    |(?P<address>https?://[^\s<>"'{{}}|\\^`{_HIDDEN}]+)
    """,
    re.VERBOSE,
)
# fmt: on


def render_text(text: str, *, marks: Sequence[Mark] = (), links: bool = False) -> str:
    """``text`` as inline HTML on one line. ``links``: web addresses become links (http and https alone)."""
    pieces = _pieces(text, links=links)
    cuts = sorted({cut for mark in marks for cut in (mark.start, mark.end)})
    shown = []
    for piece in pieces:
        for part in _cut(piece, cuts):
            markers = tuple(sorted({m.marker for m in marks if m.start < part.end and part.start < m.end}))
            shown.append((markers, part))
    out = []
    for markers, run in groupby(shown, key=lambda pair: pair[0]):
        inner = _styled(text, [part for _, part in run])
        if markers and inner:
            names = " ".join(map(str, markers))
            out.append(f'<mark class="cw-quote" data-refs="{names}">{inner}</mark>')
        else:
            out.append(inner)
    return "".join(out)


def _cut(piece: Piece, cuts: Iterable[int]) -> Iterable[Piece]:
    start = piece.start
    if piece.atom is None:
        for cut in cuts:
            if start < cut < piece.end:
                yield Piece(start, cut, None, piece.styles)
                start = cut
    yield Piece(start, piece.end, piece.atom, piece.styles)


def _styled(text: str, parts: Sequence[Piece]) -> str:
    out = []
    for styles, run in groupby((part for part in parts if part.atom != ""), key=lambda part: part.styles):
        inner = "".join(_plain(text[p.start : p.end]) if p.atom is None else p.atom for p in run)
        opening = "".join(_OPEN.get(style, f"<{style}>") for style in styles)
        closing = "".join(_CLOSE.get(style, f"</{style}>") for style in reversed(styles))
        out.append(opening + inner + closing)
    return "".join(out)


def _plain(text: str) -> str:
    return html.escape(_UNPRINTABLE.sub(" ", text))


def _pieces(text: str, *, links: bool) -> list[Piece]:
    formulas = {formula.start: formula for formula in find_formulas(text)}
    masked = list(text.replace(_HIDDEN, " "))
    for formula in formulas.values():
        masked[formula.start : formula.end] = _HIDDEN * (formula.end - formula.start)
    out: list[Piece] = []
    _scan("".join(masked), 0, len(text), (), formulas, links, out)
    return out


def _scan(
    masked: str,
    start: int,
    end: int,
    styles: tuple[str, ...],
    formulas: dict[int, Formula],
    links: bool,
    out: list[Piece],
) -> None:
    """Append the pieces of ``masked[start:end]``; they cover it without a gap."""
    position = start

    def add(stop: int, atom: str | None = None) -> None:
        nonlocal position
        if stop > position:
            out.append(Piece(position, stop, atom, styles))
            position = stop

    def nest(inner: tuple[int, int], style: str | None, stop: int) -> None:
        nonlocal position
        add(inner[0], "")
        deeper = (*styles, style) if style and style not in styles else styles
        if len(deeper) > 6:  # nobody nests so deep on purpose
            deeper = styles
        _scan(masked, *inner, deeper, formulas, links, out)
        position = inner[1]
        add(stop, "")

    search_from = start
    while match := _TOKEN.search(masked, search_from, end):
        kind = match.lastgroup or ""
        search_from = match.end()
        if kind in ("style", "switch", "argument"):
            brace = match.start() if kind == "switch" else match.end() - 1
            close = _closing_brace(masked, brace, end)
            if close is None or len(styles) > 5:
                continue
            add(match.start())
            nest((match.end(), close), _TAGS.get(match[kind]), close + 1)
            search_from = position
            continue
        add(match.start())
        if kind == "formula":
            formula = formulas[match.start()]
            add(formula.end, render_formula(formula))
            search_from = position
        elif kind == "url":
            add(match.end(), _link(match["url"], f"<code>{html.escape(match['url'])}</code>", links))
        elif kind == "shown":
            add(match.end(), _link(match["target"], html.escape(unlatex(match["shown"])), links))
        elif kind == "dropped":
            add(match.end(), "")
        elif kind in ("escaped", "brace"):
            add(match.end(), html.escape(match[0][-1]))
        elif kind == "space":
            add(match.end(), "" if match[0] in ("\\!", "\\/") else " ")
        elif kind == "dash":
            add(match.end(), "—" if len(match[0]) == 3 else "–")
        elif kind == "nbsp":
            add(match.end(), "&nbsp;")
        elif kind in ("accent", "macro"):
            readable = unlatex(match[0])
            add(match.end(), html.escape(readable.removeprefix("\\")))
        elif kind == "said":
            add(match.start("said"), "“")
            _scan(masked, *match.span("said"), styles, formulas, links, out)
            position = match.end("said")
            add(match.end(), "”")
        elif kind in ("strong", "em"):
            nest(match.span(kind), kind, match.end())
        elif kind == "code":
            nest_end = match.end("code")
            add(match.start("code"), "")
            out.append(Piece(position, nest_end, None, (*styles, "code")))
            position = nest_end
            add(match.end(), "")
        elif kind == "address":
            address = match[0].rstrip(".,;:!?)]*_")
            stop = match.start() + len(address)
            add(stop, _link(address, html.escape(address), links))
            search_from = stop
    add(end)


def _closing_brace(text: str, brace: int, end: int) -> int | None:
    depth = 0
    for index in range(brace, min(end, brace + 2000)):
        if text[index] == "{" and text[index - 1 : index] != "\\":
            depth += 1
        elif text[index] == "}" and text[index - 1 : index] != "\\":
            depth -= 1
            if depth == 0:
                return index
    return None


def _link(target: str, shown: str, links: bool) -> str:
    if not links or not re.fullmatch(r"https?://[^\s<>\"'\\]+", target):
        return shown
    return f'<a href="{html.escape(target)}" target="_blank" rel="noopener noreferrer nofollow">{shown}</a>'
