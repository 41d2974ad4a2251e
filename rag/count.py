"""The answer to a question about the whole library: every paper is looked at, by its words and by its meaning, and every
paper counted is cited with the sentence that makes it count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.cite import Checked
from rag.figures import FIELD_NAMES, names
from rag.filters import EVERYTHING, Filter
from rag.fold import plain
from rag.library import Library
from rag.records import Paper
from rag.survey import Survey
from rag.topic import Topic, acronyms
from rag.verify import Judgement, Passage, passages_of

_TRIED_ON = re.compile(r"\b(?:benchmarks?|data ?sets?|corpora|corpus|experiments?|evaluat\w*|results)\b", re.IGNORECASE)
_DATA = re.compile(r"benchmark|data ?set|corpor")
_DATA_NAME = re.compile(r"bench|dataset|corpus|\d+[KM]\b", re.IGNORECASE)
_MEASURES = frozenset(("auroc", "auc", "f1", "map", "miou", "psnr", "ssim", "bleu", "rouge", "ece", "fid"))
_CITED = 3
"""Sentences cited for a paper that states something more than once."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The papers counted, each as a sentence that cites why, and how they were counted."""

    items: tuple[Checked, ...]
    papers: tuple[Paper, ...]
    how: str


def count(survey: Survey, library: Library, where: Filter = EVERYTHING) -> Counted:
    """The papers that ``survey`` asks for among those ``where`` lets through, in the order of their places."""
    snapshot = library.snapshot()
    within = library.within(where, snapshot)
    looked = library.papers(None if within is None else sorted(within.paper_ids))
    topics = [Topic.of(t, looked, library, snapshot, within) for t in survey.topics]
    candidates = {i for topic in topics for i in topic.candidates}
    papers = [
        p
        for p in looked
        if all(any(_named(s.file, f) for s in p.sources) for f in survey.files)
        and (not survey.twice or len({(s.file, s.row) for s in p.sources}) > 1)
        and (not topics or p.paper_id in candidates)
    ]
    found: list[tuple[Paper, Sequence[Passage]]] = []
    for paper in sorted(papers, key=lambda p: (p.sources, p.paper_id)):
        passages = passages_of(paper)
        of = [t for t in topics if t.holds(paper, passages)]
        if topics and (len(of) < len(topics) if survey.all_topics else not of):
            continue
        told = [t.telling(passages) for t in of]
        if survey.statements:
            told = [p for p in passages if any(s.said.search(p.text) for s in survey.statements)]
            if not told:
                continue
        if survey.lists == "papers":
            found.append((paper, told[: _CITED if survey.statements else 1] or passages[:1]))
        elif listed := _that_list(survey.lists, paper, passages):
            found.append((paper, listed))
    how = _how(survey)
    of_what = "the library's" if within is None else f"the filter's ({where})"
    items = []
    for number, (paper, because) in enumerate(found):
        lead = f"{len(found)} of {of_what} {len(looked)} papers ({how}): " if not number else ""
        text = _said(survey, paper, because)
        items.append(Checked(lead + text, Judgement("supported", 1.0, tuple(because), coverage=1.0)))
    return Counted(tuple(items), tuple(p for p, _ in found), how)


def _said(survey: Survey, paper: Paper, because: Sequence[Passage]) -> str:
    """What stands for a paper in the answer: its label, and the things that were to be listed."""
    things = list(dict.fromkeys(t for p in because for t in _things(p.text, paper)))
    if survey.statements:
        things = [t for t in things if _DATA_NAME.search(t)]
    elif not _DATA.search(survey.lists):
        things = []
    return f"{', '.join(things)} ({paper.label})" if things else _called(paper)


def _how(survey: Survey) -> str:
    """How the papers were counted, in words."""
    parts = []
    if survey.topics:
        named = (" and " if survey.all_topics else " or ").join(f"“{topic}”" for topic in survey.topics)
        parts.append(f"whose abstract holds or comes near {named}")
    if survey.statements:
        parts.append(f"whose abstract tells of {' or '.join(s.name for s in survey.statements)}")
    if survey.twice:
        parts.append("that are listed more than once")
    if survey.lists != "papers":
        parts.append(f"and names {survey.lists}")
    if survey.files:
        parts.append(f"{'' if parts else 'all '}in {' and '.join(survey.files)}")
    return " ".join(parts) or "all of them"


def _that_list(lists: str, paper: Paper, passages: Sequence[Passage]) -> list[Passage]:
    """The sentences of a paper that name what is to be listed."""
    if _DATA.search(lists):
        return [p for p in passages if _TRIED_ON.search(p.text) and _things(p.text, paper)][:_CITED]
    return [p for p in passages if paper.label.lower() in plain(p.text).lower()][:1] or list(passages[:1])


def _things(sentence: str, paper: Paper) -> list[str]:
    """The names in a sentence, as they are spelt, but for the paper's own and those of the field."""
    words = re.findall(r"[A-Z0-9][\w+]*(?:[-/][\w+]+)*", plain(sentence))
    told = names(f": {sentence}") - FIELD_NAMES - _MEASURES - names(f": {_called(paper)}")
    return list(dict.fromkeys(w for w in words if names(f"of {w}") & told and not w.isdigit()))


def _called(paper: Paper) -> str:
    """The label, with the acronym that its authors give it."""
    for long, short in acronyms(paper):
        if plain(long).lower().endswith(paper.label.lower()):
            return f"{paper.label} ({short})"
    return paper.label


def _named(file: str, wanted: str) -> bool:
    name = file.rsplit("/", 1)[-1]
    return name == wanted or name.startswith(f"{wanted}_") or name.rsplit(".", 1)[0] == wanted
