r"""Formulas in running text: finds ``$…$``, ``$$…$$``, ``\(…\)``, ``\[…\]`` and writes them as MathML, offline.

"$3000" and "between $5 and $7" are money, not formulas.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import lru_cache
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

from rag.latex import unlatex

MAX_LENGTH = 1000
"""Characters of a formula; what is longer stays text."""


@dataclass(frozen=True, slots=True)
class Formula:
    """``text[start:end]`` with its delimiters; ``body`` without them."""

    start: int
    end: int
    body: str
    display: bool


_OPENING = re.compile(r"(?<!\\)(\$\$|\$|\\\(|\\\[)")
_CLOSING = {
    "$$": re.compile(r"(?<!\\)\$\$"),
    # Pandoc's rule: the closing sign touches what precedes it and no digit follows.
    "$": re.compile(r"(?<![\s\\])\$(?!\d)"),
    "\\(": re.compile(r"\\\)"),
    "\\[": re.compile(r"\\\]"),
}
_TEX_SIGN = re.compile(r"[\\^_={}<>+|]")
_PROSE = re.compile(r"\s[A-Za-z]{2,}|[A-Za-z]{2,}\s")


def find_formulas(text: str) -> list[Formula]:
    """The formulas of ``text`` in order, apart from one another."""
    found = []
    position = 0
    while opening := _OPENING.search(text, position):
        formula = _formula(text, opening)
        position = formula.end if formula else opening.end()
        if formula:
            found.append(formula)
    return found


def _formula(text: str, opening: re.Match[str]) -> Formula | None:
    sign = opening[1]
    closing = _CLOSING[sign].search(text, opening.end() + 1, opening.end() + MAX_LENGTH)
    if closing is None:
        return None
    body = text[opening.end() : closing.start()]
    if not body.strip() or "\n\n" in body:
        return None
    if sign == "$" and (
        body[0].isspace() or "$" in body.replace("\\$", "") or (_PROSE.search(body) and not _TEX_SIGN.search(body))
    ):
        return None
    return Formula(opening.start(), closing.end(), body.strip(), sign in ("$$", "\\["))


def unfinished(text: str) -> int:
    """Where a formula begins that ``text``, cut off while it is written, does not close; ``len(text)`` if none does."""
    position = max((formula.end for formula in find_formulas(text)), default=0)
    for opening in _OPENING.finditer(text, position):
        tail = text[opening.end() :]
        if "\n" in tail or len(tail) > 200:
            continue
        if opening[1] != "$" or not tail or (not tail[0].isspace() and (_TEX_SIGN.search(tail) or tail.isalpha())):
            return opening.start()
    return len(text)


def render_formula(formula: Formula) -> str:
    """HTML of a formula: MathML, or readable text where it is simple or does not parse. Safe whatever is in it."""
    return _render(formula.body, formula.display)


@lru_cache(maxsize=4096)
def _render(body: str, display: bool) -> str:
    body = re.sub(r"\\+(?=[%&#])", r"\\", body).replace("\\$", "\ue000").replace("$", "").replace("\ue000", "\\$")
    plain = unlatex(f"${body}$").strip()
    if _simple(plain) and not display:
        return html.escape(plain)
    try:
        root = convert_to_element(re.sub(r"(?<=\d)\{,\}(?=\d)", r"\\text{,}", body))
        markup = _serialise(root).removeprefix("<mrow>").removesuffix("</mrow>")
    except Exception:  # latex2mathml raises many kinds, its own and IndexError, KeyError, RecursionError
        return f'<span class="cw-formula">{html.escape(plain)}</span>'
    kind = ' display="block"' if display else ""
    return f"<math{kind}>{markup}</math>"


def _simple(plain: str) -> bool:
    """Signs and figures alone, such as 6.8×, read better in the text's own font."""
    return bool(plain) and not any(c.isalpha() or c in "^_/(){}[]\\$|" for c in plain) and len(plain.split()) == 1


# fmt: off
_ELEMENTS = frozenset((
    "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "msup", "msub", "msubsup", "mfrac", "msqrt", "mroot", "mover",
    "munder", "munderover", "mtable", "mtr", "mtd", "mpadded", "mphantom", "mstyle", "mmultiscripts",
))
_ATTRIBUTES = frozenset((
    "mathvariant", "stretchy", "fence", "form", "linethickness", "width", "columnalign", "displaystyle", "scriptlevel",
    "accent", "lspace", "rspace",
))
# fmt: on
_CHILDREN = {"mfrac": 2, "mroot": 2, "msup": 2, "msub": 2, "mover": 2, "munder": 2, "msubsup": 3, "munderover": 3}
_VALUE = re.compile(r"[\w.%+ -]{1,40}")


class _Unknown(Exception):
    """A command latex2mathml passed on as it stands, or an element it left incomplete."""


def _is_function(element: Element) -> bool:
    name = element.text or ""
    return element.tag == "mi" and len(name) > 1 and name.isalpha()


def _serialise(element: Element) -> str:
    # Written here and not by latex2mathml, whose own output unescapes text (so \text{<script>} would run) and lets
    # \href through.
    attributes = {k: v for k, v in element.attrib.items() if k in _ATTRIBUTES and _VALUE.fullmatch(v)}
    text = html.unescape(element.text or "")
    if "\\" in text and len(text) > 1:
        raise _Unknown(text)
    children = list(element)
    if element.tag in _CHILDREN and len(children) != _CHILDREN[element.tag]:
        raise _Unknown(element.tag)
    if element.tag == "mrow" and len(children) == 1 and children[0].tag == "mo":
        children[0].attrib.update(lspace="0", rspace="0")  # TeX's {\times}: a sign without space around it
    inner = html.escape(text)
    for before, child in zip([None, *children], children, strict=False):
        if before is not None and before.tag != "mo" and _is_function(child):
            inner += '<mspace width="0.167em"></mspace>'  # N log N, not Nlog N
        inner += _serialise(child)
        if _is_function(child) and child is not children[-1] and children[children.index(child) + 1].tag != "mo":
            inner += '<mspace width="0.167em"></mspace>'
    if element.tag not in _ELEMENTS:
        return f"<mrow>{inner}</mrow>"
    written = "".join(f' {name}="{html.escape(value)}"' for name, value in sorted(attributes.items()))
    return f"<{element.tag}{written}>{inner}</{element.tag}>"
