"""Merges a user undid, and took back: which records stay papers of their own, whatever speaks for one work.

A decision holds the records by their words, so that neither the order nor the place of the sources matters; a record
that is edited where it stands takes its decisions along.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from rag.catalogue import Catalogue
from rag.dedupe import Deduped, copy_ids, record_id
from rag.errors import QuestionError
from rag.fold import fold
from rag.records import Printed, Source, SourceRecord, Split


def place_of(text: str) -> Source:
    """The place that "FILE#ROW" names. Raises QuestionError where it names none."""
    file, _, row = text.rpartition("#")
    if not file or not row.isdecimal():
        raise QuestionError(f"{text!r} is no place of a record; write FILE#ROW as 'citewell duplicates' prints it")
    return Source(file, int(row))


def apart(splits: Iterable[Split]) -> frozenset[frozenset[str]]:
    """The pairs of ids that ``dedupe`` must not bring together."""
    return frozenset(frozenset((split.record_id, other)) for split in splits for other in split.others)


def with_split(catalogue: Catalogue, source: Source) -> list[Split]:
    """The decisions after the record at ``source`` was made a paper of its own, apart from all it is merged with.

    Raises QuestionError where there is no such record, or it is merged with nothing.
    """
    papers = catalogue.papers_at(source)
    if len(papers) != 1:
        why = "the library holds no paper from there" if not papers else "two files of that name were indexed"
        raise QuestionError(f"{source} cannot be split off: {why}; 'citewell papers' lists the places")
    (paper,) = papers
    merged = [m for m in catalogue.merges() if m["kind"] == "merge" and m["paper_id"] == paper.paper_id]
    if not merged:
        raise QuestionError(f"{source} is a paper of its own already, {paper.paper_id}: nothing was merged into it")
    ids = {Source(**m["source"]): str(m["record_id"]) for m in merged}
    members = {paper.paper_id, *ids.values()}
    mine = ids.get(source, paper.paper_id)
    copies = {s for s in paper.sources if ids.get(s, paper.paper_id) == mine}
    if mine == paper.paper_id and len(copies) > 1:  # the paper's own words stand at several places
        mine = _copy_id(catalogue, source, copies)
    held = {split.record_id: split for split in catalogue.splits()}
    others = {*(held[mine].others if mine in held else ()), *members} - {mine}
    held[mine] = Split(mine, tuple(sorted(others)), source)
    return list(held.values())


def without_split(catalogue: Catalogue, source: Source) -> list[Split]:
    """The decisions without the one about the record at ``source``. Raises QuestionError where there is none."""
    decided = {m["record_id"] for m in catalogue.merges() if m["kind"] == "split" and Source(**m["source"]) == source}
    if not decided:
        raise QuestionError(f"{source} was not split off; 'citewell duplicates' lists what was")
    return [split for split in catalogue.splits() if split.record_id not in decided]


def _copy_id(catalogue: Catalogue, source: Source, copies: set[Source]) -> str:
    files = [
        f.path
        for f in catalogue.files().values()
        if any(s.file == f.name or s.file.startswith(f"{f.name}/") for s in copies)
    ]
    found = [one for path in files for one in catalogue.records(path) if isinstance(one, Printed)]
    records = [one.record for one in found if one.source in copies]
    return next(i for record, i in copy_ids(records) if record.source == source)


def carried(splits: Sequence[Split], old: Sequence[Printed], new: Sequence[Printed]) -> list[Split]:
    """The decisions, also for the records that came in the place of decided ones when their files changed.

    ``old`` and ``new`` are what the changed files held and hold. A record's successor is one that says the same (its
    file was renamed), else one with its key, else with its title, else in its row.
    """
    before, after = ({(one.source.file, one.print) for one in some} for some in (old, new))
    lost = copy_ids(one.record for one in old if (one.source.file, one.print) not in after)
    appeared = copy_ids(one.record for one in new if (one.source.file, one.print) not in before)
    decided = {i for split in splits for i in (split.record_id, *split.others)}
    heirs: dict[str, str] = {}
    for record, copy in lost:
        known = {record_id(record), copy} & decided
        heir = _heir(record, appeared, taken=heirs.values()) if known else None
        if heir is not None:
            identity = record_id(heir[0])
            heirs.update(dict.fromkeys(known, identity))
            if copy in known and identity == record_id(record):  # the same words, kept apart by their place
                heirs[copy] = heir[1]
    found: dict[str, Split] = {}
    for split in splits:
        others = {*split.others, *(heirs[i] for i in split.others if i in heirs)}
        for identity in (split.record_id, heirs.get(split.record_id, split.record_id)):
            earlier = found[identity].others if identity in found else ()
            found[identity] = Split(identity, tuple(sorted({*others, *earlier} - {identity})), split.source)
    return list(found.values())


def _heir(
    record: SourceRecord, appeared: Iterable[tuple[SourceRecord, str]], *, taken: Collection[str]
) -> tuple[SourceRecord, str] | None:
    """The successor of ``record`` with its copy id, at its row rather than another; None where there is none."""
    for same in _SAME:
        found = [(new, copy) for new, copy in appeared if copy not in taken and same(record, new)]
        if found:
            return min(found, key=lambda heir: (heir[0].source.row != record.source.row, heir[0].source))
    return None


_SAME = (
    lambda old, new: old == replace(new, source=old.source),
    lambda old, new: bool(old.key) and (old.source.file, old.key) == (new.source.file, new.key),
    lambda old, new: bool(old.title) and fold(old.title) == fold(new.title),
    lambda old, new: old.source == new.source,
)


def audit(splits: Iterable[Split], unique: Deduped) -> list[dict[str, object]]:
    """Each decision as it is printed: where the record stands now, in which paper, and from which it is kept apart.

    ``paper_id`` is None for a record that is in no source at present.
    """
    homes = {d.record_id: d.paper_id for d in unique.duplicates} | {p.paper_id: p.paper_id for p in unique.papers}
    places = {d.record_id: d.source for d in unique.duplicates} | {p.paper_id: p.sources[0] for p in unique.papers}
    sources = {p.paper_id: p.sources for p in unique.papers}
    found: list[dict[str, object]] = []
    for split in splits:
        home = homes.get(split.record_id)
        stays = home is None or split.source in sources[home]
        source = split.source if stays else places[split.record_id]
        others = sorted({homes[i] for i in split.others if i in homes} - {home})
        found.append(
            {
                "kind": "split",
                "source": {"file": source.file, "row": source.row},
                "record_id": split.record_id,
                "paper_id": home,
                "apart_from": others,
            }
        )
    return found
