"""The figures and the names in a text: what must be said exactly. Texts are compared after ``plain``."""

from __future__ import annotations

import re

from rag.fold import plain

# a Chinese sign is a word character too, and stands right before a figure: "约3秒"
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.])[-−]?\d[\d,]*(?:\.\d+)?|(?<=[A-Za-z]-)\d+(?:\.\d+)?")
_SCALES = {
    "k": 1e3,
    "thousand": 1e3,
    "m": 1e6,
    "million": 1e6,
    "b": 1e9,
    "bn": 1e9,
    "billion": 1e9,
    "万": 1e4,
    "亿": 1e8,
}
_SCALE = re.compile(r"\s?(million|billion|thousand|bn|k|m|b|万|亿)(?![a-z])", re.IGNORECASE)
_WORDS = {
    w: str(n)
    for n, w in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
}
_WORDS.update({"half": "2", "twice": "2", "double": "2", "doubles": "2", "doubling": "2", "triple": "3", "single": "1"})
_CHINESE = dict(zip("零一二三四五六七八九十两", [*(str(n) for n in range(11)), "2"], strict=True))
_MARKER = re.compile(r"\[\d+(?:\s*[,，-]\s*\d+)*\]")
_NAME = re.compile(r"[A-Za-zΑ-ω][\w³²+*.\-–/]*\w|[A-Z]")
_ORDINARY = frozenset(
    [
        "i",
        "we",
        "it",
        "a",
        "the",
        "this",
        "that",
        "these",
        "those",
        "in",
        "on",
        "for",
        "and",
        "or",
        "of",
        "to",
        "by",
        "with",
        "as",
        "at",
        "is",
        "are",
        "be",
    ]
)

FIELD_NAMES = frozenset(
    [
        "ai",
        "ml",
        "nlp",
        "rl",
        "llm",
        "vlm",
        "mllm",
        "vllm",
        "slm",
        "gnn",
        "cnn",
        "rnn",
        "dnn",
        "mlp",
        "vit",
        "gan",
        "vae",
        "qa",
        "rag",
        "ood",
        "id",
        "gpu",
        "cpu",
        "ram",
        "sota",
        "pde",
        "ode",
        "api",
        "2d",
        "3d",
        "4d",
    ]
)
"""Names of the whole field, in small letters: an abstract may well write them out."""


def numbers(text: str) -> set[str]:
    """The figures of ``text`` in one form: ``1,200`` and ``1200`` alike, ``89K`` as 89000, digits and words."""
    readable = _MARKER.sub(" ", plain(text))
    found = set()
    for match in _NUMBER.finditer(readable):
        value = (
            float(match.group().replace(",", "").replace("−", "-").rstrip(".")) if match.group().strip("-−,") else 0.0
        )
        found.add(_canonical(value))
        scale = _SCALE.match(readable, match.end())
        if scale:
            found.discard(_canonical(value))
            found.add(_canonical(value * _SCALES[scale.group(1).lower()]))
    return found


def spelt_numbers(text: str) -> set[str]:
    """The figures of ``text`` that are spelt, in one form: "five" as 5, "twice" as 2."""
    readable = plain(text).lower()
    spelt = {_WORDS[w] for w in re.findall(r"[a-z]+", readable) if w in _WORDS}
    return spelt | {_CHINESE[c] for c in readable if c in _CHINESE}


def figures(text: str) -> set[str]:
    """``numbers``, and those that are spelt: "five" as 5."""
    return numbers(text) | spelt_numbers(text)


def _canonical(value: float) -> str:
    return f"{abs(value):.6g}"


def names(text: str) -> set[str]:
    """What is written as a name in ``text``: with a capital after its first letter or a digit inside, or a capital
    in the middle of a sentence; in small letters, without plural or possessive endings."""
    readable = _MARKER.sub(" ", plain(text))
    found = set()
    for match in _NAME.finditer(readable):
        word = match.group().strip(".-–/*+") or match.group()
        inner_capital = any(c.isupper() for c in word[1:])
        digit = any(c.isdigit() for c in word) and any(c.isalpha() for c in word)
        leads = not readable[: match.start()].rstrip() or readable[: match.start()].rstrip()[-1] in ".!?:。"
        capital = word[0].isupper() and not leads and len(word) > 1
        if (inner_capital or digit or capital) and word.lower() not in _ORDINARY:
            found.add(bare(word))
    return found


def bare(word: str) -> str:
    """A word as ``names`` gives it: in small letters, without the ending of a possessive or of an acronym's plural."""
    low = word.lower()
    for ending in ("'s", "’s"):
        low = low.removesuffix(ending)
    return (
        low[:-1]
        if low.endswith("s") and len(low) > 3 and word[-1] == "s" and any(c.isupper() for c in word[1:])
        else low
    )
