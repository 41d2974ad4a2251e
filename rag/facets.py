"""What of a record is compared with others when duplicates are sought."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from rag.fold import fold, plain
from rag.names import Name, name
from rag.readers.screen import reason_to_skip
from rag.records import SourceRecord
from rag.shingles import Shingles

_STOP = frozenset(
    """a an and are as at be by can do does for from how in into is it its of on or our over s the their to toward
    towards under upon using use via we what when where which why with""".split()  # noqa: SIM905
)
_NUMBERS = frozenset(
    """one two three four five six seven eight nine ten first second third fourth fifth i ii iii iv v vi vii viii ix
    single double triple multiple dual 1d 2d 3d 4d""".split()  # noqa: SIM905
)
_NO_TITLE = re.compile(
    r"(?:no |without )?title|untitled|withdrawn(?: submission| paper)?|retracted|preface|foreword|editorial"
    r"|introduction|anonymous|unknown|n a|na|none|null|paper|abstract|plenary.*|forums?|keynotes?.*|invited talks?"
    r"|demo|poster"
)
_STATUS = re.compile(
    r"""(?ix)^\W*(?:retracted|withdrawn|corrigendum|erratum|correction)\b(?:\s*(?:article|paper|to))?\W+
    |\W+(?:extended\s+abstract|student\s+abstract|abstract|short\s+paper|preliminary\s+report|demo(?:nstration)?|poster
      |(?:accompanying\s+)?video(?:\s+(?:contribution|abstract|submission|paper))?)\W*$"""
)
_DOI = re.compile(r"10\.\d{4,9}/\S+")
_ARXIV = re.compile(r"(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?")
# Where work is submitted or deposited rather than published for good; ICLR's lists on OpenReview hold what was refused
# and appeared elsewhere, and its first volumes were workshops and preprints.
_PREPRINT = re.compile(r"(?i)\b(?:arxiv|corr|openreview|[a-z]*rxiv|preprints?|submi\w+|workshops?|iclr)\b")


@dataclass(frozen=True)
class Facets:
    """What of a record, or of several with the same title and abstract, is compared. All text is folded."""

    title: str
    """Without "[RETRACTED]", "(Extended Abstract)" and the like; empty where it says nothing."""
    head: str
    """The title up to its colon, and ``tail`` after it; empty without a colon."""
    tail: str
    abstract: str
    authors: frozenset[Name]
    """Empty where nobody is named."""
    dois: frozenset[str]
    arxivs: frozenset[str]
    outlets: frozenset[tuple[str, int]]
    """Venue and year."""
    years: frozenset[int]
    preprint: bool
    counts: Counter[str]
    """The numbers in the title, or in the abstract where there is no title: "two", "ii", "3"."""
    shingles: Shingles
    hollow: bool
    """Placeholder or boilerplate instead of an abstract: says nothing about the work."""

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the title that tell it from others, cut to their stems."""
        return frozenset(_stem(word) for word in self.title.split() if word not in _STOP)


def facets(records: Iterable[SourceRecord], abstract: str, shingles: Shingles) -> Facets:
    """The facets of ``records``, which share their folded title and the folded ``abstract``."""
    records = tuple(records)
    first = records[0]
    core = _core(first.title)
    head, colon, tail = core.partition(": ")
    title = fold(core)
    if _NO_TITLE.fullmatch(title):
        title = ""
    return Facets(
        title=title,
        head=fold(head) if colon else "",
        tail=fold(tail),
        abstract=abstract,
        authors=frozenset(found for record in records for author in set(record.authors) if (found := name(author))),
        dois=frozenset(match[0].rstrip(".,;").casefold() for record in records if (match := _DOI.search(record.doi))),
        arxivs=frozenset(match[1] for record in records if (match := _ARXIV.search(record.arxiv))),
        outlets=frozenset((fold(record.venue), record.year) for record in records if record.venue and record.year),
        years=frozenset(record.year for record in records if record.year is not None),
        preprint=any(record.arxiv or _PREPRINT.search(record.venue) for record in records),
        counts=Counter(_counts(core if title else first.abstract)),
        shingles=shingles,
        hollow=bool(reason_to_skip(first.abstract, first.title)),
    )


def strong_keys(one: Facets) -> Iterator[str]:
    """Keys that two records seldom share unless they are one work."""
    yield f"text {one.abstract}"
    yield from (f"doi {doi}" for doi in one.dois)
    yield from (f"arxiv {arxiv}" for arxiv in one.arxivs)
    if one.title:
        yield f"title {' '.join(sorted(one.words))}"
        if len(one.tail.split()) >= 3:
            yield f"title {' '.join(sorted({_stem(word) for word in one.tail.split() if word not in _STOP}))}"


def _core(title: str) -> str:
    title = plain(title)
    core = _STATUS.sub("", title)
    return core if len(core) >= 8 else title


def _stem(word: str) -> str:
    return word if word in _NUMBERS or len(word) <= 4 else word.removesuffix("s")[:6]


def _counts(text: str) -> Iterator[str]:
    for word in re.findall(r"\w+", text.casefold()):
        if word in _NUMBERS or (len(word) <= 2 and word.isdecimal()):
            yield word
