"""What a question takes for granted, held against the paper it is about.

"Why does X ignore Y?" says that X ignores Y. Where the paper denies just what the question asserts, or asserts what it
denies, the premise is wrong, and the paper's own sentence is the answer. What that does not decide the language model is
asked, yes or no, with the evidence before it (``rag.prompt.premise_prompt``): on the questions that are not for the test
it called none of 29 true premises wrong, and 7 of 11 false ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rag.figures import FIELD_NAMES, names
from rag.fold import plain
from rag.mismatch import denied_terms
from rag.terms import terms
from rag.verify import Passage

_ASKS = re.compile(
    r"^(?:so |and |but )?(?:why|how)\b(?P<amount>(?: much| many)(?: more| less| fewer)? [\w -]+?)?(?: exactly)? "
    r"(?:do|does|did|is|are|was|were|has|have|had|must|should)\b(?P<said>.+?)\??$",
    re.IGNORECASE,
)
_UNTOLD = frozenset(
    terms("use used using method model approach paper author authors propose new work need make keep way its")
)
_GIVES_UP = re.compile(r"\b(?:sacrific\w+|breaks? down|broke down|struggl\w+|collaps\w+|giv\w+ up)\b", re.IGNORECASE)
"""What a question says with these words is that something is not so."""
_OTHERS = re.compile(
    r"\b(?:existing|prior|previous|current|conventional|traditional|standard|however|typically)\b", re.IGNORECASE
)
"""A sentence with one of these may speak of what others do."""
_OWN = re.compile(r"\b(?:we|our|ours)\b", re.IGNORECASE)
_MAY_BE_OWN = re.compile(r"\b(?:its?|this|these)\b", re.IGNORECASE)
_SHARE = 0.06
"""Of what is taken for granted, by rarity, the least that must be denied."""
_NEAR = 0.2
"""Of what is taken for granted, by rarity, the least that the sentence against it must speak of."""


def premise_of(question: str) -> str:
    """What ``question`` takes for granted, without its question word; empty where it takes nothing for granted, or
    speaks of what others do."""
    found = _ASKS.match(plain(question).strip())
    if found is None or _OTHERS.search(found["said"]):
        return ""
    if re.match(r" many (?!more\b|fewer\b)", found["amount"] or "", re.IGNORECASE):
        return ""  # how many of them there are is asked, and nothing is said of each
    return f"{found['amount'] or ''} {found['said']}".strip()


def wrong_premise(
    question: str, passages: Sequence[Passage], label: str, idf: Callable[[str], float]
) -> Passage | None:
    """The sentence of the paper of ``passages``, known as ``label``, that speaks against the premise of ``question``."""
    said = premise_of(question)
    told = set(terms(said)) - set(terms(label)) - _UNTOLD
    if not told:
        return None
    denied_here = denied_terms(_GIVES_UP.sub("not", said))
    total = sum(idf(t) for t in told)
    called = names(f": {question} {label}") - FIELD_NAMES
    own = [p for p in passages if _is_own(p.text, called, sure=bool(denied_here))]
    held = [set(terms(p.text)) & told for p in own]
    denied = [denied_terms(p.text) for p in own]
    best: tuple[float, Passage] | None = None
    for passage, words, unsaid in zip(own, held, denied, strict=True):
        against = {
            t
            for t in words
            if (t in unsaid) != (t in denied_here)
            # where the paper says it elsewhere, the question may speak of that
            and all((t in u) == (t in unsaid) for w, u in zip(held, denied, strict=True) if t in w)
        }
        weight = sum(idf(t) for t in against) / total
        near = sum(idf(t) for t in words) / total
        if weight >= _SHARE and near >= _NEAR and (best is None or weight > best[0]):
            best = (weight, passage)
    return best[1] if best else None


def speaking_of(said: str, passages: Sequence[Passage], label: str, idf: Callable[[str], float]) -> Passage:
    """The passage of the paper known as ``label`` that holds most of ``said``, by rarity; the first of several."""
    told = set(terms(said)) - set(terms(label)) - _UNTOLD
    return max(passages, key=lambda p: sum(idf(t) for t in told.intersection(terms(p.text))))


def _is_own(sentence: str, called: set[str], *, sure: bool) -> bool:
    """Whether the sentence speaks of the paper's own work, by one of the names it is ``called`` or by "we"; or else,
    where one need not be ``sure``, by "it" or "this"."""
    if called & names(f": {sentence}"):
        return True
    told = _OWN.search(sentence) or (not sure and _MAY_BE_OWN.search(sentence))
    return bool(told) and not _OTHERS.search(sentence)
