"""Records to papers: one paper a work, every merge and every doubt accounted for."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from rag.facets import Facets, facets, strong_keys, weak_keys
from rag.fold import fold
from rag.label import label
from rag.names import name
from rag.records import Paper, Source, SourceRecord
from rag.shingles import candidates, shingle
from rag.works import Judgement, judge, likeness

_TEXT_FLOOR = 0.2
_TITLE_FLOOR = 0.4
_WIDE_BLOCK = 40


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


@dataclass(frozen=True, slots=True)
class _Edition:
    """All records with one title and abstract, after folding."""

    record_id: str
    records: tuple[SourceRecord, ...]
    facets: Facets


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
    editions = _editions(records, frozenset(itertools.chain.from_iterable(apart)))
    edges, foreign = _judged(editions, _pairs(editions))
    clusters = _Clusters(editions, apart)
    for (left, right), _ in sorted(edges.items(), key=lambda edge: (-edge[1].strength, edge[0])):
        clusters.join(left, right)
    papers: list[Paper] = []
    duplicates: list[Duplicate] = []
    paper_ids: dict[int, str] = {}
    for members in clusters.groups():
        best = max(members, key=lambda index: _richness(editions[index]))
        paper, rest = _merged([editions[best], *(editions[index] for index in members if index != best)])
        papers.append(paper)
        paper_ids.update(dict.fromkeys(members, paper.paper_id))
        for edition, record in rest:
            link = _link(edition, editions[best], editions, members)
            duplicates.append(Duplicate(record.source, edition.record_id, paper.paper_id, link.reasons, link.scores))
    flags: dict[tuple[str, str], Flag] = {}
    for (left, right), found in sorted(foreign.items(), key=lambda item: item[0]):
        one, two = sorted((paper_ids[left], paper_ids[right]))
        if one != two:
            flags[one, two] = Flag(one, two, f"abstract may belong to another paper: {found.reasons[0]}", found.scores)
    return Deduped(
        papers=tuple(sorted(papers, key=lambda paper: (paper.sources[0], paper.paper_id))),
        duplicates=tuple(sorted(duplicates, key=lambda item: (item.source, item.record_id))),
        flags=tuple(flag for _, flag in sorted(flags.items())),
        records=len(papers) + len(duplicates),
    )


def _editions(records: Iterable[SourceRecord], decided: frozenset[str]) -> list[_Edition]:
    """The records by their words, in the order of their ids, so that nothing after depends on the input's order.

    Copies whose ids are in ``decided`` are editions of their own.
    """
    grouped: dict[str, list[SourceRecord]] = defaultdict(list)
    words: dict[str, tuple[str, str]] = {}
    for record in records:
        title, abstract = fold(record.title), fold(record.abstract)
        identity = _identify(title, abstract)
        grouped[identity].append(record)
        words[identity] = title, abstract
    for identity in decided & grouped.keys():
        for record, copy in copy_ids(grouped[identity]):
            if copy in decided:
                grouped[identity].remove(record)
                grouped[copy].append(record)
                words[copy] = words[identity]
        if not grouped[identity]:
            del grouped[identity]
    ids = sorted(grouped)
    editions = []
    for identity, shingles in zip(ids, shingle(words[identity][1] for identity in ids), strict=True):
        group = tuple(sorted(grouped[identity], key=_rank)) if len(grouped[identity]) > 1 else tuple(grouped[identity])
        editions.append(_Edition(identity, group, facets(group, words[identity][1], shingles)))
    return editions


def _identify(title: str, abstract: str) -> str:
    return sha256(f"{title}\n{abstract}".encode("utf-8", "replace")).hexdigest()[:12]


def _rank(record: SourceRecord) -> tuple[int, Source, str]:
    return -_metadata(record), record.source, repr(record)


def _metadata(record: SourceRecord) -> int:
    fields = (record.authors, record.venue, record.year, record.keywords, record.doi, record.arxiv, record.url)
    return sum(map(bool, fields))


def _pairs(editions: Sequence[_Edition]) -> set[tuple[int, int]]:
    """Index pairs (i < j) that are worth a judgement."""
    pairs = candidates([edition.facets.shingles for edition in editions], floor=_TEXT_FLOOR)
    rarity = Counter(word for edition in editions for word in edition.facets.words)
    pairs.update(_blocked(set(strong_keys(edition.facets)) for edition in editions))
    words = [edition.facets.words for edition in editions]
    for left, right in _blocked(set(weak_keys(edition.facets, rarity)) for edition in editions):
        if likeness(words[left], words[right]) >= _TITLE_FLOOR:
            pairs.add((left, right))
    return pairs


def _blocked(keys: Iterable[set[str]]) -> Iterator[tuple[int, int]]:
    """The index pairs that share a key; of a wide block only neighbours, to stay linear."""
    blocks: dict[str, list[int]] = defaultdict(list)
    for index, found in enumerate(keys):
        for key in found:
            blocks[key].append(index)
    for block in blocks.values():
        yield from itertools.combinations(block, 2) if len(block) <= _WIDE_BLOCK else itertools.pairwise(block)


def _judged(
    editions: Sequence[_Edition], pairs: Iterable[tuple[int, int]]
) -> tuple[dict[tuple[int, int], Judgement], dict[tuple[int, int], Judgement]]:
    """The pairs that are one work, and those where one abstract is probably foreign."""
    same, foreign = {}, {}
    for left, right in pairs:
        found = judge(editions[left].facets, editions[right].facets)
        if found.same:
            same[left, right] = found
        elif found.foreign:
            foreign[left, right] = found
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
    best = edition.records[0]
    length = min(len(best.abstract), 2400) // 150
    unmarked = fold(best.title) == edition.facets.title  # neither retracted nor an extended abstract
    return bool(edition.facets.title), length, unmarked, _metadata(best), best.year or 0, edition.record_id


def _merged(editions: Sequence[_Edition]) -> tuple[Paper, list[tuple[_Edition, SourceRecord]]]:
    """The paper of ``editions``, the best one first, and the records that are not its own."""
    pairs = [(edition, record) for edition in editions for record in edition.records]
    records = [record for _, record in pairs]
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
        sources=tuple(sorted({record.source for record in records})),
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
