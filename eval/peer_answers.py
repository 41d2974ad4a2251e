"""What a peer wrote, in the form of ``citewell ask --json``, so that one scorer reads them all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.results import Json
from rag.cite import split_claims
from rag.records import Paper

_REFUSES = re.compile(
    r"\b(?:none of the|no (?:\w+ )?(?:information|mention|sources?|context)\b|(?:can(?:not|'t)|unable to|impossible to) (?:be )?"
    r"(?:answer|determin|find|provid|identif)\w*|(?:do|does|did|is|are|was|were) not (?:\w+ )?(?:contain|mention|provid|"
    r"stat|specif|includ|address|discuss|giv|helpful|availab)\w*|insufficient information)",
    re.IGNORECASE,
)
_OF_SOURCES = re.compile(
    r"\b(?:sources?|contexts?|texts?|information|documents?|abstracts?|papers?|questions?|answer)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Cited:
    """What a marker of a peer points to: a paper and the words of it that the peer showed."""

    paper_id: str
    quote: str


class OutOfPatience(Exception):
    """A peer came to no answer in the time that a question may take."""


def refuses(text: str) -> bool:
    """Whether a text says that it has no answer: by its first sentence, in the phrases that peers are told to use."""
    claims = split_claims(text)
    return not claims or bool(_REFUSES.search(claims[0].text) and _OF_SOURCES.search(claims[0].text))


def as_answer(
    question: str,
    text: str,
    cited: Mapping[int, Cited],
    papers: Mapping[str, Paper],
    found: Sequence[str],
    *,
    timings_ms: Mapping[str, float],
    llm: str,
) -> Json:
    """A peer's ``text`` with markers ``[n]`` as an answer; ``found`` are the papers it looked at, best first.

    A quote is what the peer shows as its source, which may be a whole abstract: what stands in it bears a sentence out
    more easily than a sentence would. A refusal is known by its words and keeps no citations.
    """
    refused = refuses(text)
    claims = [] if refused else split_claims(text)
    used = dict.fromkeys(n for c in claims for n in c.numbers if n in cited)
    return {
        "question": question,
        "resolved_question": question,
        "status": "abstained" if refused else "answered",
        "answer": text,
        "sentences": [
            {"text": c.text, "verdict": "supported", "citations": list(c.numbers), "reason": "", "quoted": False}
            for c in claims
        ],
        "citations": [_citation(n, cited[n], papers[cited[n].paper_id]) for n in used],
        "nearest": [
            {"rank": rank, "paper_id": i, "label": papers[i].label, "score": 0.0, "sources": []}
            for rank, i in enumerate(dict.fromkeys(found), 1)
        ],
        "confidence": 0.0 if refused else 1.0,
        "reason": "not-in-library" if refused else "",
        "signals": {},
        "timings_ms": dict(timings_ms),
        "tokens": {},
        "llm": llm,
        "index": "",
    }


def _citation(marker: int, cited: Cited, paper: Paper) -> Json:
    """The quote at its place in the abstract; the whole abstract where the peer has rewritten it."""
    start = paper.abstract.find(cited.quote) if cited.quote else -1
    quote = cited.quote if start >= 0 else paper.abstract
    start = max(start, 0)
    return {
        "marker": marker,
        "paper_id": paper.paper_id,
        "label": paper.label,
        "quote": quote,
        "start": start,
        "end": start + len(quote),
        "sources": [],
    }
