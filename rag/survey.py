"""Questions about the whole library: "how many papers …", "which papers …", "what is in file …".

They are not for the best few hits: every paper is looked at, by its words and by its meaning, and every paper counted
is cited with the sentence that makes it count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag.cite import Checked
from rag.fold import plain
from rag.lexical import terms
from rag.library import Library
from rag.records import Paper
from rag.verify import Judgement, passages_of

_PAPERS = r"(?:papers|abstracts|works|articles|publications|entries)"
_FORMS = re.compile(
    rf"^\s*(?:please\s+)?(?:how many(?: of the(?:se)?)?(?: different| distinct)? {_PAPERS}|"
    rf"(?:which|what)(?: of the(?:se)?)?(?: \w+)? {_PAPERS}|"
    rf"(?:list|name|show|give|find)(?: me)?(?: all)?(?: of)?(?: the)? {_PAPERS}|"
    r"what(?:'s| is| does) (?:in |there in |inside )?(?:the )?file)\b(.*)$",
    re.IGNORECASE | re.DOTALL,
)
_CHINESE = re.compile(r"^(?:.*?)(?:有多少篇|有几篇|哪些(?:论文|文章)|列出)(.*?)(?:的?(?:论文|文章))?[？?。]*$")
_FILE = re.compile(r"\bfile\s+[\"'“]?([\w.\-]+)|\b(\d{3}(?:_\w+)?(?:\.txt)?)\b", re.IGNORECASE)
_LINKS = frozenset(
    terms(
        "about on of are is there in the this library collection deal deals concern concerned concerning use uses using "
        "mention mentions study studies propose proposes introduce introduces discuss address present contain contains "
        "with that which have has do does it them all work works based focus topic related topics listed held hold file "
        "stand both at least one any paper papers abstract abstracts total distinct different entry entries many report "
        "reports evaluate evaluates run test tests experiment experiments release releases apply applies appear appears "
        "say says result results promise promises both"
    )
)
_NEAR = 0.5
"""Cosine of a topic and a passage from which the paper is about the topic without holding its words."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What is asked of the whole library: papers about any of ``topics`` (none: any paper) that stand in all ``files``."""

    topics: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """The papers counted, each as a sentence that cites why, and how they were counted."""

    items: tuple[Checked, ...]
    papers: tuple[Paper, ...]
    how: str


def survey_of(question: str) -> Survey | None:
    """What a question asks of the whole library; None where it asks something else."""
    match = _FORMS.match(question) or _CHINESE.match(question)
    if match is None:
        return None
    rest = match.group(1).strip(" ?？.。!")
    files = tuple(dict.fromkeys((a or b).rstrip(".") for a, b in _FILE.findall(question)))
    if files:
        rest = _FILE.sub(" ", rest)
    # "partial differential equations (PDEs)": what stands in brackets says the same in another way
    said = [re.sub(r"\([^)]*\)", " ", rest), *re.findall(r"\(([A-Z][\w-]*?)s?\)", rest)]
    topics = tuple(t for t in (_topic(part) for part in said) if t)
    return Survey(topics, files)


def _topic(text: str) -> str:
    kind = re.search(rf"([\w-]+) {_PAPERS}$", text)
    if kind and set(terms(kind.group(1))) - _LINKS:
        return f"{kind.group(1)} paper"  # "are position papers": a kind of paper, not a topic
    words = re.findall(r"[\w³²\-.+/]+", text)
    return " ".join(w for w in words if set(terms(w)) - _LINKS or (w[0].isupper() and len(w) > 1))


def count(survey: Survey, library: Library) -> Counted:
    """The papers that ``survey`` asks for, in the order of their places.

    A paper counts by its words where a sentence of it holds the topic, by its meaning where a passage comes near it.
    """
    papers = [p for p in library.papers() if all(any(_named(s.file, f) for s in p.sources) for f in survey.files)]
    near = {i for topic in survey.topics for i in _near(topic, library)}
    wanted = {t for topic in survey.topics for t in terms(topic)}
    found = []
    for paper in sorted(papers, key=lambda p: (p.sources, p.paper_id)):
        passages = passages_of(paper)
        telling = max(passages, key=lambda p: (len(wanted & set(terms(p.text))), -p.start))
        holding = next((p for p in passages if any(_holds(p.text, topic) for topic in survey.topics)), None)
        if holding is None and any(_spreads(paper.abstract, topic) for topic in survey.topics):
            holding = telling
        if not survey.topics or holding or paper.paper_id in near:
            found.append((paper, holding or telling))
    named = " or ".join(f"“{topic}”" for topic in survey.topics)
    how = f"whose abstract holds or comes near {named}" if named else "all of them"
    if survey.files:
        how = f"{how if named else 'all'} in {' and '.join(survey.files)}"
    items = []
    for number, (paper, passage) in enumerate(found):
        text = paper.label if number else f"{len(found)} of the library's {len(library)} papers ({how}): {paper.label}"
        items.append(Checked(text, Judgement("supported", 1.0, (passage,), coverage=1.0)))
    return Counted(tuple(items), tuple(p for p, _ in found), how)


def _near(topic: str, library: Library) -> set[str]:
    snapshot = library.snapshot()
    vector = library.embedder.remember([topic])
    hits = snapshot.vectors.nearest(vector, 200)[0]
    return {snapshot.paper_of_chunk[c] for c, cosine in hits if cosine >= _NEAR and c in snapshot.paper_of_chunk}


def _holds(sentence: str, topic: str) -> bool:
    """Whether a sentence holds a topic: a name as it is spelt, two words side by side, more words all of them."""
    if " " not in topic and sum(c.isupper() for c in topic) > 1:
        return topic.lower() in plain(sentence).lower()
    wanted, held = terms(topic), terms(sentence)
    if len(wanted) <= 2:
        return any(held[i : i + len(wanted)] == wanted for i in range(len(held)))
    return set(wanted) <= set(held)


def _spreads(abstract: str, topic: str) -> bool:
    """Whether an abstract holds all of a topic of three words or more, in different sentences perhaps."""
    wanted = set(terms(topic))
    return len(wanted) > 2 and wanted <= set(terms(abstract))


def _named(file: str, wanted: str) -> bool:
    name = file.rsplit("/", 1)[-1]
    return name == wanted or name.startswith(f"{wanted}_") or name.rsplit(".", 1)[0] == wanted
