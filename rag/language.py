"""The language a question is written in, as far as the answer must know it."""

from __future__ import annotations

import re

_SCRIPTS = (
    ("Japanese", re.compile(r"[\u3040-\u30ff]")),
    ("Korean", re.compile(r"[\uac00-\ud7af]")),
    ("Chinese", re.compile(r"[\u3400-\u9fff]")),
    ("Russian", re.compile(r"[\u0400-\u04ff]")),
    ("Arabic", re.compile(r"[\u0600-\u06ff]")),
    ("Thai", re.compile(r"[\u0e00-\u0e7f]")),
    ("Hindi", re.compile(r"[\u0900-\u097f]")),
    ("Greek", re.compile(r"[\u0370-\u03ff]{3}")),
)
_WORDS = {
    "French": [
        "le",
        "la",
        "les",
        "des",
        "une",
        "est",
        "sont",
        "dans",
        "pour",
        "avec",
        "quel",
        "quelle",
        "quels",
        "quelles",
        "comment",
        "combien",
        "pourquoi",
        "qui",
        "sur",
        "par",
    ],
    "German": [
        "der",
        "die",
        "das",
        "ein",
        "eine",
        "ist",
        "sind",
        "wie",
        "was",
        "welche",
        "welcher",
        "welches",
        "warum",
        "wieviel",
        "viele",
        "mit",
        "für",
        "auf",
        "und",
        "nicht",
        "von",
    ],
    "Spanish": [
        "el",
        "los",
        "las",
        "una",
        "es",
        "son",
        "cómo",
        "como",
        "qué",
        "cuál",
        "cuáles",
        "cuánto",
        "cuántos",
        "por",
        "para",
        "con",
        "del",
        "en",
        "y",
    ],
    "Italian": [
        "il",
        "lo",
        "gli",
        "una",
        "è",
        "sono",
        "come",
        "quale",
        "quali",
        "quanto",
        "quanti",
        "perché",
        "per",
        "con",
        "della",
        "che",
        "di",
        "nel",
    ],
    "Portuguese": [
        "o",
        "os",
        "as",
        "uma",
        "é",
        "são",
        "como",
        "qual",
        "quais",
        "quanto",
        "quantos",
        "por",
        "para",
        "com",
        "da",
        "do",
        "que",
        "em",
        "no",
    ],
    "English": [
        "the",
        "a",
        "an",
        "of",
        "is",
        "are",
        "how",
        "what",
        "which",
        "who",
        "why",
        "when",
        "where",
        "does",
        "do",
        "did",
        "in",
        "on",
        "for",
        "with",
        "and",
        "to",
        "by",
        "it",
        "that",
        "many",
    ],
}


def language_of(text: str) -> str:
    """The English name of the language of ``text``; "English" where nothing speaks against it.

    By script where that tells; among languages in Latin letters by their commonest words.
    """
    letters = sum(c.isalpha() for c in text) or 1
    for name, script in _SCRIPTS:
        found = len(script.findall(text))
        if found >= 2 and found / letters > 0.15:
            return name
    words = re.findall(r"[^\W\d_]+", text.lower())
    counts = {name: sum(w in listed for w in words) for name, listed in _WORDS.items()}
    best = max(counts, key=lambda name: (counts[name], name == "English"))
    foreign = "¿" in text or any(c.isalpha() and not c.isascii() for c in text)
    needed = 1 if foreign and not counts["English"] else 2
    return (
        best
        if counts[best] >= needed and (counts[best] > counts["English"] + 1 or not counts["English"])
        else "English"
    )
