"""What a library becomes, held against what it is: only the papers whose records changed are made again."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

from rag.catalogue import Catalogue, body_of, body_print
from rag.dedupe import Deduped, Memory, Works, memory_print, works
from rag.records import Paper, Printed, Split
from rag.splits import apart, audit


@dataclass(frozen=True, slots=True)
class Changes:
    """The difference between the papers of the catalogue and those of the records there are."""

    papers: dict[str, Paper]
    """Those made again, by id; all others are as the catalogue has them."""
    rest: list[str]
    """The ids of those others."""
    fresh: list[Paper]
    altered: list[Paper]
    """Of an id the catalogue has, with another body."""
    reworded: list[Paper]
    """Of those, the ones with another title or abstract, which are embedded and found by their words anew; the others
    have only moved, or are said to be by others, or elsewhere."""
    gone: Collection[str]
    added: int
    changed: int
    removed: int
    duplicates: int
    corpus: str
    """A print of all papers there will be."""
    _made: dict[str, tuple[str, str]]
    _merges: list[dict[str, object]]
    _memory: Memory
    _prints: set[str]

    @property
    def count(self) -> int:
        """Papers there will be."""
        return len(self.papers) + len(self.rest)

    def write(self, catalogue: Catalogue) -> None:
        """Puts them into the catalogue, within its transaction."""
        catalogue.write_papers([*self.fresh, *self.altered], remove=self.gone)
        catalogue.write_made(self._made, remove=self.gone)
        catalogue.write_merges(self._merges)
        known, strangers = catalogue.known_prints(), catalogue.strangers()
        catalogue.write_known(self._memory.learnt, remove=known - self._prints)
        catalogue.write_strangers(self._memory.met - strangers, remove=strangers - self._memory.met)
        catalogue.write_meta({"memory": memory_print()})


def changes(catalogue: Catalogue, records: Sequence[Printed], splits: list[Split], *, rebuild: bool = False) -> Changes:
    """The changes that make the papers of ``catalogue`` those of ``records``.

    The result is that of deciding anew for all; with ``rebuild`` that is done, and all papers are made again.
    """
    old = catalogue.made()
    memory = Memory()
    if not rebuild and catalogue.meta().get("memory") == memory_print():
        memory = Memory(catalogue.known(), catalogue.strangers())
    found = works(records, apart=apart(splits), memory=memory)
    touched = [i for i, made_of in found.made.items() if rebuild or old.get(i, ("", ""))[0] != made_of]
    unique = found.deduped(touched)
    new = {p.paper_id: p for p in unique.papers}
    made = {i: (found.made[i], body_print(body_of(p))) for i, p in new.items()}
    gone = old.keys() - found.made.keys()
    fresh = [p for i, p in new.items() if i not in old]
    altered = [p for i, p in new.items() if i in old and old[i][1] != made[i][1]]
    before = {p.paper_id: p for p in catalogue.papers([p.paper_id for p in altered])}
    added, changed, removed = _pair_up(fresh, catalogue.papers(sorted(gone)))
    return Changes(
        papers=new,
        rest=[i for i in found.made if i not in new],
        fresh=fresh,
        altered=altered,
        reworded=[p for p in altered if _wording(p) != _wording(before[p.paper_id])],
        gone=gone,
        added=added,
        changed=changed + len(altered),
        removed=removed,
        duplicates=len(unique.duplicates),
        corpus=_corpus({i: made[i][1] if i in made else old[i][1] for i in found.made}),
        _made=made,
        _merges=[*_audit(unique), *_decisions(splits, found, unique)],
        _memory=memory,
        _prints={one.print for one in records},
    )


def _audit(unique: Deduped) -> list[dict[str, object]]:
    """Each record that was merged into a paper, and each pair of papers that share an abstract, with the reasons."""
    merges: list[dict[str, object]] = [{"kind": "merge", **asdict(d)} for d in unique.duplicates]
    return merges + [{"kind": "flag", **asdict(f)} for f in unique.flags]


def _decisions(splits: list[Split], found: Works, unique: Deduped) -> list[dict[str, object]]:
    if not splits:
        return []
    named = {i for split in splits for i in (split.record_id, *split.others)}
    homes = {d.paper_id for d in unique.duplicates if d.record_id in named}
    return audit(splits, found.deduped(found.made.keys() & (named | homes)))


def _pair_up(fresh: Sequence[Paper], gone: Sequence[Paper]) -> tuple[int, int, int]:
    """Numbers added, changed, removed: a new paper at the place, or with the title, of one that went is a change."""
    marks: dict[object, set[str]] = {}
    for paper in gone:
        for mark in _marks(paper):
            marks.setdefault(mark, set()).add(paper.paper_id)
    used: set[str] = set()
    for paper in fresh:
        candidates = {i for mark in _marks(paper) for i in marks.get(mark, ())} - used
        if candidates:
            used.add(min(candidates))
    return len(fresh) - len(used), len(used), len(gone) - len(used)


def _wording(paper: Paper) -> tuple[str, str]:
    return paper.title, paper.abstract


def _marks(paper: Paper) -> list[object]:
    titled: list[object] = [paper.title.casefold()] if paper.title else []
    keyed: list[object] = [("key", paper.key)] if paper.key else []
    return [*paper.sources, *titled, *keyed]


def _corpus(bodies: dict[str, str]) -> str:
    """A print of all papers, made of the prints of their bodies."""
    digest = hashlib.sha256()
    for paper_id in sorted(bodies):
        digest.update(f"{paper_id}\x1f{bodies[paper_id]}\x1e".encode())
    return digest.hexdigest()[:12]
