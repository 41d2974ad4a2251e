from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.catalogue import Catalogue, SourceFile
from rag.dedupe import printed
from rag.errors import IndexStateError
from rag.records import Chunk, Paper, Printed, Skipped, Source, SourceRecord

FULL = {
    "title": "A title",
    "authors": ("Ann Lee", "李明"),
    "venue": "ICLR",
    "year": 2026,
    "keywords": ("graphs",),
    "doi": "10.1/x",
    "arxiv": "2601.00001",
    "url": "https://a.b",
    "key": "k1",
}


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return Catalogue(tmp_path / "catalogue.sqlite")


def test_a_new_catalogue_knows_nothing(catalogue: Catalogue) -> None:
    assert (catalogue.meta(), catalogue.roots(), catalogue.files(), catalogue.papers(), catalogue.chunks()) == (
        *({}, [], {}, [], {}),
    )
    assert (catalogue.records("x"), catalogue.skipped(), catalogue.merges()) == ([], [], [])


def test_what_is_written_is_there_when_it_is_opened_again(catalogue: Catalogue) -> None:
    file = SourceFile("/r/a.txt", "/r", "a.txt", 7, 1_700_000_000_123_456_789, "ab")
    records = [
        SourceRecord(Source("a.txt", 1), "Bare."),
        Skipped("a.txt", 0, "heading"),
        SourceRecord(Source("a.txt", 2), "Full.", **FULL),
        Skipped("a.txt", None, "broken"),
    ]
    papers = [
        Paper("p2", "Two", "Full.", sources=(Source("a.txt", 2), Source("b.txt", 1)), **FULL),
        Paper("p1", "One", "Bare."),
    ]
    merge = {"kind": "merge", "source": {"file": "a.txt", "row": 1}, "reasons": ["同"]}
    with catalogue.transaction():
        catalogue.write_meta({"generation": "1"})
        catalogue.write_meta({"generation": "2", "lexical": "w"})
        catalogue.write_roots(["/s", "/r"])
        catalogue.write_file(file)
        catalogue.write_records(file.path, [r if isinstance(r, Skipped) else printed(r) for r in records])
        catalogue.write_papers(papers, remove=[])
        catalogue.write_chunks([Chunk("c1", "p1", 0, 5, "Bare."), Chunk("c2", "p2", 0, 5, "Full.")], of=["p1", "p2"])
        catalogue.write_merges([merge])
    catalogue.close()
    again = Catalogue(catalogue.path)
    assert again.meta() == {"generation": "2", "lexical": "w"}
    assert again.roots() == ["/r", "/s"]
    assert again.files() == {file.path: file}
    assert [r if isinstance(r, Skipped) else r.record for r in again.records(file.path)] == records
    held = [(r.print, r.source) for r in again.records(file.path) if isinstance(r, Printed)]
    assert held == [(printed(r).print, r.source) for r in records if isinstance(r, SourceRecord)]
    assert again.skipped() == [records[1], records[3]]
    assert again.papers() == [papers[1], papers[0]]
    assert again.chunks() == {"c1": ("p1", 0, 5), "c2": ("p2", 0, 5)}
    assert again.papers_of_chunks() == {"c1": "p1", "c2": "p2"}
    assert again.merges() == [merge]


def test_papers_come_in_the_order_asked_for_without_the_unknown(catalogue: Catalogue) -> None:
    papers = [Paper(f"p{i:04}", "L", "A") for i in range(1200)]
    with catalogue.transaction():
        catalogue.write_papers(papers, remove=[])
    wanted = [p.paper_id for p in reversed(papers)]
    assert catalogue.papers(["nobody", *wanted, "p0000"]) == [*reversed(papers), papers[0]]
    assert catalogue.papers([]) == []


def test_papers_are_replaced_and_removed(catalogue: Catalogue) -> None:
    catalogue.write_papers([Paper("a", "A", "1"), Paper("b", "B", "1")], remove=[])
    catalogue.write_papers([Paper("b", "B", "2"), Paper("c", "C", "1")], remove=["a", "nobody"])
    assert catalogue.papers() == [Paper("b", "B", "2"), Paper("c", "C", "1")]


def test_chunks_of_a_paper_are_replaced_as_a_whole(catalogue: Catalogue) -> None:
    catalogue.write_chunks([Chunk("1", "a", 0, 1, "x"), Chunk("2", "a", 1, 2, "y"), Chunk("3", "b", 0, 1, "z")], of=[])
    catalogue.write_chunks([Chunk("4", "a", 0, 2, "xy")], of=["a"])
    assert catalogue.papers_of_chunks() == {"3": "b", "4": "a"}


def test_a_removed_file_takes_its_records_along(catalogue: Catalogue) -> None:
    for path in ("/a", "/b"):
        catalogue.write_file(SourceFile(path, "/", path, 1, 1, "x"))
        catalogue.write_records(path, [Skipped(path, 1, "x")])
    catalogue.remove_file("/a")
    assert (list(catalogue.files()), catalogue.records("/a"), catalogue.skipped()) == (
        ["/b"],
        [],
        [Skipped("/b", 1, "x")],
    )


def test_a_transaction_that_fails_leaves_nothing(catalogue: Catalogue) -> None:
    catalogue.write_meta({"generation": "1"})
    with pytest.raises(KeyboardInterrupt), catalogue.transaction():  # noqa: PT012
        catalogue.write_meta({"generation": "2"})
        catalogue.write_papers([Paper("a", "A", "1")], remove=[])
        raise KeyboardInterrupt
    assert (catalogue.meta(), catalogue.papers()) == ({"generation": "1"}, [])
    with catalogue.transaction():
        catalogue.write_meta({"generation": "3"})
    assert catalogue.meta() == {"generation": "3"}


def test_a_reader_sees_the_old_state_until_the_new_one_is_whole(catalogue: Catalogue) -> None:
    catalogue.write_meta({"generation": "1"})
    reader = Catalogue(catalogue.path)
    with catalogue.transaction():
        catalogue.write_meta({"generation": "2"})
        assert reader.meta() == {"generation": "1"}
    assert reader.meta() == {"generation": "2"}


def test_threads_may_share_a_catalogue(catalogue: Catalogue) -> None:
    seen: list[int] = []

    def work(number: int) -> None:
        for turn in range(20):
            catalogue.write_papers([Paper(f"{number}-{turn}", "L", "A")], remove=[])
            seen.append(len(catalogue.papers([f"{number}-{turn}"])))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (seen, len(catalogue.papers())) == ([1] * 80, 80)


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(IndexStateError, match=r"the catalogue .*catalogue.sqlite cannot be opened \(.*not a database"):
        Catalogue(path)


def test_a_catalogue_of_a_newer_citewell_is_left_alone(catalogue: Catalogue) -> None:
    catalogue.close()
    with sqlite3.connect(catalogue.path) as raw:
        raw.execute("PRAGMA user_version=9")
    raw.close()
    with pytest.raises(IndexStateError, match=r"was made by a newer Citewell \(format 9\); update Citewell"):
        Catalogue(catalogue.path)


def test_two_who_make_the_same_catalogue_do_not_hinder_each_other(tmp_path: Path) -> None:
    barrier, faults = threading.Barrier(4), []

    def make() -> None:
        barrier.wait()
        try:
            Catalogue(tmp_path / "catalogue.sqlite").close()
        except IndexStateError as error:
            faults.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = st.lists(WORDS, max_size=3).map(tuple)
PAPERS = st.builds(
    Paper,
    paper_id=st.just("p"),
    label=WORDS.filter(bool),  # no paper lacks these two
    abstract=WORDS.filter(bool),
    title=WORDS,
    authors=NAMES,
    year=st.none() | st.integers(-1, 3000),
    keywords=NAMES,
    sources=st.lists(st.builds(Source, WORDS, st.integers(0, 9)), max_size=3).map(tuple),
)


@settings(max_examples=50)
@given(PAPERS)
def test_every_paper_survives_storage(paper: Paper) -> None:
    catalogue = Catalogue(Path(":memory:"))
    catalogue.write_papers([paper], remove=[])
    assert catalogue.papers() == [paper]
    catalogue.close()
