"""Records to papers: one paper a work, every merge and every doubt accounted for."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from hashlib import blake2b, sha256
from pathlib import Path

from rag.facets import Facets, facets
from rag.fold import fold
from rag.label import label
from rag.names import name
from rag.records import Paper, Printed, Source, SourceRecord
from rag.shingles import shingle
from rag.traits import Traits, joined, worth_judging
from rag.works import Judgement, judge


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A record that was merged into a paper. ``{record_id, paper_id}`` in ``apart`` undoes it; where the two are
    equal the record has the paper's own title and abstract, and its id of ``copy_ids`` stands for it."""

    source: Source
    record_id: str
    paper_id: str
    reasons: tuple[str, ...]
    scores: dict[str, float]


@dataclass(frozen=True, slots=True)
class Flag:
    """Two papers, both kept, with the same abstract under other titles and authors."""

    paper_id: str
    other_id: str
    reason: str
    scores: dict[str, float]


@dataclass(frozen=True, slots=True)
class Deduped:
    """Every record is in ``papers`` or in ``duplicates``: ``records == len(papers) + len(duplicates)``."""

    papers: tuple[Paper, ...]
    """In the order of their first sources."""
    duplicates: tuple[Duplicate, ...]
    """In the order of their sources."""
    flags: tuple[Flag, ...]
    records: int


@dataclass(frozen=True)
class _Edition:
    """All records with one title and abstract, after folding."""

    record_id: str
    records: tuple[Printed, ...]
    print: str
    """Equal for equal records, wherever they stand."""
    traits: bytes
    fresh: Facets | None

    @cached_property
    def facets(self) -> Facets:
        if self.fresh is not None:
            return self.fresh
        records = [one.record for one in self.records]
        abstract = fold(records[0].abstract)
        return facets(records, abstract, next(shingle([abstract])))


@dataclass(slots=True)
class Memory:
    """What was worked out in earlier runs and is not worked out again. It changes no result, only how long it takes.

    It holds for the code that ``memory_print`` stands for.
    """

    records: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """Record id and traits of records, by their prints."""
    strangers: set[tuple[str, str]] = field(default_factory=set)
    """Prints of editions that were judged to be two works."""
    learnt: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """What a run adds to ``records``."""
    met: set[tuple[str, str]] = field(default_factory=set)
    """The strangers a run came by, the known ones too."""


def record_id(record: SourceRecord) -> str:
    """12 hex digits that stand for the record's words: its folded title and abstract."""
    return _identify(fold(record.title), fold(record.abstract))


def copy_ids(records: Iterable[SourceRecord]) -> list[tuple[SourceRecord, str]]:
    """Records of one title and abstract, each with 12 hex digits that tell it from the others by all its fields, its
    file and, where all those are equal, its turn."""
    turns: Counter[str] = Counter()
    found = []
    for record in sorted(records, key=lambda record: (record.source, repr(record))):
        fields = repr(replace(record, source=Source(record.source.file, 0)))
        turns[fields] += 1
        found.append((record, sha256(f"{turns[fields]} {fields}".encode("utf-8", "replace")).hexdigest()[:12]))
    return found


def dedupe(records: Iterable[SourceRecord], *, apart: frozenset[frozenset[str]] = frozenset()) -> Deduped:
    """Merge the records of one work. The order of ``records`` does not matter.

    ``apart`` holds pairs of record, copy or paper ids that are never merged, as a user decided.
    """
    found = works(map(printed, records), apart=apart)
    return found.deduped(found.made)


def works(
    records: Iterable[Printed],
    *,
    apart: frozenset[frozenset[str]] = frozenset(),
    memory: Memory | None = None,
) -> Works:
    """As ``dedupe``, but records that ``memory`` knows are not looked at until something is made of their work."""
    memory = memory or Memory()
    editions = _editions(list(records), frozenset(itertools.chain.from_iterable(apart)), memory)
    edges, foreign = _judged(editions, memory)
    clusters = _Clusters(editions, apart)
    for (left, right), _ in sorted(edges.items(), key=lambda edge: (-edge[1].strength, edge[0])):
        clusters.join(left, right)
    groups: dict[str, list[int]] = {}
    for members in clusters.groups():
        best = max(members, key=lambda index: _richness(editions[index])) if len(members) > 1 else members[0]
        groups[editions[best].record_id] = [best, *(index for index in members if index != best)]
    return Works(editions, groups, foreign)


class Works:
    """The works among some records: for each paper its editions, the one it takes its name from first."""

    def __init__(
        self,
        editions: Sequence[_Edition],
        groups: dict[str, list[int]],
        foreign: dict[tuple[int, int], Judgement],
    ) -> None:
        self._editions = editions
        self._groups = groups
        self._foreign = foreign

    def __len__(self) -> int:
        return len(self._groups)

    @cached_property
    def made(self) -> dict[str, str]:
        """By paper id, a print of all a paper is made of: its records and where they stand."""
        found = {}
        for paper_id, members in self._groups.items():
            parts = (
                f"{e.print} {' '.join(str(r.source) for r in e.records)}"
                for e in map(self._editions.__getitem__, members)
            )
            found[paper_id] = _digest("\n".join((memory_print(), *parts)))
        return found

    def deduped(self, paper_ids: Collection[str]) -> Deduped:
        """The papers of ``paper_ids``, and what was merged and flagged in all of the library."""
        papers = [self._merged(i)[0] for i in paper_ids]
        duplicates: list[Duplicate] = []
        for paper_id, members in self._groups.items():
            if len(members) == 1 and len(self._editions[members[0]].records) == 1:
                continue
            for edition, record in self._merged(paper_id)[1]:
                link = _link(edition, self._editions[members[0]], self._editions, members)
                duplicates.append(Duplicate(record.source, edition.record_id, paper_id, link.reasons, link.scores))
        return Deduped(
            papers=tuple(sorted(papers, key=lambda paper: (paper.sources[0], paper.paper_id))),
            duplicates=tuple(sorted(duplicates, key=lambda item: (item.source, item.record_id))),
            flags=self._flags(),
            records=len(self._groups) + len(duplicates),
        )

    def _merged(self, paper_id: str) -> tuple[Paper, list[tuple[_Edition, Printed]]]:
        return _merged([self._editions[index] for index in self._groups[paper_id]])

    def _flags(self) -> tuple[Flag, ...]:
        homes = {index: paper_id for paper_id, members in self._groups.items() for index in members}
        flags: dict[tuple[str, str], Flag] = {}
        for (left, right), found in sorted(self._foreign.items(), key=lambda item: item[0]):
            one, two = sorted((homes[left], homes[right]))
            if one != two:
                reason = f"abstract may belong to another paper: {found.reasons[0]}"
                flags[one, two] = Flag(one, two, reason, found.scores)
        return tuple(flag for _, flag in sorted(flags.items()))


def _editions(records: Sequence[Printed], decided: frozenset[str], memory: Memory) -> list[_Edition]:
    """The records by their words, in the order of their ids, so that nothing after depends on the input's order.

    Copies whose ids are in ``decided`` are editions of their own.
    """
    fresh = _learn(records, memory)
    known = {**memory.records, **memory.learnt} if memory.learnt else memory.records
    grouped: dict[str, list[Printed]] = defaultdict(list)
    for one in records:
        grouped[known[one.print][0]].append(one)
    for identity in decided & grouped.keys():
        holders = {id(one.record): one for one in grouped[identity]}
        for record, copy in copy_ids(one.record for one in grouped[identity]):
            if copy in decided:
                grouped[identity].remove(holders[id(record)])
                grouped[copy].append(holders[id(record)])
        if not grouped[identity]:
            del grouped[identity]
    editions = []
    for identity in sorted(grouped):
        group = grouped[identity]
        if len(group) > 1:
            group = sorted(group, key=lambda one: _rank(one.record))
        prints = [one.print for one in group]
        bodies = [known[content][1] for content in dict.fromkeys(prints)]
        editions.append(
            _Edition(
                identity,
                tuple(group),
                prints[0] if len(group) == 1 else _digest(" ".join(prints)),
                joined(bodies),
                fresh.get(prints[0]) if len(group) == 1 else None,
            )
        )
    return editions


def _learn(records: Iterable[Printed], memory: Memory) -> dict[str, Facets]:
    """Adds to ``memory`` what it does not know of the records; their facets, since they may be needed at once."""
    new = {one.print: one.record for one in records if one.print not in memory.records}
    folded = [(fold(record.title), fold(record.abstract)) for record in new.values()]
    shingles = shingle(abstract for _, abstract in folded)
    found = [
        facets((record,), abstract, held)
        for record, (_, abstract), held in zip(new.values(), folded, shingles, strict=True)
    ]
    for content, words, traits in zip(new, folded, Traits.of(found), strict=True):
        memory.learnt[content] = _identify(*words), traits.dump()
    return dict(zip(new, found, strict=True))


def printed(record: SourceRecord) -> Printed:
    """A record that is there, by a print of what it says."""
    fields = (record.abstract, record.title, record.authors, record.venue, record.year, record.keywords)
    content = _digest(repr((*fields, record.doi, record.arxiv, record.url, record.key)))
    return Printed.of(content, record)


@cache
def memory_print() -> str:
    """Stands for the code that papers, and what a ``Memory`` holds, come of: another code, another print."""
    names = ("dedupe", "facets", "fold", "label", "latex", "names", "records", "shingles", "traits", "works")
    files = (Path(__file__).with_name(f"{name}.py") for name in names)
    return _digest("".join(path.read_text("utf-8") for path in files if path.exists()))


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _identify(title: str, abstract: str) -> str:
    return sha256(f"{title}\n{abstract}".encode("utf-8", "replace")).hexdigest()[:12]


def _rank(record: SourceRecord) -> tuple[int, Source, str]:
    return -_metadata(record), record.source, repr(record)


def _metadata(record: SourceRecord) -> int:
    fields = (record.authors, record.venue, record.year, record.keywords, record.doi, record.arxiv, record.url)
    return sum(map(bool, fields))


def _judged(
    editions: Sequence[_Edition], memory: Memory
) -> tuple[dict[tuple[int, int], Judgement], dict[tuple[int, int], Judgement]]:
    """The pairs that are one work, and those where one abstract is probably foreign."""
    same, foreign = {}, {}
    for left, right in worth_judging([edition.traits for edition in editions]).tolist():
        prints = editions[left].print, editions[right].print
        if prints not in memory.strangers:
            found = judge(editions[left].facets, editions[right].facets)
            if found.same:
                same[left, right] = found
                continue
            if found.foreign:
                foreign[left, right] = found
                continue
        memory.met.add(prints)
    return same, foreign


class _Clusters:
    """Union-find over editions that never brings two together that must stay apart."""

    def __init__(self, editions: Sequence[_Edition], apart: frozenset[frozenset[str]]) -> None:
        self._editions = editions
        self._apart = apart
        self._members = {index: [index] for index in range(len(editions))}
        self._root = list(range(len(editions)))

    def join(self, left: int, right: int) -> None:
        """Unite the clusters of two editions unless a user or the evidence bars a pair of their members."""
        mine, theirs = self._root[left], self._root[right]
        if mine == theirs or any(
            self._barred(one, two) for one in self._members[mine] for two in self._members[theirs]
        ):
            return
        for index in self._members[theirs]:
            self._root[index] = mine
        self._members[mine] += self._members.pop(theirs)

    def groups(self) -> list[list[int]]:
        return [sorted(group) for _, group in sorted(self._members.items())]

    def _barred(self, left: int, right: int) -> bool:
        one, two = self._editions[left], self._editions[right]
        return frozenset((one.record_id, two.record_id)) in self._apart or judge(one.facets, two.facets).barred


def _richness(edition: _Edition) -> tuple[bool, int, bool, int, int, str]:
    # An abstract beyond 2,400 characters is no richer: it runs on into the paper's body.
    best = edition.records[0].record
    length = min(len(best.abstract), 2400) // 150
    unmarked = fold(best.title) == edition.facets.title  # neither retracted nor an extended abstract
    return bool(edition.facets.title), length, unmarked, _metadata(best), best.year or 0, edition.record_id


def _merged(editions: Sequence[_Edition]) -> tuple[Paper, list[tuple[_Edition, Printed]]]:
    """The paper of ``editions``, the best one first, and the records that are not its own."""
    pairs = [(edition, one) for edition in editions for one in edition.records]
    records = [one.record for _, one in pairs]
    first = records[0]
    named = [record.authors for record in records if any(map(name, record.authors))]
    paper = Paper(
        paper_id=editions[0].record_id,
        label=label(first.title if editions[0].facets.title else "", first.abstract),
        abstract=first.abstract,
        title=first.title,
        authors=tuple(dict.fromkeys(named[0] if named else first.authors)),  # some lists name everybody twice
        venue=next((record.venue for record in records if record.venue), ""),
        year=next((record.year for record in records if record.year is not None), None),
        keywords=next((record.keywords for record in records if record.keywords), ()),
        doi=next((record.doi for record in records if record.doi), ""),
        arxiv=next((record.arxiv for record in records if record.arxiv), ""),
        url=next((record.url for record in records if record.url), ""),
        key=next((record.key for record in records if record.key), ""),
        sources=tuple(sorted({one.source for _, one in pairs})),
    )
    return paper, pairs[1:]


def _link(edition: _Edition, best: _Edition, editions: Sequence[_Edition], members: Sequence[int]) -> Judgement:
    """Why an edition belongs to the paper: its likeness to the paper's own record, else to the nearest other."""
    if edition is best:
        if edition.facets.title:
            return Judgement(True, ("same title", "same abstract"), {"text": 1.0, "title": 1.0})
        return Judgement(True, ("same abstract",), {"text": 1.0})
    direct = judge(edition.facets, best.facets)
    if direct.same:
        return direct
    others = [judge(edition.facets, editions[index].facets) for index in members if editions[index] is not edition]
    linked = [found for found in others if found.same]
    return max(linked, key=lambda found: (found.strength, found.reasons), default=direct)
