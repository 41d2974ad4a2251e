"""What a sentence can be asked for: words of it that answer a question, and the facts by which an answer is known.

No language model: figures, names and clauses that tell how or why are found by their form, so that what a right answer
must hold is decided by the source alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from rag.figures import FIELD_NAMES, names
from rag.fold import plain
from rag.terms import terms

Facts = tuple[tuple[str, ...], ...]

_SPELT = {
    w: n for n, w in enumerate(["three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 3)
}
_NUMBER = r"(?:[-−+~≈]?\$?\d[\d,]*(?:\.\d+)?)"
_UNIT = r"(?:\s?\\?%|\s?[x×](?!\w)|-fold\b|\s?(?:times|points?|percentage points|percent|[KMGT]?B|GB|MB|ms|fps)\b|[KMBk](?!\w))"
_FIGURE = re.compile(
    rf"(?<![\w.-]){_NUMBER}{_UNIT}?(?:\s?(?:[-–]|to|and)\s?{_NUMBER}{_UNIT}?)?(?![\w]|\.\d)"
    rf"|\b(?:{'|'.join(_SPELT)})\b(?=\s(?:[a-z][\w-]*\s){{0,2}}[a-z]\w+s\b)",
    re.IGNORECASE,
)
_SAYS_LITTLE = re.compile(r"[012]|(?:19|20)\d\d")
"""Counts that any answer may hold by chance, and years."""
_VALUE = re.compile(r"\d[\d,]*(?:\.\d+)?")
_CAPITAL = r"[A-Z][\w.+³²-]*\w|[a-z]+[A-Z][\w-]*|[A-Z]{2,}"
_NAMES = re.compile(rf"(?<![\w-])(?:{_CAPITAL})(?:(?:,\s(?:and\s)?|\sand\s|\s)(?:{_CAPITAL}))*")
_CITED = re.compile(r"\s(?:et al\b|\(?(?:19|20)\d\d\b)")
_WAY = re.compile(
    r"\b(?P<cue>by (?:[a-z]+ly )?\w+ing|because|due to|via|in order to|so that|rather than|using|leveraging)\b"
    r"(?P<rest>[^,;:.()]{12,140})"
)
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
"""Names in an address on the web name nothing that the sentence speaks of."""
_RELATIVE = re.compile(r"\s(?:which|that|who|where|whereas|while|when)\b.*")
"""What a clause adds about its last word tells nothing of the way."""
_RARE = 0.45
"""Share of the inverse document frequency of a word that no paper holds, from which a word is one of few papers."""
_COMMON = frozenset(
    terms(
        "method approach framework model models training learning data results show demonstrate propose novel new based "
        "existing different performance extensive experiments significant significantly effective efficient various use used using introducing "
    )
)


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a sentence that answer a question about it, and what an answer must hold to say the same."""

    words: str
    sort: Literal["figure", "name", "way"]
    facts: Facts


def spans_of(sentence: str, *, idf: Callable[[str], float], known: Collection[str] = ()) -> list[Span]:
    """What ``sentence`` can be asked for: at most one figure, one name (or list of them) and one way.

    ``idf`` weighs words by their rarity in the library; ``known`` are names, in small letters, that tell nothing of
    the sentence, such as those that stand all over its abstract.
    """
    readable = _ADDRESS.sub(" ", plain(sentence))
    return [s for s in (_figure(readable), _name(readable, known), _way(readable, idf)) if s is not None]


def facts_of(sentence: str, *, known: Collection[str] = ()) -> Facts:
    """The figures and names of ``sentence`` as facts, figures first, at most three; none where it has neither."""
    readable = plain(sentence)
    figure = [fact for m in _FIGURE.finditer(readable) for fact in figure_facts(m.group())]
    named = [(name_fact(n),) for n in _listed(readable, known)]
    return tuple(dict.fromkeys([*figure, *named]))[:3]


def figure_facts(text: str) -> Facts:
    """One fact for each figure in ``text``: in digits, with or without commas, or as a word: "eight" as 8 too."""
    facts: list[tuple[str, ...]] = []
    for value in _VALUE.findall(text):
        whole, _, part = value.replace(",", "").partition(".")
        digits = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",?", whole) + (rf"\.{part}" if part else "")
        word = next((w for w, n in _SPELT.items() if str(n) == value), None)
        facts.append((_bounded(digits), *([rf"\b{word}\b"] if word else [])))
    facts += [(rf"\b{w}\b", _bounded(str(n))) for w, n in _SPELT.items() if re.search(rf"\b{w}\b", text.lower())]
    return tuple(facts)


def name_fact(name: str) -> str:
    """A regular expression for a name however its parts are joined: "CIFAR-100" as "CIFAR 100" and "CIFAR100"."""
    joined = r"[\s-]*".join(re.escape(part) for part in re.split(r"[\s-]+", name) if part)
    return rf"(?<!\w){joined}s?(?!\w)"


def word_fact(word: str) -> str:
    """A regular expression for a word and its other forms: what it shares with its stem, and any ending."""
    stem = (terms(word) or [word.lower()])[0]
    length = next((i for i, (a, b) in enumerate(zip(word.lower(), stem, strict=False)) if a != b), len(stem))
    return rf"\b{re.escape(word.lower()[:length] if length > 3 else word.lower())}\w*"


def _bounded(digits: str) -> str:
    return rf"(?<![\d.]){digits}(?!\d|\.\d)"


def _figure(sentence: str) -> Span | None:
    for match in _FIGURE.finditer(sentence):
        facts = figure_facts(match.group())
        words = match.group().strip(" ,")
        if facts and not _SAYS_LITTLE.fullmatch(words):
            return Span(words, "figure", facts)
    return None


def _listed(sentence: str, known: Collection[str]) -> list[str]:
    """Names in the middle of the sentence, as they are spelt, without ``known`` ones and those of the whole field."""
    found = []
    for match in _NAMES.finditer(sentence):
        if sentence[match.start() - 1 : match.start()] == "(" and sentence[match.end() : match.end() + 1] == ")":
            continue  # the short form of what stands before it
        if _CITED.match(sentence, match.end()):
            continue  # who wrote another paper
        # the first word of a sentence has a capital whatever it is
        text = match.group() if match.start() else match.group().partition(" ")[2]
        for name in re.split(r",\s(?:and\s)?|\sand\s", text):
            bare = names(f"of {name}")
            if bare and not bare & {*known, *FIELD_NAMES} and name.lower() not in known and len(name) > 2:
                found.append(name)
    return list(dict.fromkeys(found))


def _name(sentence: str, known: Collection[str]) -> Span | None:
    for match in _NAMES.finditer(sentence):
        if "/" in (sentence[match.start() - 1 : match.start()], sentence[match.end() : match.end() + 1]):
            continue  # a part of a list: an answer with another part would be as right
        listed = [n for n in _listed(sentence, known) if n in match.group()]
        if listed and match.group().startswith(listed[0]):
            return Span(match.group(), "name", tuple((name_fact(n),) for n in listed[:3]))
    return None


def _way(sentence: str, idf: Callable[[str], float]) -> Span | None:
    for match in _WAY.finditer(sentence):
        clause = _RELATIVE.sub("", f"{match['cue']}{match['rest']}").strip()
        told = telling_words(clause, idf)[:2]
        if len(told) == 2 and len(clause.split()) >= 4:
            # either of the two rarest words: a right answer may leave one out
            return Span(clause, "way", (tuple(word_fact(w) for w in told),))
    return None


def telling_words(text: str, idf: Callable[[str], float]) -> list[str]:
    """The words of ``text`` that few papers of the library hold, the rarest first, each stem once."""
    least = _RARE * idf("\0")
    rare: dict[str, tuple[float, str]] = {}
    for word in re.findall(r"[A-Za-z][\w-]{2,}[A-Za-z]", plain(text)):
        stems = [t for t in terms(word) if t not in _COMMON]
        if stems and max(idf(t) for t in stems) >= least:
            rare.setdefault(stems[0], (max(idf(t) for t in stems), word))
    return [word for _, word in sorted(rare.values(), key=lambda item: (-item[0], item[1]))]
