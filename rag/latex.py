r"""LaTeX to readable Unicode: ``G$^3$RAG`` -> ``G³RAG``, ``$\Omega(N^2)$`` -> ``Ω(N²)``."""

from __future__ import annotations

import re
import unicodedata

_GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lamda", "mu", "nu", "xi"),
    *("omicron", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
)


def _greek() -> dict[str, str]:
    letters = {}
    for name in _GREEK:
        command = "lambda" if name == "lamda" else name
        letters[command] = unicodedata.lookup(f"GREEK SMALL LETTER {name.upper()}")
        letters[command.capitalize()] = unicodedata.lookup(f"GREEK CAPITAL LETTER {name.upper()}")
    return letters


# fmt: off
SYMBOLS = {
    **_greek(),
    "varepsilon": "ε", "eps": "ε", "vartheta": "θ", "varphi": "φ", "varrho": "ρ", "varsigma": "ς", "varpi": "π",
    "ell": "ℓ", "hbar": "ℏ", "infty": "∞", "partial": "∂", "nabla": "∇", "Re": "ℜ", "Im": "ℑ", "emptyset": "∅",
    "times": "×", "cdot": "·", "div": "÷", "pm": "±", "mp": "∓", "ast": "*", "star": "⋆", "circ": "∘",
    "bullet": "•", "oplus": "⊕", "otimes": "⊗", "odot": "⊙", "dagger": "†", "ddagger": "‡", "S": "§",
    "leq": "≤", "le": "≤", "leqslant": "≤", "geq": "≥", "ge": "≥", "geqslant": "≥", "ll": "≪", "gg": "≫",
    "neq": "≠", "ne": "≠", "equiv": "≡", "approx": "≈", "sim": "~", "simeq": "≃", "cong": "≅", "propto": "∝",
    "asymp": "≍", "lesssim": "≲", "gtrsim": "≳", "preceq": "⪯", "succeq": "⪰", "prec": "≺", "succ": "≻",
    "in": "∈", "notin": "∉", "ni": "∋", "subset": "⊂", "subseteq": "⊆", "supset": "⊃", "supseteq": "⊇",
    "cup": "∪", "cap": "∩", "setminus": "∖", "land": "∧", "wedge": "∧", "lor": "∨", "vee": "∨", "neg": "¬",
    "forall": "∀", "exists": "∃", "top": "⊤", "bot": "⊥", "perp": "⊥", "parallel": "∥", "mid": "|", "vert": "|",
    "lvert": "|", "rvert": "|", "Vert": "‖", "lVert": "‖", "rVert": "‖", "|": "‖", "angle": "∠", "prime": "′",
    "to": "→", "rightarrow": "→", "longrightarrow": "→", "leftarrow": "←", "gets": "←", "leftrightarrow": "↔",
    "Rightarrow": "⇒", "Leftarrow": "⇐", "Leftrightarrow": "⇔", "iff": "⇔", "implies": "⇒", "mapsto": "↦",
    "uparrow": "↑", "downarrow": "↓", "nearrow": "↗", "searrow": "↘", "sum": "∑", "prod": "∏", "int": "∫",
    "ldots": "…", "dots": "…", "cdots": "⋯", "dotsc": "…", "langle": "⟨", "rangle": "⟩", "lceil": "⌈",
    "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋", "lbrace": "{", "rbrace": "}", "degree": "°", "checkmark": "✓",
    "textbackslash": "\\", "backslash": "\\", "textasciitilde": "~", "textdegree": "°", "texttimes": "×",
    "textrightarrow": "→", "textmu": "µ", "texttrademark": "™", "textregistered": "®", "copyright": "©",
    "textendash": "–", "textemdash": "—", "textquoteright": "’", "textquoteleft": "‘", "quad": " ", "qquad": " ",
    "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å",
    "AA": "Å", "i": "ı", "j": "ȷ", "ie": "i.e.", "eg": "e.g.", "etc": "etc.", "etal": "et al.", "LaTeX": "LaTeX",
}
_ACCENTS = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328", "r": "\u030a", "d": "\u0323",
}
_OVER = {
    "hat": "\u0302", "widehat": "\u0302", "bar": "\u0304", "tilde": "\u0303", "widetilde": "\u0303",
    "dot": "\u0307",
}
# fmt: on
_ACCENT = re.compile(r"""\\(?:(['`^"~=.])\s*(?:\{\\?([A-Za-z])\}|\\?([A-Za-z]))|([cvuHkrd])\{\\?([A-Za-z])\})""")
_OVER_LETTER = re.compile(
    rf"\\({'|'.join(_OVER)})(?:\s*\{{\s*(\\?[A-Za-z]+)\s*\}}|\s+([A-Za-z])(?![A-Za-z])|\s*(\\[A-Za-z]+))"
)
_DOUBLE = re.compile(r"\\(?:mathbb|bb|mathds)\s*(?:\{\s*([A-Z])\s*\}|\s([A-Z])\b)")
_DOUBLE_LETTERS = dict(zip("CENPQRZ", "ℂ𝔼ℕℙℚℝℤ", strict=True))
_SUPER = str.maketrans("0123456789+-=()nitTkdLNmabcjrsxy", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵗᵀᵏᵈᴸᴺᵐᵃᵇᶜʲʳˢˣʸ")
_SUB = str.maketrans("0123456789+-=()aeijnmkptx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑᵢⱼₙₘₖₚₜₓ")
# A macro without arguments that stands for the authors' own method.
_OURS = re.compile(
    r"\\(?:our|ours|method|methodname|mname|name|our(?:s|method|model|approach|algo|alg|system|framework)|model|modelname"
    r"|algo|algname|system|framework|approach|sys|toolname|mymethod|proposed)(?![A-Za-z])(?:\{\}|\\(?=\s))?"
)
_DROPPED = re.compile(
    r"\\(?:[cC]ite[a-zA-Z]*|ref|eqref|[cC]ref|autoref|label|vspace|hspace|thanks|phantom|color)\*?"
    r"(?:\[[^\]]*\])*\{[^{}]*\}"
    r"|\\(?:left|right|[bB]igg?[lr]?|middle|limits|nolimits|displaystyle|textstyle|centering|noindent|xspace|protect"
    r"|em|it|bf|rm|sc|sf|sl|tt|cal|small|large|smash|math)(?![A-Za-z])\s*"
    r"|\\(?:begin|end)\{[^{}]*\}(?:\[[^\]]*\])?"
)
_HREF = re.compile(r"\\(?:href|hyperlink)\s*\{[^{}]*\}\s*\{([^{}]*)\}|\\textcolor\s*\{[^{}]*\}\s*\{([^{}]*)\}")
_FRACTION = re.compile(r"\\(?:[dt]?frac|nicefrac|sfrac)\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_ROOT = re.compile(r"\\sqrt\s*\{([^{}]*)\}|\\sqrt\s*([A-Za-z0-9])\b")
_SYMBOL = re.compile(r"\\([A-Za-z]+)(?![A-Za-z])(?:\{\})?")
_WRAPPER = re.compile(r"\\([A-Za-z]+)\*?\s?\{([^{}]*)\}")
_NAME = re.compile(r"\\([A-Za-z]+)(?:\{\})?")
_NAME_AFTER_LETTER = re.compile(rf"(?<=[^\W_]){_NAME.pattern}")
_BRACES = re.compile(r"\{([^{}]{0,80})\}")
_ESCAPED = re.compile(r"\\+([%&#_${}])")
_SPACING = re.compile(r"\\[,;:>\s]|\\\\(?:\[[^\]]*\])?")
_MATH = re.compile(
    # Pandoc's rule keeps "$3000 and $5": the opening sign touches what follows, the closing one what precedes.
    r"\$\$(?P<a>[^$]{1,2000})\$\$|\$(?!\s)(?P<b>[^$]{1,600}?)(?<!\s)\$(?!\d)"
    r"|\\\((?P<c>.{1,600}?)\\\)|\\\[(?P<d>.{1,2000}?)\\\]",
    re.DOTALL,
)
_SCRIPT = re.compile(r"\s?([\^_])\s?(?:\{([^{}]*)\}|(\\[A-Za-z]+|[A-Za-z0-9*+′∞⊤†]))")
_TEXT_SCRIPT = re.compile(r"(?<=[\w)\]])(\^)(?:\{([^{}]{1,20})\}|(-?\d{1,3}|[A-Za-z]\b))")


# Signs that are content already stand aside, in the private use area, while markup is looked for.
_GUARDS = dict(zip("%&#_${}^", "\ue000\ue001\ue002\ue003\ue004\ue005\ue006\ue007", strict=True))
_UNGUARD = {ord(guard): sign for sign, guard in _GUARDS.items()}


def unlatex(text: str) -> str:
    """``text`` with its LaTeX made readable; braces, commands and dollar signs of money are left alone as content."""
    if "\\" not in text and "$" not in text and "^" not in text:
        return text
    if "\\" in text:
        text = _ESCAPED.sub(_guarded, text)
        text = _ACCENT.sub(_accented, text)
        text = _OURS.sub("the method", text)
    text = _MATH.sub(_math, text)
    text = _commands(text, math=False)
    text = _TEXT_SCRIPT.sub(_script, text)
    return text.translate(_UNGUARD)


def _guarded(match: re.Match[str]) -> str:
    return _GUARDS[match[1]]


def _accented(match: re.Match[str]) -> str:
    accent = match[1] or match[4]
    letter = match[2] or match[3] or match[5]
    return unicodedata.normalize("NFC", letter + _ACCENTS[accent])


def _math(match: re.Match[str]) -> str:
    body = match["a"] or match["b"] or match["c"] or match["d"]
    body = _commands(body.replace("~", " ").replace("$", ""), math=True)
    body = _SCRIPT.sub(_script, body)
    return body.replace("{", "").replace("}", "").strip()


def _commands(text: str, *, math: bool) -> str:
    if "\\" not in text:
        return text
    text = _HREF.sub(lambda match: match[1] or match[2], text)
    text = _DROPPED.sub("", text)
    text = _DOUBLE.sub(lambda match: _DOUBLE_LETTERS.get(match[1] or match[2], match[1] or match[2]), text)
    text = _OVER_LETTER.sub(_over, text)
    text = _SYMBOL.sub(_symbol, text)
    for _ in range(6):  # nested braces open from the inside, a bounded number of times
        before = text
        text = _FRACTION.sub(r"\1/\2", text)
        text = _ROOT.sub(_root, text)
        text = _WRAPPER.sub(lambda match: match[2] or match[1], text)
        if math:
            text = _SCRIPT.sub(_script, text)
        if text == before:
            break
    text = _SPACING.sub(" ", text).replace("\\!", "").replace("\\/", "").replace("\\-", "")
    text = _NAME.sub(r"\1", _NAME_AFTER_LETTER.sub(r" \1", text))  # N\log N -> N log N
    return text if math else _BRACES.sub(r"\1", text)


def _symbol(match: re.Match[str]) -> str:
    return SYMBOLS.get(match[1], match[0])


def _over(match: re.Match[str]) -> str:
    target = match[2] or match[3] or match[4]
    letter = SYMBOLS.get(target[1:], target[1:]) if target.startswith("\\") else target
    return unicodedata.normalize("NFC", letter + _OVER[match[1]]) if len(letter) == 1 else letter


def _root(match: re.Match[str]) -> str:
    body = match[1] if match[1] is not None else match[2]
    return f"√{body}" if len(body) <= 1 or body.isalnum() else f"√({body})"


def _script(match: re.Match[str]) -> str:
    mark, body = match[1], match[2] if match[2] is not None else match[3]
    body = body.strip()
    table = _SUPER if mark == "^" else _SUB
    if body and all(ord(character) in table for character in body):
        return body.translate(table)
    if not body or body in "*′⊤†+":
        return body
    return _GUARDS[mark] + (body if body.replace("-", "").isalnum() else f"({body})")
