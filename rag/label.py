"""A short name for a paper that a person recognises: its title, its method's name, or the first words that matter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.fold import plain

_LONGEST = 80
_SHORTEST = 18
"""A phrase shorter than this names no topic ("Main approaches"), unless the authors set it off."""
_EMPHASIS = re.compile(r"\\(?:emph|textit|textbf)\{([^{}]{4,40})\}|(?<!\*)\*{1,2}([^*\s][^*]{2,40})\*{1,2}")
_SENTENCE = re.compile(r"(?<=[.!?:])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bet al\.)\s+(?=[A-Z“\"])")
_CAP = r"(?:[A-Z][^\W_]*(?:[-–’'+*†][^\W_]+)*[+*†]?|[a-z]{1,2}-?[A-Z][\w-]*|\d-[a-z]+(?=\s[A-Z])|\dD-[A-Z][\w-]*)"
_PHRASE = rf"{_CAP}(?:\s(?:(?:of|for|with|and|in|on|to|the|via|by|over|from|as|under)\s)?{_CAP}){{0,8}}"
_SHORT = r"(?:[A-Za-z\d][^\W_]*(?:[-+*†][^\W_]*)*)"
_VERB = (
    r"(?:propos|introduc|present|develop|design|describ|deriv|devis|formulat|launch|releas|creat|build|construct)"
    r"(?:e|es|ed|ing|s)?"
)
_INTRODUCED = re.compile(
    rf"\b(?:[Ww]e|[Pp]aper|[Ss]tudy|[Ww]ork|[Aa]rticle|by|and|I)\s(?:\w+ly\s|then\s|thus\s|further\s|also\s|here\s){{0,2}}"
    rf"{_VERB}\s(?P<rest>.+)"
)
_CALLED = re.compile(
    rf"""\b(?:termed|called|named|dubbed|coined|abbreviated\sas|referred\sto\sas|denoted\s(?:as|by)|namely
    |(?:we|which\swe)\s(?:call|term|name|dub)(?:\s(?:it|this|them|these|the)(?:\s[a-z]+){{0,3}})?)\s(?:the\s|as\s)?
    (?P<name>{_PHRASE})""",
    re.VERBOSE,
)
_APPOSED = re.compile(
    rf"\b(?:resulting|our|proposed|new|final|overall)(?:\s[a-z-]+){{1,3}},\s(?P<name>{_PHRASE})(?=,|\s\()"
)
_SUBJECT = re.compile(
    rf"^(?:(?:Here|Thus|Hence|Instead),\s)?(?P<name>{_PHRASE})\s\((?P<short>{_SHORT})\)(?=\s(?:[a-z]+s|is|are)\b)"
)
_OURS = re.compile(r"\bthe method\s\((?P<name>[^()]{8,80})\)")
_NAMED = re.compile(
    rf"""^(?:(?:the|a|an|our|two|three|several)\s)?(?:[a-z][\w-]*(?:,)?\s){{0,6}}?
    (?P<name>{_PHRASE})(?:\s\((?P<inside>[^()]{{2,90}})\))?(?P<after>.?)""",
    re.VERBOSE,
)
_EXPANDED = re.compile(rf"(?P<phrase>[^.;:()]+?)\s\((?P<short>{_SHORT}s?)\)")
_POSITION = re.compile(r"\b(?:position paper|paper|we)\s(?:argues?|contends?|advocates?)\sthat\s(?P<rest>.+)")
_STUDIED = re.compile(
    r"\b(?:[Ww]e|paper|work|study)\s(?:\w+ly\s)?(?:stud(?:y|ies)|investigates?|examines?|analy[sz]es?|explores?"
    r"|considers?|address(?:es)?|characteri[sz]es?|tackles?|focus(?:es)?\son|shifts?\sfocus\sto|aims?\sto\s\w+)\s(?P<rest>.+)"
)
_SHOWN = re.compile(
    r"\b[Ww]e\s(?:\w+ly\s)?(?:show|prove|demonstrate|find|provide|identify|establish)s?\s(?:that\s)?(?P<rest>.+)"
)
_PARTED = re.compile(r"\b(?:parts|steps|results|contributions|findings)\b")
_ASIDE = re.compile(
    r"(?i)\b(?:further|also|in addition|additionally|moreover|second|finally|then|to motivate|specifically)\b"
)
_LEAD = re.compile(
    r"^(?:(?:the|a|an|our|this|these|first|novel|new|simple|yet|but|and|effective|efficient|general|unified|principled"
    r"|powerful|lightweight|practical|concise|strict|scalable|comprehensive|family of|class of|set of|series of"
    r"|notion of|way of|case of|concept of|use of|problem of|two|three|four|several|following)\s)+"
)
_GENERIC = frozenset(
    """framework method approach model algorithm system technique strategy procedure pipeline paradigm architecture
    module theory study analysis alternative solution suite benchmark dataset theoretical characterization three parts
    this issue problem challenge question questions these problems challenges issues limitation limitations them
    several observation following results result evidence insight simple both task""".split()  # noqa: SIM905
)
_VAGUE = frozenset({"issue", "problem", "challenge", "question", "gap", "limitation", "shortcoming"})
_CARRIER = re.compile(
    r"^(?:[a-z-]+\s){0,2}?(?:frameworks?|methods?|approach(?:es)?|procedures?|techniques?|strateg(?:y|ies))\s"
    r"(?:for\s|to\s(?:study|analy[sz]e|understand|learn|estimate|predict|measure)?\s?"
    r"|that\s(?:learns?|studies|exposes|predicts?|estimates?)\s)"
)
_BOUNDARY = re.compile(
    r"[,;:.](?:\s|$)|—|\s[–-]\s|(?<!ed)\sby\s|(?<!es)\susing\s"
    r"|\s(?:that|which|whose|where|when|while|who|so|such|because|before|after|leveraging|enabling|aiming|designed|capable"
    r"|instead|rather|without|in which|in order|under more|they)\s"
    r"|\sto\s(?:reduce|improve|enable|address|capture|quantify|mitigate|enhance|further|learn|predict|avoid|overcome"
    r"|handle|achieve|obtain|make|ensure|tackle|provide)\s"
)
_NOUN = re.compile(
    r"\s(?!(?:that|which|to|for|as|and|or|with|in|on|by|from|of|is|are|via|using|where|framework|method|algorithm|model"
    r"|approach|challenge|dataset|benchmark|system|loss|architecture|module|criterion|metric|score|estimator|networks?"
    r"|optimizer)\b)[a-z]"
)


@dataclass(frozen=True, slots=True)
class _Candidate:
    score: float
    name: str


def label(title: str, abstract: str) -> str:
    """The title, shortened at a word; without one a name of at most 80 characters from the abstract. Never empty."""
    if readable := plain(title):
        return _shortened(readable)
    text = plain(abstract)
    sentences = _SENTENCE.split(text)
    best = max(_candidates(sentences, text), key=lambda candidate: candidate.score, default=None)
    if best is not None:
        return best.name
    return _described(sentences, _emphasised(abstract)) or _shortened(_clause(sentences[0])) or "untitled"


def _candidates(sentences: list[str], text: str) -> Iterator[_Candidate]:
    """Names the abstract gives what it brings, the likelier ones with the higher score; the first wins a tie."""
    for position, sentence in enumerate(sentences):
        late = 0.1 * position + (4 if _ASIDE.search(sentence[:60]) else 0)
        if match := _OURS.search(sentence):
            yield _Candidate(30 - late, match["name"])
        for match in _CALLED.finditer(sentence):
            if _is_name(match["name"], sentence[match.end() :]):
                yield _Candidate(14 + _uses(match["name"], text) - late, match["name"])
        if match := _APPOSED.search(sentence):
            yield _Candidate(14 + _uses(match["name"], text) - late, match["name"])
        if position and (match := _SUBJECT.search(sentence)) and not match["name"].startswith("The "):
            yield _Candidate(14 + _uses(match["short"], text) - late, _either(match["name"], match["short"]))
        for match in _INTRODUCED.finditer(sentence):
            yield from _introduced(match["rest"], text, late)


def _introduced(rest: str, text: str, late: float) -> Iterator[_Candidate]:
    """The names in what follows "we propose"."""
    near = rest[: match.start()] if (match := re.search(r"\s(?:that|which|to|where|whose)\s|[;:]", rest)) else rest
    if (match := _NAMED.match(rest)) and match.start("name") <= len(near):
        name, inside = match["name"], match["inside"] or ""
        if inside == "the method":
            yield _Candidate(30 - late, name)
        elif re.fullmatch(_SHORT, inside) and len(inside) < len(name):
            yield _Candidate(14 + _uses(inside, text) - late, _either(name, inside))
        elif _is_name(name, rest[match.end("name") :]) and not _known(name, rest, text):
            yield _Candidate((14 if inside or match.start("name") < 4 else 11) + _uses(name, text) - late, name)
    if match := _EXPANDED.search(rest):
        expanded = _expansion(match["phrase"], match["short"])
        if expanded:
            initials = match["short"].removesuffix("s")
            # Far from the verb it is defined in passing, unless the paper goes on to say what it does.
            if match.start("short") <= 60 or re.search(rf"\b{re.escape(initials)}\s[a-z]+s\b", text):
                yield _Candidate(13 + _uses(initials, text) - late - match.start() / 40, _sentence_case(expanded))


def _expansion(phrase: str, short: str) -> str:
    """The last words of ``phrase`` whose initials are ``short``; empty if they are not."""
    letters = [letter.casefold() for letter in short.removesuffix("s") if letter.isalpha()]
    words = phrase.split()
    for count in range(1, min(len(words), len(letters) + 2) + 1):
        tail = words[-count:]
        initials = [part[0].casefold() for word in tail for part in re.split(r"[-–]", word) if part]
        if initials == letters or [word[0].casefold() for word in tail] == letters:
            return " ".join(tail)
    return ""


def _either(phrase: str, short: str) -> str:
    """A coined name ("LieVLM", "G³RAG") says more than its expansion; bare initials ("CPM") say less."""
    bare = short.replace("-", "").removesuffix("s")
    return phrase if bare.isupper() and bare.isalpha() else short


def _is_name(name: str, after: str) -> bool:
    """Whether ``name`` names something new, going by its letters and by what follows: no mere adjective of a noun."""
    if _NOUN.match(after):
        return False
    words = name.split()
    if len(words) > 1:
        return sum(word[0].isupper() for word in words) >= 2 and any(len(word) > 3 for word in words)
    coined = sum(map(str.isupper, name)) > 1 or (any(map(str.isdigit, name)) and len(name) > 3)
    return (coined and len(name) > 2) or (name[0].isupper() and len(name) > 3 and after[:1] in ",(")


def _known(name: str, rest: str, text: str) -> bool:
    """Whether the abstract spoke of ``name`` before it introduces something in ``rest``."""
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text[: text.find(rest)]))


def _uses(name: str, text: str) -> float:
    return min(6, len(re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", text)))


def _described(sentences: list[str], emphasised: frozenset[str]) -> str:
    """What the paper brings or studies in its own words, where it names nothing."""
    for patterns in ((_POSITION,), (_INTRODUCED, _STUDIED), (_SHOWN,)):
        for sentence, following in zip(sentences, [*sentences[1:], ""], strict=True):
            matches = (match for pattern in patterns for match in pattern.finditer(sentence))
            for match in sorted(matches, key=lambda match: match.start("rest")):
                found = _noun_phrase(match["rest"])
                if len(found) >= _SHORTEST or found.casefold() in emphasised:
                    return found
                if following and _PARTED.search(match["rest"]):
                    return _shortened(_clause(following))
    return ""


def _emphasised(abstract: str) -> frozenset[str]:
    """The terms of two words or more that the authors set off themselves, in lower case."""
    terms = (plain(match[1] or match[2]).casefold() for match in _EMPHASIS.finditer(abstract))
    return frozenset(term for term in terms if " " in term)


def _noun_phrase(text: str) -> str:
    text = _LEAD.sub("", text)
    carried = _CARRIER.sub("", text, count=1)
    if carried != text:
        text = _LEAD.sub("", carried)
    boundary = _BOUNDARY.search(text, 8)
    phrase = text[: boundary.start()] if boundary else text
    words = [word.casefold() for word in re.findall(r"[^\W_]+", phrase)]
    telling = [word for word in words if len(word) > 3 and word not in _GENERIC]
    return _sentence_case(_shortened(phrase)) if len(telling) >= 2 and words[0] not in _VAGUE else ""


def _clause(sentence: str) -> str:
    return re.split(r",?\s(?:but|yet|while|whereas|which|and yet)\s|[;.](?:\s|$)", sentence, maxsplit=1)[0]


def _sentence_case(text: str) -> str:
    text = text.strip(" ,.;:–—-“”\"'")
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.islower() else text


def _shortened(text: str) -> str:
    """``text`` cut at a word so that it has at most 80 characters, with an ellipsis where something is missing."""
    if len(text) <= _LONGEST:
        return text
    cut = text[: _LONGEST - 1].rsplit(" ", 1)[0]
    cut = re.sub(r"(?:\s(?:a|an|the|of|for|in|on|and|or|with|by|to|from|as|at|is|are))+$", "", cut)
    return cut.rstrip(" ,;:–—-") + "…"
