"""Questions about the whole library: "how many papers …", "which papers …", "what is in file …".

They are not for the best few hits: every paper is looked at, by its words and by its meaning, and every paper counted
is cited with the sentence that makes it count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.cite import Checked
from rag.filters import EVERYTHING, Filter
from rag.fold import plain
from rag.lexical import terms
from rag.library import Library, Snapshot
from rag.mismatch import FIELD_NAMES, names
from rag.records import Paper
from rag.statements import Statement, statement_of
from rag.verify import Judgement, Passage, passages_of
from rag.within import Within

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
        "named stand both at least one any paper papers abstract abstracts total distinct different entry entries many report "
        "reports evaluate evaluates run test tests experiment experiments release releases apply applies appear appears "
        "say says result results promise promises both"
    )
)
_NEAR = 0.5
"""Cosine of a topic and a passage from which the paper is about the topic without holding its words …"""
_NEAR_LATE = 0.6
"""… where their tokens agree too; and alone, from a tenth more."""
_NAMED_THINGS = (
    r"(?:benchmarks?|data ?sets?|corpora|methods?|models?|systems?|frameworks?|approaches|algorithms?)"
    r"(?:(?:,| and| or|,? and) (?:benchmarks?|data ?sets?|corpora|methods?|models?|systems?|frameworks?|algorithms?))?"
)
_LISTS = re.compile(
    rf"^\s*(?:please\s+)?(?:list|name|show|give|enumerate)(?: me)?(?: all)?(?: of)?(?: the)? ({_NAMED_THINGS})\b"
    r"(?! (?:of|that|which|used by|behind|in) (?:the )?[A-Z])(.*)$",
    re.IGNORECASE | re.DOTALL,
)
_TRIED_ON = re.compile(r"\b(?:benchmarks?|data ?sets?|corpora|corpus|experiments?|evaluat\w*|results)\b", re.IGNORECASE)
_DATA = re.compile(r"benchmark|data ?set|corpor")
_DATA_NAME = re.compile(r"bench|dataset|corpus|\d+[KM]\b", re.IGNORECASE)
_MEASURES = frozenset(("auroc", "auc", "f1", "map", "miou", "psnr", "ssim", "bleu", "rouge", "ece", "fid"))
_CITED = 3
"""Sentences cited for a paper that states something more than once."""
_ACRONYM = re.compile(r"((?:[\w-]+ ){1,6}[\w-]+) \(([A-Z][A-Za-z]*[A-Z]s?|[A-Z]{2,})\)")


@dataclass(frozen=True, slots=True)
class Survey:
    """What is asked of the whole library: papers about any of ``topics`` (none: any paper) that stand in all ``files``
    and make the ``statement``. ``lists`` is what is to be listed, "papers" or the things they name."""

    topics: tuple[str, ...]
    files: tuple[str, ...]
    statement: Statement | None = None
    lists: str = "papers"
    all_topics: bool = False
    """Whether a paper must be about each of the topics: "both A and B"."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The papers counted, each as a sentence that cites why, and how they were counted."""

    items: tuple[Checked, ...]
    papers: tuple[Paper, ...]
    how: str


def survey_of(question: str) -> Survey | None:
    """What a question asks of the whole library; None where it asks something else."""
    listed = _LISTS.match(question)
    if listed is not None:
        said = _topics(listed.group(2).strip(" ?？.。!"), apart=True)
        return Survey(said, (), lists=listed.group(1).lower()) if said else None
    match = _FORMS.match(question) or _CHINESE.match(question)
    if match is None:
        return None
    rest = match.group(1).strip(" ?？.。!")
    files = tuple(dict.fromkeys((a or b).rstrip(".") for a, b in _FILE.findall(question)))
    if files:
        rest = _FILE.sub(" ", rest)
    statement = statement_of(rest)
    if statement is not None:
        rest = _about(rest)
    topics = _topics(rest)
    return Survey(topics, files, statement, all_topics=len(topics) > 1 and bool(re.search(r"\bboth\b", rest)))


def _about(rest: str) -> str:
    """The topic beside a statement: what stands after "about" or "on" at the beginning, as in "papers on 3D scenes
    release their code"."""
    match = re.match(
        r"\s*(?:about|on|in|for|of)\s+(.+?)\s+(?:that |which |who )?(?:\w+ly )?(?:release|promise|introduce|"
        r"prove|provide|present|propose|make|come|are|is|have|has|need|report|give|publish|offer)\b",
        rest,
        re.I,
    )
    return match.group(1) if match else ""


def _topics(text: str, *, apart: bool = False) -> tuple[str, ...]:
    """The topics of a phrase: those of a list, each by itself; what stands in brackets says one in another way.

    ``apart`` takes "A and B" for two topics, which may be the name of one.
    """
    bare = re.sub(r"\([^)]*\)", " ", text)
    bracketed = re.findall(r"\(([A-Z][\w-]*?)s?\)", text)
    parts = re.split(r",\s*(?:and|or)?\s*|\bor\b", bare)
    if apart or len(parts) > 1 or re.search(r"\bor\b|\bboth\b", bare):
        parts = [p for part in parts for p in re.split(r"\band\b", part)]
    return tuple(dict.fromkeys(t for t in (_topic(part) for part in [*parts, *bracketed]) if t))


def _topic(text: str) -> str:
    kind = re.search(rf"([\w-]+) {_PAPERS}$", text)
    if kind and set(terms(kind.group(1))) - _LINKS:
        return f"{kind.group(1)} paper"  # "are position papers": a kind of paper, not a topic
    words = re.findall(r"[\w³²\-.+/]+", text)
    return " ".join(w for w in words if set(terms(w)) - _LINKS or (w[0].isupper() and len(w) > 1))


def count(survey: Survey, library: Library, where: Filter = EVERYTHING) -> Counted:
    """The papers that ``survey`` asks for among those ``where`` lets through, in the order of their places.

    A paper counts by its words where a sentence of it holds the topic, or makes the statement; by its meaning where a
    passage comes near the topic.
    """
    snapshot = library.snapshot()
    within = library.within(where, snapshot)
    looked = library.papers(None if within is None else sorted(within.paper_ids))
    papers = [p for p in looked if all(any(_named(s.file, f) for s in p.sources) for f in survey.files)]
    topics = [_Topic.of(t, looked, library, snapshot, within) for t in survey.topics]
    found: list[tuple[Paper, Sequence[Passage]]] = []
    for paper in sorted(papers, key=lambda p: (p.sources, p.paper_id)):
        passages = passages_of(paper)
        told = [t for t in (topic.passage(paper, passages) for topic in topics) if t is not None]
        if topics and (len(told) < len(topics) if survey.all_topics else not told):
            continue
        if survey.statement is not None:
            told = [p for p in passages if survey.statement.said.search(p.text)]
            if not told:
                continue
        if survey.lists == "papers":
            found.append((paper, told[: _CITED if survey.statement else 1] or passages[:1]))
        elif listed := _that_list(survey.lists, paper, passages):
            found.append((paper, listed))
    how = _how(survey)
    of = "the library's" if within is None else f"the filter's ({where})"
    items = []
    for number, (paper, because) in enumerate(found):
        lead = f"{len(found)} of {of} {len(looked)} papers ({how}): " if not number else ""
        text = _said(survey, paper, because)
        items.append(Checked(lead + text, Judgement("supported", 1.0, tuple(because), coverage=1.0)))
    return Counted(tuple(items), tuple(p for p, _ in found), how)


def _said(survey: Survey, paper: Paper, because: Sequence[Passage]) -> str:
    """What stands for a paper in the answer: its label, and the things that were to be listed."""
    things = list(dict.fromkeys(t for p in because for t in _things(p.text, paper)))
    if survey.statement:
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
    if survey.statement is not None:
        parts.append(f"whose abstract tells of {survey.statement.name}")
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
    for match in _ACRONYM.finditer(plain(paper.abstract)):
        if match.group(1).lower().endswith(paper.label.lower()):
            return f"{paper.label} ({match.group(2)})"
    return paper.label


@dataclass(frozen=True, slots=True)
class _Topic:
    """A topic in all its spellings, and the papers whose meaning comes near it."""

    spellings: tuple[str, ...]
    near: frozenset[str]

    @classmethod
    def of(
        cls, text: str, papers: Sequence[Paper], library: Library, snapshot: Snapshot, within: Within | None
    ) -> _Topic:
        """``papers`` tell what its acronym stands for, or what its acronym is."""
        spellings = dict.fromkeys([text])
        wanted = terms(text)
        for paper in papers:
            for match in _ACRONYM.finditer(paper.abstract):
                short = match.group(2).rstrip("s")
                long = _stands_for(match.group(1), short)
                if not long:
                    continue
                if text.rstrip("s") == short:
                    spellings[long] = None
                elif terms(long) == wanted:
                    spellings[short] = None
        near = frozenset(i for spelt in spellings for i in _near(spelt, library, snapshot, within))
        return cls(tuple(spellings), near)

    def passage(self, paper: Paper, passages: Sequence[Passage]) -> Passage | None:
        """The sentence that makes the paper count; None where it does not."""
        for passage in passages:
            if any(_holds(passage.text, spelt) for spelt in self.spellings):
                return passage
        if paper.paper_id in self.near or any(_spreads(paper.abstract, spelt) for spelt in self.spellings):
            wanted = {t for spelt in self.spellings for t in terms(spelt)}
            return max(passages, key=lambda p: (len(wanted & set(terms(p.text))), -p.start))
        return None


def _stands_for(words: str, short: str) -> str:
    """The end of ``words`` whose initials are ``short``, or ""."""
    parts = re.split(r"[ -]", words)
    letters = [c.lower() for c in short if c.isalpha()]
    tail = parts[-len(letters) :]
    return " ".join(tail) if [w[:1].lower() for w in tail] == letters else ""


def _near(topic: str, library: Library, snapshot: Snapshot, within: Within | None) -> set[str]:
    """Papers with a passage near the topic: by their vectors and their tokens, where the library has both."""
    vectors, tokens = library.embedder.questions([topic])
    nearest = snapshot.vectors.nearest(vectors, 200) if within is None else within.nearest(snapshot, vectors, 200, 1)
    cosines = {c: cosine for c, cosine in nearest[0][:200] if c in snapshot.paper_of_chunk}
    late = snapshot.tokens.scores(tokens[0], list(cosines))
    return {
        snapshot.paper_of_chunk[c]
        for c, cosine in cosines.items()
        if (cosine >= _NEAR and late.get(c, 1.0) >= _NEAR_LATE) or late.get(c, 0.0) >= _NEAR_LATE + 0.1
    }


def _holds(sentence: str, topic: str) -> bool:
    """Whether a sentence holds a topic: a name as it is spelt, two words side by side, more words all of them."""
    if " " not in topic and sum(c.isupper() for c in topic) > 1:
        case = re.IGNORECASE if len(topic) > 4 else 0  # "NC" is not the end of "since"
        return bool(re.search(rf"(?<![A-Za-z]){re.escape(topic)}(?![a-z])", plain(sentence), case))
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
