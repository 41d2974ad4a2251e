"""Merges a user undid: what becomes of the papers, now and at every later run."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import splits
from rag.catalogue import Catalogue
from rag.dedupe import copy_ids, dedupe, record_id
from rag.errors import IndexStateError, QuestionError
from rag.records import Source, SourceRecord, Split
from rag.sync import CATALOGUE, Report, decide, sync

GRAPHS = "We propose GraphFoo, a method that prunes large graphs quickly. It needs no training at all."
TREES = "We study BarTree, a family of trees with many leaves. Its depth grows slowly under mild assumptions."
LEAVES = (
    "title,authors,abstract\n"
    'Leaves of wide trees,Ann Lee,"We count the leaves of wide trees, and find many more than one would think."\n'
    'Leaves of wide trees,Ann Lee,"Counting anew with a better tool we see that the bound was far too generous."\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "libraries" / "mine"


@pytest.fixture
def index(folder: Path, fake) -> Callable[..., Report]:  # type: ignore[no-untyped-def]
    return lambda *paths, **options: replace(
        sync(folder, paths, lambda: fake, embedder_print=fake.fingerprint, **options), seconds=0.0
    )


@pytest.fixture
def keep(folder: Path, fake) -> Callable[..., list[Source]]:  # type: ignore[no-untyped-def]
    """Decides about a place; gives the places of the paper the record is in then."""

    def kept(place: str, *, apart: bool) -> list[Source]:
        found = decide(folder, splits.place_of(place), lambda: fake, embedder_print=fake.fingerprint, apart=apart)
        return list(found[1].sources)

    return kept


def places(folder: Path) -> list[list[str]]:
    """The places of every paper."""
    return sorted(sorted(map(str, paper.sources)) for paper in Catalogue(folder / CATALOGUE).papers())


def decisions(folder: Path) -> list[dict[str, Any]]:
    return [item for item in Catalogue(folder / CATALOGUE).merges() if item["kind"] == "split"]


TOGETHER = [["one.txt#1"], ["one.txt#2", "two.txt#1"], ["two.txt#2"]]
APART = [["one.txt#1"], ["one.txt#2"], ["two.txt#1"], ["two.txt#2"]]


@pytest.mark.parametrize("place", ["one.txt#2", "two.txt#1"])
def test_the_same_words_at_two_places_become_two_papers_and_one_again(
    index, keep, folder, sources, fake, place
) -> None:  # type: ignore[no-untyped-def]
    index(sources)
    whole, fake.calls = Catalogue(folder / CATALOGUE).papers(), []
    assert keep(place, apart=True) == [splits.place_of(place)]
    assert places(folder) == APART
    assert fake.encoded == [TREES]  # what changed, nothing else
    assert keep(place, apart=False) == [Source("one.txt", 2), Source("two.txt", 1)]
    assert Catalogue(folder / CATALOGUE).papers() == whole
    assert decisions(folder) == []


def test_a_split_survives_indexing_again_rebuilding_and_the_other_order(index, keep, folder, sources) -> None:  # type: ignore[no-untyped-def]
    one, two = sources / "one.txt", sources / "two.txt"
    index(one, two)
    keep("two.txt#1", apart=True)
    for options in ({}, {"rebuild": True}):
        assert index(two, one, **options) == Report(4, 4, 0, (), 0, 0, 0, 4, 4 if options else 0, 0.0)
        assert places(folder) == APART
    os.utime(one, (1, 1))
    two.write_text(f"We add a paper before. It has nothing to do with trees.\n\n{two.read_text()}")
    index()
    assert ["one.txt#2"] in places(folder)
    assert ["two.txt#2"] in places(folder)
    assert [d["source"] for d in decisions(folder)] == [{"file": "two.txt", "row": 2}]
    keep("two.txt#2", apart=False)
    assert ["one.txt#2", "two.txt#2"] in places(folder)


@pytest.mark.parametrize("place", ["one.txt#2", "two.txt#1"])
def test_a_copy_stays_apart_when_its_file_is_renamed(index, keep, folder, sources, place) -> None:  # type: ignore[no-untyped-def]
    index(sources)
    keep(place, apart=True)
    (sources / "one.txt").rename(sources / "uno.txt")
    index()
    assert places(folder) == [["two.txt#1"], ["two.txt#2"], ["uno.txt#1"], ["uno.txt#2"]]
    (sources / "two.txt").rename(sources / "dos.txt")
    (sources / "uno.txt").rename(sources / "eins.txt")
    index()
    assert places(folder) == [["dos.txt#1"], ["dos.txt#2"], ["eins.txt#1"], ["eins.txt#2"]]
    (now,) = [d["source"] for d in decisions(folder) if d["paper_id"]]
    keep(f"{now['file']}#{now['row']}", apart=False)
    assert ["dos.txt#1", "eins.txt#2"] in places(folder)


def test_equal_rows_of_a_file_stay_apart_when_it_is_renamed(index, keep, folder, sources) -> None:  # type: ignore[no-untyped-def]
    (sources / "twice.txt").write_text(f"{GRAPHS}\n\n{TREES}\n\n{TREES}\n")
    index(sources / "twice.txt", sources / "twice.txt")
    keep("twice.txt#3", apart=True)
    (sources / "twice.txt").rename(sources / "again.txt")
    index(sources / "again.txt")
    assert places(folder) == [["again.txt#1"], ["again.txt#2"], ["again.txt#3"]]


def test_a_split_waits_for_a_source_that_comes_back(index, keep, folder, sources) -> None:  # type: ignore[no-untyped-def]
    index(sources)
    keep("two.txt#1", apart=True)
    held = (sources / "two.txt").read_text()
    (sources / "two.txt").unlink()
    index()
    assert [(d["paper_id"], d["source"]) for d in decisions(folder)] == [(None, {"file": "two.txt", "row": 1})]
    (sources / "two.txt").write_text(held)
    index()
    assert places(folder) == APART


def test_versions_of_one_work_are_split_and_an_edited_one_stays_so(index, keep, folder, sources) -> None:  # type: ignore[no-untyped-def]
    table = sources / "table.csv"
    table.write_text(LEAVES)
    index(table)
    assert places(folder) == [["table.csv#1", "table.csv#2"]]
    keep("table.csv#2", apart=True)
    assert places(folder) == [["table.csv#1"], ["table.csv#2"]]
    for was, now in (("a better tool", "a sharper tool"), ("We count", "We number"), ("sharper", "blunter")):
        table.write_text(table.read_text().replace(was, now))
        index()
        assert places(folder) == [["table.csv#1"], ["table.csv#2"]]
    keep("table.csv#2", apart=False)
    assert places(folder) == [["table.csv#1", "table.csv#2"]]


def test_the_list_names_the_decision(index, keep, folder, sources) -> None:  # type: ignore[no-untyped-def]
    index(sources)
    keep("two.txt#1", apart=True)
    (paper,) = Catalogue(folder / CATALOGUE).papers_at(Source("two.txt", 1))
    trees = record_id(SourceRecord(Source("", 1), TREES))
    assert Catalogue(folder / CATALOGUE).merges() == [
        {
            "kind": "split",
            "source": {"file": "two.txt", "row": 1},
            "record_id": paper.paper_id,
            "paper_id": paper.paper_id,
            "apart_from": [trees],
        }
    ]


@pytest.mark.parametrize(
    ("place", "apart", "said"),
    [
        ("one.txt", True, "'one.txt' is no place of a record; write FILE#ROW as 'citewell duplicates' prints it"),
        ("one.txt#9", True, "one.txt#9 cannot be split off: the library holds no paper from there; .*"),
        ("one.txt#1", True, "one.txt#1 is a paper of its own already, [0-9a-f]{12}: nothing was merged into it"),
        ("one.txt#2", False, "one.txt#2 was not split off; 'citewell duplicates' lists what was"),
    ],
)
def test_what_cannot_be_decided_is_said_and_changes_nothing(index, keep, folder, sources, place, apart, said) -> None:  # type: ignore[no-untyped-def]
    index(sources)
    with pytest.raises(QuestionError, match=said):
        keep(place, apart=apart)
    assert places(folder) == TOGETHER


def test_nothing_is_decided_where_nothing_was_indexed(keep, folder: Path) -> None:
    with pytest.raises(IndexStateError, match="has not been indexed"):
        keep("one.txt#1", apart=True)
    assert not folder.exists()


def test_a_library_of_the_first_format_is_brought_up_to_date(index, keep, folder, sources) -> None:  # type: ignore[no-untyped-def]
    index(sources)
    with sqlite3.connect(folder / CATALOGUE) as database:
        for table in ("splits", "fields", "prints", "made", "known", "strangers"):
            database.execute(f"DROP TABLE {table}")
        database.execute("PRAGMA user_version=1")
    database.close()
    keep("two.txt#1", apart=True)
    assert places(folder) == APART


WORDS = [GRAPHS, TREES, TREES.replace("slowly", "very slowly"), TREES.replace("many leaves", "few leaves")]
RECORDS = st.builds(
    SourceRecord,
    source=st.builds(Source, st.sampled_from(["a", "b"]), st.integers(1, 9)),
    abstract=st.sampled_from(WORDS),
    title=st.sampled_from(["", "Trees of many leaves"]),
    authors=st.sampled_from([(), ("Ann Lee",)]),
)


@given(st.lists(RECORDS, min_size=2, max_size=8, unique_by=lambda r: r.source), st.data())
def test_a_copy_or_version_that_is_split_is_never_with_what_it_was_with(records: list[SourceRecord], data: Any) -> None:
    whole = dedupe(records)
    papers = [paper for paper in whole.papers if len(paper.sources) > 1]
    if not papers:
        return
    paper = data.draw(st.sampled_from(papers))
    source = data.draw(st.sampled_from(paper.sources))
    ids = {d.source: d.record_id for d in whole.duplicates}
    mine = ids.get(source, paper.paper_id)
    copies = [r for r in records if r.source in paper.sources and ids.get(r.source, paper.paper_id) == mine]
    if mine == paper.paper_id and len(copies) > 1:
        mine = next(i for r, i in copy_ids(copies) if r.source == source)
    members = {paper.paper_id, *(d.record_id for d in whole.duplicates if d.paper_id == paper.paper_id)} - {mine}
    apart = splits.apart([Split(mine, tuple(sorted(members)), source)])
    found = dedupe(records, apart=apart)
    assert sorted(s for p in found.papers for s in p.sources) == sorted(r.source for r in records)
    assert len({p.paper_id for p in found.papers}) == len(found.papers)
    (home,) = [p for p in found.papers if source in p.sources]
    along = {r.source for r in copies} if mine in ids.values() or mine == paper.paper_id else {source}
    assert not set(home.sources) & set(paper.sources) - along
    assert dedupe(reversed(records), apart=apart) == found
