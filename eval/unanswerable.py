"""Questions that a library does not answer, made by rule from ones that it does: no language model but for other topics.

A detail that abstracts give seldom, of a paper that does not give it; what one paper does, asked of another; the
contrary of what a paper says, taken for granted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag.figures import names
from rag.fold import plain
from rag.mismatch import mismatches
from rag.records import Paper
from rag.terms import terms

DETAILS: tuple[tuple[str, str], ...] = (
    ("Which learning rate were the experiments on {} run with?", r"learning[- ]rate|step[- ]size"),
    ("Under which licence is the code of {} released?", r"licen[cs]e|MIT\b|Apache|GPL"),
    ("How many GPU hours did the experiments on {} take?", r"GPU|hours?\b|A100|H100|compute"),
    ("Who paid for the work on {}?", r"fund|grant|sponsor|support(?:ed)? by"),
    ("Which random seeds were used in the experiments on {}?", r"\bseeds?\b"),
    ("At which address on the web can {} be downloaded?", r"https?:|www\.|\\url|github|available at"),
    ("At which university was {} developed?", r"universit|institut|college|laborator"),
    ("How many people took part in a user study of {}?", r"user stud|participant|annotator|human|people|users"),
    ("Which programming language is {} written in?", r"python|c\+\+|cuda|julia|rust|java|fortran|implementation"),
    ("What did the experiments on {} cost in US dollars?", r"\$\s?\d|dollar|USD|\bcosts?\b"),
)
"""A question about a paper's name, and what its abstract must not hold for that question to have no answer."""
SUBJECTS = (
    "cooking", "football", "river geography", "Roman history", "tax law", "gardening", "opera", "dog breeding",
    "mountaineering", "church architecture", "railway timetables", "dentistry", "cheese making", "film directors",
    "sailing knots", "medieval coins", "bee keeping", "chess openings", "road traffic rules", "volcanoes", "jazz",
    "postage stamps", "knitting", "wine regions", "presidential elections", "olympic records", "furniture making",
    "poetry", "insurance contracts", "bird migration", "watch repair", "hotel management", "fashion design",
    "prison reform", "coffee roasting", "cave paintings", "ballet", "firefighting", "school curricula", "fishing",
)  # fmt: skip
"""What papers are seldom about; a question that finds its words in the library after all is dropped."""
_TURNED = (
    ("improve", "worsen"), ("reduce", "increase"), ("lower", "raise"), ("decrease", "increase"), ("increase", "reduce"),
    ("outperform", "trail"), ("surpass", "trail"), ("exceed", "trail"), ("enhance", "degrade"),
    ("faster", "slower"), ("higher", "lower"), ("fewer", "more"), ("smaller", "larger"), ("accelerate", "slow down"),
    ("boost", "harm"), ("better", "worse"), ("preserve", "destroy"), ("prevent", "cause"), ("mitigate", "aggravate"),
)  # fmt: skip
_LONGEST_NAME = 40
"""Characters of a label that can stand in a question as a name."""


def name_of(paper: Paper) -> str:
    """The paper's label where it can stand in a question, else "": a phrase that was cut off names nothing."""
    return paper.label if len(paper.label) <= _LONGEST_NAME and names(f"of {paper.label}") else ""


def detail_questions(papers: Sequence[Paper]) -> Iterator[tuple[str, Paper, str]]:
    """Question, paper and why it has no answer, every paper once before any comes again, each with another detail."""
    named = [p for p in papers if name_of(p)]
    for turn in range(len(DETAILS)):
        for place, paper in enumerate(named):
            asks, told = DETAILS[(place + turn) % len(DETAILS)]
            if not re.search(told, paper.abstract, re.IGNORECASE):
                yield asks.format(name_of(paper)), paper, "the abstract does not give it"


def turned(question: str, sentence: str) -> str:
    """The question with its first direction turned to the contrary of what ``sentence`` says; "" where it has none."""
    for word, contrary in _TURNED:
        match = re.search(rf"\b{word}(s|d|es|ed)?\b", question)
        if match is None:
            continue
        found = question[: match.start()] + _ended(contrary, match.group(1) or "") + question[match.end() :]
        if any(m.kind in ("direction", "negation") for m in mismatches(found, plain(sentence))):
            return found
    return ""


def swapped(question: str, own: Paper, other: Paper) -> str:
    """The question asked of another paper by its name; "" where it does not name its own."""
    mine, its = name_of(own), name_of(other)
    if not mine or not its or mine not in question or its in question:
        return ""
    return question.replace(mine, its)


def stems_of(paper: Paper) -> set[str]:
    """Stems of the paper's name: what a question about it holds without asking for it."""
    return set(terms(paper.label))


def _ended(contrary: str, ending: str) -> str:
    """``contrary`` in the form of the word it stands for: "reduces" becomes "increases"."""
    if not ending:
        return contrary
    verb, blank, rest = contrary.partition(" ")
    past = "d" if verb.endswith("e") else "ed"
    return verb + (past if ending in ("d", "ed") else "s") + blank + rest
