"""Where a sentence and the words said to bear it out disagree: figures, names, negations, directions.

Rules, not a model: each finding can be told to the reader. Texts are compared after ``plain``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag.figures import FIELD_NAMES, bare, names, numbers, spelt_numbers
from rag.fold import plain
from rag.sentences import sentence_spans
from rag.terms import terms

_NEGATION = re.compile(
    r"\b(?:not|no|never|without|cannot|neither|nor|none|lack\w*|fail\w* to|unable to|avoid\w*|eliminat\w+|free of|"
    r"rather than|instead of|hardly|rarely|discard\w*|remov\w+|ignor\w+)\b|n't\b",
    re.IGNORECASE,
)
_PLAIN_NEGATION = re.compile(r"\b(?:not|never|cannot|no|without|neither|nor)\b|n't\b", re.IGNORECASE)
_SOME_DENIAL = re.compile(
    rf"{_NEGATION.pattern}|\b(?:un(?!i|der)|non)(?:[a-z]{{4,}}|-)|\w+(?:-free|less)\b|\bzero(?!-shot)|"
    r"\bin(?:feasib|sufficien|abilit|tractab|capab|accura|depend|varia|adequa|effect)\w*|\bimp(?:ossib|racti)\w*|\birre\w+|"
    r"\b(?:only|few|little|hard|difficult\w*|limit\w*|prevent\w*|rare\w*|scarce\w*|absen\w*|miss\w*|drop\w*|omit\w*|prohibit\w*|"
    r"preclud\w*|fail\w*|until|unless|neglect\w*|overlook\w*|struggl\w*|collaps\w*|den(?:y|ies)|refus\w*|reject\w*|refut\w*|"
    r"challeng\w*)\b",
    re.IGNORECASE,
)
"""Words without one of which a text denies nothing at all."""
_NEEDS = re.compile(
    r"(?<!not )(?<!never )(?<!n't )\b(?:needs?(?! for\b)|requires?|must be|ha(?:s|ve) to be|reli(?:es|ed) on|depends? on)\b",
    re.IGNORECASE,
)
_SPARES = re.compile(
    r"\b(?:without|no|not (?:need|require|rely on|depend on)|avoid\w*|eliminat\w+|bypass\w*)\b", re.IGNORECASE
)
_SAY_LITTLE = frozenset(
    terms("use uses used using achieve provide propose introduce show make have need require any all only")
)
_OPPOSITES = tuple(
    (re.compile(rf"\b(?:{a})\b", re.IGNORECASE), re.compile(rf"\b(?:{b})\b", re.IGNORECASE))
    for a, b in (
        (
            r"outperform\w*|surpass\w*|exceed\w*|beats?|better",
            r"underperform\w*|worse\w*|falls? short|trails?|lags?|inferior",
        ),
        (
            r"increas\w*|rais\w*|rises?|grow\w*|higher|gains?|boost\w*|more",
            r"decreas\w*|reduc\w*|lower\w*|drops?|shrink\w*|declin\w*|less|fewer",
        ),
        (r"faster|speed\w*|accelerat\w*|quicker", r"slower|slow\w*|decelerat\w*"),
        (r"improv\w*|enhanc\w*|strengthen\w*", r"degrad\w*|worsen\w*|harm\w*|hurt\w*|weaken\w*|deteriorat\w*"),
        (r"larger|bigger|greater|large", r"smaller|small|tiny"),
        (r"tighter|tighten\w*", r"looser|loosen\w*"),
        (r"upper|maximi[sz]\w*|maximum|most", r"minimi[sz]\w*|minimum|least"),
        (r"necessary|requires?|needs?", r"unnecessary|requires? no|without"),
        (r"supervised|labell?ed", r"unsupervised|unlabell?ed"),
        (r"majority", r"minority"),
        (r"before|early|earlier", r"after|late|later"),
    )
)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A disagreement: its kind ("number", "name", "negation", "direction") and the words in question."""

    kind: str
    detail: str


def mismatches(sentence: str, support: str, *, context: str = "", loose: bool = False) -> list[Mismatch]:
    """What ``sentence`` says otherwise than ``support``, the words said to bear it out.

    ``context`` is the rest of the same paper and what was asked: a name that stands there is no mismatch, a figure
    is. ``loose`` leaves out what only holds between texts of one language.
    """
    found = []
    known = numbers(support)
    spelt = spelt_numbers(support)
    for figure in sorted(numbers(sentence) - known):
        if figure not in spelt and not _rounds(figure, known):
            found.append(Mismatch("number", figure))
    around = plain(f"{support} {context}")
    joined = _squeezed(around)
    apart = {bare(w) for pattern in (r"[^\W_]+", r"[^\W\d_]+") for w in re.findall(pattern, around)}

    def stands(part: str) -> bool:
        # "mc" may end one word and begin the next; what is longer is found in any spelling
        return (len(part) <= 3 and part in apart) or (len(part) > 3 and _squeezed(part) in joined)

    for name in sorted(names(sentence) - FIELD_NAMES):
        if not stands(name) and not all(stands(p) for p in re.split(r"[-–/]", name)):
            found.append(Mismatch("name", name))
    if not loose:
        found += _polarity(sentence, support)
    return found


def _rounds(figure: str, known: set[str]) -> bool:
    """Whether ``figure`` is a rounding of a known one: 120,845 said as 121,000 or 7.64 as 7.6."""
    value = float(figure)
    digits = len(figure.replace(".", "").strip("0").lstrip("-")) or 1
    return digits >= 2 and any(
        value and f"{float(k):.{digits}g}" == f"{value:.{digits}g}" and float(k) != value for k in known
    )


def _squeezed(text: str) -> str:
    return re.sub(r"[\W_]+", "", plain(text).lower())


def _polarity(sentence: str, support: str) -> list[Mismatch]:
    said, there = plain(sentence), plain(support)
    phrases = _denied_alone(said, there)
    for one, other in ((said, there), (there, said)):
        # what a plain negation of one text governs must not stand in the other without any negation
        denied = _denied_in(other)
        for phrase, group in _governed(one, _PLAIN_NEGATION, 3):
            if group and group <= set(terms(other)) and len(group & denied) < len(group) / 2:
                phrases.append(phrase)
    phrases += _needed_though_spared(said, there)
    found = [Mismatch("negation", phrase) for phrase in dict.fromkeys(phrases)]
    for up, down in _OPPOSITES:
        for a, b in ((up, down), (down, up)):
            match = a.search(said)
            if match and b.search(there) and not a.search(there) and not b.search(said):
                found.append(Mismatch("direction", match.group()))
    return found


def _denied_alone(said: str, there: str) -> list[str]:
    """The plain negations of ``said`` over what ``there`` says without any, in the sentence that speaks most of it."""
    if (denial := _PLAIN_NEGATION.search(said)) and not _SOME_DENIAL.search(there):
        return [" ".join(said[denial.start() :].split()[:4])]
    found = []
    sources = [there[a:b] for a, b in sentence_spans(there)]
    held = [set(terms(source)) for source in sources]
    for phrase, group in _governed(said, _PLAIN_NEGATION, 4):
        telling = group - _SAY_LITTLE
        most = max((len(telling & words) for words in held), default=0)
        if not most or most < len(telling) / 2:
            continue
        spoken = [source for source, words in zip(sources, held, strict=True) if len(telling & words) == most]
        if not any(telling & _denied_in(source) for source in spoken):
            found.append(phrase)
    return found


def _needed_though_spared(said: str, there: str) -> list[str]:
    """What ``said`` calls needed and ``there`` does without: "needs to be retrained" of what is training-free."""
    spared = _spared(there) - _spared(said)
    return [
        phrase
        for phrase, group in _governed(said, _NEEDS, 4)
        if not _PLAIN_NEGATION.search(phrase) and ({_root(t) for t in group} - _SAY_LITTLE) & spared
    ]


def _spared(text: str) -> set[str]:
    return {_root(t) for _, group in _governed(text, _SPARES, 4) for t in group} | {_root(t) for t in _freed(text)}


def _root(stem: str) -> str:
    return stem[2:] if stem.startswith("re") and len(stem) > 6 else stem


def _denied_in(text: str, reach: int = 8) -> set[str]:
    return {t for _, group in _governed(text, _NEGATION, reach) for t in group} | _freed(text)


def denied_terms(text: str) -> set[str]:
    """Stems of what ``text`` says is not so, not there or left out: in the reach of a negation, or "-free"."""
    return _denied_in(plain(text), 5)


def _governed(text: str, negation: re.Pattern[str], reach: int) -> list[tuple[str, set[str]]]:
    """Each negation in ``text`` with the ``reach`` words after it, up to the next comma or stop, and their stems."""
    found = []
    for match in negation.finditer(text):
        words = re.split(r"[,;:]|\.(?!\d)", text[match.end() :])[0].split()[:reach]
        found.append((" ".join([match.group(), *words]), set(terms(" ".join(words)))))
    return found


def _freed(text: str) -> set[str]:
    """Stems of what ``text`` is said to be free of: "training-free", "zero-token", "unlabeled"."""
    words = re.findall(r"\b([a-z]+)-(?:free|less)\b|\b(?:zero|non|un)-?(?!shot)([a-z]{4,})", text, re.IGNORECASE)
    return set(terms(" ".join(word for pair in words for word in pair)))
