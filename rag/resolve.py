"""The question as it is looked up: standing alone, and in English, the language of the library's abstracts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms.llm import LLM

from rag.figures import names
from rag.language import language_of
from rag.prompt import standalone_prompt, to_english_prompt
from rag.records import Turn
from rag.terms import terms

_POINTS_BACK = re.compile(
    r"\b(it|its|they|them|their|theirs|this|that|these|those|he|she|one|ones|former|latter|both|other|others|same|"
    r"there|then|too|also|instead|the (?:method|model|paper|approach|framework|authors?|dataset|benchmark|first|second|third))\b"
    r"|^(?:and|but|so|or|what about|how about|why|how so|what else|anything else|which ones?)\b"
    r"|它|它们|他们|这|那|该|其|上述|前者|后者|呢|还有|也",
    re.IGNORECASE,
)


_ELLIPTIC = re.compile(r"^\s*(?:and\b|(?:and )?(?:what|how) about\b)(?:\W+\w+){1,4}\W*$|呢\s*[?？]?$", re.IGNORECASE)
"""Asks again what was asked before, of something else: "What about SCAN?"."""
_ASKING = frozenset(terms("which what who whose why how when where does do did can could would many much"))


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, as it is looked up."""

    asked: str
    resolved: str
    """English, and understandable without the conversation."""
    language: str
    """The language to answer in."""
    follows: bool
    """True where the question leans on the turn before, whose papers then come along."""


def resolve(question: str, history: Sequence[Turn], labels: Sequence[str], llm: LLM) -> Question:
    """The question to look up; ``labels`` are those of the papers of the last turn.

    The model is asked only for what is needed: a translation for another language, a rewriting for a question that
    points back. What it makes of the question is used only where it keeps the question's own words and brings in no
    name from elsewhere; else the question stays, and the labels or the question before are put beside it.
    """
    language = language_of(question)
    follows = bool(history) and _leans(question)
    english = question if language == "English" else _translated(question, llm)
    if not follows:
        return Question(question, english, language, follows=False)
    said = _one_line(llm, standalone_prompt(english, history, labels), max_tokens=80)
    # "of": the first word of a label is a name too, which names() cannot tell at the beginning of a sentence
    known = names(
        " ".join([english, *(f"of {label}" for label in labels), *(f"{t.question} {t.answer}" for t in history)])
    )
    wanted = set(terms(_POINTS_BACK.sub(" ", english)))
    kept = len(wanted & set(terms(said))) >= 0.7 * len(wanted)
    if not (said and kept and names(said) <= known and len(said) < 4 * len(english) + 200):
        before = f"{history[-1].question} " if labels and _ELLIPTIC.search(question) else ""
        said = f"{before}{english} ({', '.join(labels) or history[-1].question})"
    return Question(question, said, language, follows=True)


def needs_model(question: str, history: Sequence[Turn]) -> bool:
    """Whether ``resolve`` will ask the language model."""
    return language_of(question) != "English" or (bool(history) and _leans(question))


def points_back(question: str) -> bool:
    """Whether a question holds words that stand for something said before: "it", "the second one", "呢"."""
    return bool(_POINTS_BACK.search(question))


def _leans(question: str) -> bool:
    named = re.search(r"\b\w*[A-Z0-9]\w*[A-Z0-9]\w*\b", question)
    # "How does GeoSPRINT allocate its steps?" points to nothing before it
    head = question[: named.start()] if named else question
    return points_back(head) or len(set(terms(question)) - _ASKING) < 3


def _translated(question: str, llm: LLM) -> str:
    said = _one_line(llm, to_english_prompt(question), max_tokens=160)
    missing = sorted(n for n in re.findall(r"[A-Za-z][\w.+-]*\w", question) if n.lower() not in said.lower())
    return f"{said} ({', '.join(missing)})" if missing else said or question


def _one_line(llm: LLM, messages: list[ChatMessage], *, max_tokens: int) -> str:
    content = llm.chat(messages, max_tokens=max_tokens).message.content or ""
    lines = [line.strip() for line in content.splitlines() if line.strip()]
    return lines[0].strip('"“”') if lines else ""
