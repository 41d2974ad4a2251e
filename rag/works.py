"""Whether two records are one work: what is compared (``Facets``) and how it is judged (``judge``)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from rag.fold import fold, plain
from rag.readers.screen import reason_to_skip
from rag.records import SourceRecord
from rag.shingles import Shingles, overlap

_STOP = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "how", "in", "into", "is", "it")
    + ("its", "of", "on", "or", "our", "over", "s", "the", "their", "to", "toward", "towards", "under", "upon", "using")
    + ("use", "via", "we", "what", "when", "where", "which", "why", "with")
)
_NUMBERS = frozenset(
    ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "first", "second", "third", "fourth")
    + ("fifth", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "single", "double", "triple", "multiple", "dual")
    + ("1d", "2d", "3d", "4d")
)
_NO_TITLE = re.compile(
    r"(?:no |without )?title|untitled|withdrawn(?: submission| paper)?|retracted|preface|foreword|editorial|introduction"
    r"|anonymous|unknown|n a|na|none|null|paper|abstract|plenary.*|forums?|keynotes?.*|invited talks?|demo|poster"
)
_STATUS = re.compile(
    r"(?i)^\W*(?:retracted|withdrawn|corrigendum|erratum|correction)\b(?:\s*(?:article|paper|to))?\W+"
    r"|\W+(?:extended\s+abstract|abstract|student\s+abstract|short\s+paper|preliminary\s+report|(?:accompanying\s+)?video(?:\s+(?:contribution|abstract|submission|paper))?"
    r"|demo(?:nstration)?|poster)\W*$"
)
_NOBODY = frozenset({"anonymous", "anonymous author", "anonymous authors", "unknown", "et al", "na", "n a", ""})
_HONORIFIC = re.compile(r"^(?:mr|mrs|ms|dr|prof|and)\.?\s+", re.IGNORECASE)


@dataclass(frozen=True)
class Facets:
    """What of a record, or of several with the same title and abstract, is compared."""

    title: str
    """Folded; empty where the record has none that says anything."""
    head: str
    """The folded title up to its colon, and ``tail`` after it; empty without a colon."""
    tail: str
    abstract: str
    """Folded."""
    authors: frozenset[tuple[str, str]]
    """Folded family name and given names; empty where nobody is named."""
    dois: frozenset[str]
    arxivs: frozenset[str]
    years: frozenset[int]
    shingles: Shingles
    hollow: bool = False
    """Placeholder or boilerplate instead of an abstract: says nothing about the work."""

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the title that tell it from others, cut to their stems."""
        return frozenset(_stem(word) for word in self.title.split() if word not in _STOP)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether two records are one work, why, and how alike they are."""

    same: bool
    reasons: tuple[str, ...]
    scores: dict[str, float]
    """In [0, 1]: text (Jaccard of word 3-shingles), title, authors (shared part of the shorter list)."""
    foreign: bool = False
    """Same abstract, but other title and authors: one of the two probably carries the wrong abstract."""
    barred: bool = False
    """What they differ in means two works, whatever a third record says."""

    @property
    def strength(self) -> float:
        return sum(self.scores.values())


def facets(records: Iterable[SourceRecord], title: str, abstract: str, shingles: Shingles) -> Facets:
    """The facets of ``records``, which share the folded ``title`` and ``abstract``."""
    records = tuple(records)
    raw = _core(records[0].title)
    head, colon, tail = raw.partition(": ")
    core = fold(raw)
    return Facets(
        title="" if _NO_TITLE.fullmatch(core) else core,
        head=fold(head) if colon else "",
        tail=fold(tail),
        abstract=abstract,
        authors=frozenset(name for record in records for author in record.authors if (name := _name(author))),
        dois=frozenset(doi for record in records if (doi := _doi(record.doi))),
        arxivs=frozenset(arxiv for record in records if (arxiv := _arxiv(record.arxiv))),
        years=frozenset(record.year for record in records if record.year is not None),
        shingles=shingles,
        hollow=bool(reason_to_skip(records[0].abstract, records[0].title)),
    )


def has_names(authors: Iterable[str]) -> bool:
    """Whether anybody is named, "Anonymous" being nobody."""
    return any(_name(author) for author in authors)


def block_keys(one: Facets, rarity: Counter[str]) -> Iterable[str]:
    """Keys of which two versions of a work share at least one even where hardly a word of their abstracts agrees."""
    yield f"text {one.abstract}"
    yield from (f"doi {doi}" for doi in one.dois)
    yield from (f"arxiv {arxiv}" for arxiv in one.arxivs)
    if one.title:
        yield f"title {' '.join(sorted(one.words))}"
        if len(one.tail.split()) >= 3:
            yield f"title {' '.join(sorted(_stem(word) for word in one.tail.split() if word not in _STOP))}"
            yield f"tail {one.tail}"
        telling = sorted(one.words, key=lambda word: (rarity[word], word))[:3]
        for family in sorted({family for family, _ in one.authors})[:12]:
            yield from (f"{family} {word}" for word in telling)


def judge(left: Facets, right: Facets) -> Judgement:
    """Decide for two records whether they are one work."""
    text, contained = overlap(left.shingles, right.shingles)
    if left.abstract == right.abstract:
        text = contained = 1.0
    title = _jaccard(left.words, right.words)
    authors = _shared_authors(left.authors, right.authors)
    titled = bool(left.title and right.title)
    scores = {"text": round(text, 3)}
    if titled:
        scores["title"] = round(title, 3)
    if authors is not None:
        scores["authors"] = round(authors, 3)

    def verdict(same: bool, *reasons: str, foreign: bool = False, barred: bool = False) -> Judgement:
        return Judgement(same, reasons, scores, foreign=foreign, barred=barred)

    if left.hollow or right.hollow:
        return verdict(False, "no abstract to go by", barred=True)
    shared = _shared_words(text, authors)
    strangers = authors == 0.0
    if titled and (apart := _counted_apart(left.title, right.title)):
        return verdict(False, f"the titles differ in {apart}", barred=True)
    if left.dois & right.dois and (not titled or title >= 0.4 or text >= 0.5):
        return verdict(True, "same DOI", *shared)
    if left.arxivs & right.arxivs and (not titled or title >= 0.3 or text >= 0.3):
        return verdict(True, "same arXiv id", *shared)
    copied = text >= 0.95 or (contained >= 0.98 and text >= 0.85)
    if titled and left.title == right.title:
        if strangers and not copied:
            return verdict(False, "same title, other authors", barred=text < 0.3)
        if authors is None and text < 0.2 and contained < 0.5:
            return verdict(False, "same title, other abstract, no authors to compare")
        return verdict(True, "same title", *shared)
    if copied:
        related = (not titled or title >= 0.5) and not strangers
        if related or (authors or 0.0) >= 0.5:
            if not titled and text < 1 and (apart := _counted_apart(left.abstract, right.abstract)):
                return verdict(False, f"the abstracts differ in {apart}")
            return verdict(True, "same abstract" if text == 1 else "nearly the same abstract", *shared[1:])
        if titled and title >= 0.5:
            return verdict(True, "same abstract", "similar title")
        return verdict(False, "same abstract, other title and authors", foreign=True, barred=True)
    if not titled:
        long = min(len(left.shingles), len(right.shingles)) >= 30
        if strangers or not long or not (text >= 0.8 or contained >= 0.95):
            return verdict(False, "different abstracts")
        if apart := _counted_apart(left.abstract, right.abstract):
            return verdict(False, f"the abstracts differ in {apart}")
        likeness = "nearly the same abstract" if text >= 0.8 else "one abstract is part of the other"
        return verdict(True, likeness, *shared[1:])
    if authors is None:
        alike = title >= 0.7 and text >= 0.6
        return verdict(alike, "similar title", *shared) if alike else verdict(False, "different titles")
    if authors >= 0.5 and (kind := _kin(left, right, title, text, contained)):
        return verdict(True, kind, *shared)
    return verdict(False, "different titles" if authors >= 0.5 else "different titles and authors")


def _kin(left: Facets, right: Facets, title: float, text: float, contained: float) -> str:
    """How the titles of two papers by the same people say that they are one work; empty if they do not."""
    if left.words == right.words and len(left.words) >= 3:
        return "same words in the title"
    same_tail = left.tail and left.tail in (right.tail, right.title) and len(left.tail.split()) >= 4
    if (same_tail or (right.tail == left.title and len(right.tail.split()) >= 3)) and text >= 0.1:
        return "same title but for its head"
    inside = min(len(left.words), len(right.words)) >= 3 and (left.words <= right.words or right.words <= left.words)
    if inside and title >= 0.5 and text >= 0.4:
        return "one title is part of the other"
    if (title >= 0.6 and text >= 0.6) or (title >= 0.75 and text >= 0.4):
        return "similar title"
    if contained >= 0.8 and title >= 0.5:
        return "similar title, and one abstract is part of the other"
    return ""


def _shared_words(text: float, authors: float | None) -> tuple[str, ...]:
    words = [f"{text:.0%} of the abstract's phrases shared"]
    if authors is not None and authors > 0:
        words.append("same authors" if authors >= 0.99 else f"{authors:.0%} of the authors shared")
    return tuple(words)


def _jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    return len(left & right) / len(left | right) if left and right else 0.0


def _counted_apart(left: str, right: str) -> str:
    """The numbers or parts by which two texts tell siblings apart ("Part I", "two robots"); empty if none."""
    one, two = set(left.split()), set(right.split())
    mine, theirs = (sorted(word for word in words if _is_number(word)) for words in (one - two, two - one))
    if mine and theirs:
        return f"{' '.join(mine)} / {' '.join(theirs)}"
    # "Title" and "Title, Part II" are siblings too.
    added = (one ^ two) & {"part", "ii", "iii", "iv", "2", "3"}
    return " ".join(sorted(added)) if added and ("part" in added or not (one ^ two) - added) else ""


def _is_number(word: str) -> bool:
    return word in _NUMBERS or (len(word) <= 2 and word.isdecimal())


def _stem(word: str) -> str:
    if word in _NUMBERS or len(word) <= 4:
        return word
    return word.removesuffix("s")[:6]


def _core(title: str) -> str:
    """The title without what is said about its status: "[RETRACTED]", "(Extended Abstract)", "- Video"."""
    title = plain(title)
    core = _STATUS.sub("", title)
    return core if len(core) >= 8 else title


def _name(author: str) -> tuple[str, str] | None:
    author = _HONORIFIC.sub("", plain(author))
    if fold(author) in _NOBODY:
        return None
    family, comma, given = author.partition(",")
    if not comma:
        given, _, family = author.strip().rpartition(" ")
    return fold(family).rpartition(" ")[2], fold(given.replace(".", " "))


def _shared_authors(left: frozenset[tuple[str, str]], right: frozenset[tuple[str, str]]) -> float | None:
    """The part of the shorter author list that is in the other; None where one list names nobody."""
    if not left or not right:
        return None
    shorter, longer = sorted((left, right), key=lambda names: (len(names), sorted(names)))
    return sum(any(_same_person(one, two) for two in longer) for one in shorter) / len(shorter)


def _same_person(one: tuple[str, str], two: tuple[str, str]) -> bool:
    if one[0] == two[0]:
        return one[1][:1] == two[1][:1] or not one[1] or not two[1]
    return set(" ".join(one).split()) == set(" ".join(two).split())


def _doi(text: str) -> str:
    match = re.search(r"10\.\d{4,9}/\S+", text)
    return match[0].rstrip(".,;").casefold() if match else ""


def _arxiv(text: str) -> str:
    match = re.search(r"(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?", text)
    return match[1] if match else ""
