"""True sentences made false: a figure, a method's name or a negation changed, the same way at every run."""

from __future__ import annotations

import re
from collections.abc import Collection

from rag.figures import numbers

_FIGURE = re.compile(r"(?<![A-Za-z0-9_.-])\d[\d,]*(?:\.\d+)?(?![\w-])")
_AUXILIARY = re.compile(r"\b(is|are|was|were|can|will|has been|have been|does|do)\b(?! not)", re.IGNORECASE)
_VERB = re.compile(
    r"\b(achiev|improv|reduc|increas|us|requir|propos|introduc|provid|outperform|enabl|allow|show|combin|learn|support|"
    r"preserv|demonstrat|captur|address|eliminat|avoid|yield|surpass|generaliz|remain|maintain|exceed|lead|attain|"
    r"incorporat|leverag|perform|produc|reach|decreas|lower|cover|need|prov|integrat|extract|apply|detect|predict)"
    r"(es|s)\b"
)
_SILENT_E = frozenset(
    re.findall(
        r"\w+",
        "achiev improv reduc increas us requir propos introduc provid enabl combin preserv demonstrat captur eliminat "
        "generaliz incorporat leverag produc decreas prov integrat",
    )
)


def other_figure(sentence: str, known: Collection[str]) -> str | None:
    """``sentence`` with its first figure changed to one that is not ``known``; None where it holds none."""
    for match in _FIGURE.finditer(sentence):
        for step in (3, 4, 6, 7, 2):
            at = next((i for i, c in enumerate(match.group()) if c in "123456789"), None)
            if at is None:
                break
            digit = str((int(match.group()[at]) + step - 1) % 9 + 1)
            figure = match.group()[:at] + digit + match.group()[at + 1 :]
            changed = sentence[: match.start()] + figure + sentence[match.end() :]
            if numbers(figure) <= numbers(changed) and not numbers(figure) & set(known):
                return changed
    return None


def other_name(sentence: str, name: str, other: str) -> str | None:
    """``sentence`` with ``other`` in the place of ``name``; None where it does not name it."""
    changed = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", lambda _: other, sentence)
    return changed if changed != sentence else None


def negated(sentence: str) -> str | None:
    """``sentence`` with its first verb negated, or its negation taken out; None where it has neither."""
    for pattern, plain in ((r"\b(does|do|is|are|was|were|can|did) not\b", r"\1"), (r"\bcannot\b", "can")):
        if re.search(pattern, sentence):
            return re.sub(pattern, plain, sentence, count=1)
    verb, auxiliary = _VERB.search(sentence), _AUXILIARY.search(sentence)
    if verb and (auxiliary is None or verb.start() < auxiliary.start()):
        stem = verb.group(1)
        base = stem + "e" if stem in _SILENT_E else stem
        return f"{sentence[: verb.start()]}does not {base}{sentence[verb.end() :]}"
    if auxiliary:
        return f"{sentence[: auxiliary.end()]} not{sentence[auxiliary.end() :]}"
    return None
