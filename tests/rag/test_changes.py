from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag import changes as changing
from rag import dedupe as deduping
from rag.catalogue import Catalogue
from rag.changes import changes
from rag.dedupe import Memory, dedupe, printed, works
from rag.records import Paper, Printed, Source, SourceRecord

GRAPHS = "We propose GraphFoo, a method that prunes large graphs quickly. It needs no training at all."
TREES = (
    "We study BarTree, a family of trees with many leaves. Its depth grows slowly under mild assumptions, as we prove by"
    " a coupling of two walks on the leaves, and experiments on three data sets bear the theory out in every detail."
)
RECORDS = st.builds(
    SourceRecord,
    source=st.builds(Source, st.sampled_from(["a", "b"]), st.integers(1, 9)),
    abstract=st.sampled_from([GRAPHS, TREES, TREES.replace("slowly", "very slowly"), TREES.replace("many", "few")]),
    title=st.sampled_from(["", "Trees of Many Leaves", "Trees of many leaves, part II", "Pruning graphs with foo"]),
    authors=st.sampled_from([(), ("Ann Lee",), ("A. Lee", "Bo Chen"), ("Cy Doe",)]),
    year=st.sampled_from([None, 2024]),
    doi=st.sampled_from(["", "", "10.1000/x"]),
)
LISTS = st.lists(RECORDS, min_size=1, max_size=8, unique_by=lambda r: r.source)


def all_printed(records: list[SourceRecord]) -> list[Printed]:
    return [printed(r) for r in records]


@given(st.lists(LISTS, min_size=2, max_size=4))
def test_what_is_remembered_changes_no_decision(states: list[list[SourceRecord]]) -> None:
    memory = Memory()
    for records in states:
        found = works(all_printed(records), memory=memory)
        assert found.deduped(found.made) == dedupe(records)
        learnt = {**memory.records, **memory.learnt}
        prints = [one.print for one in all_printed(records)]
        memory = Memory({r: learnt[r] for r in prints}, memory.met)


@settings(max_examples=40)
@given(st.lists(LISTS, min_size=2, max_size=4))
def test_a_library_changed_step_by_step_is_that_of_a_clean_run(states: list[list[SourceRecord]]) -> None:
    catalogue, before = Catalogue(Path(":memory:")), {}
    for records in states:
        found = changes(catalogue, all_printed(records), [])
        with catalogue.transaction():
            found.write(catalogue)
        clean = Catalogue(Path(":memory:"))
        anew = changes(clean, all_printed(records), [])
        with clean.transaction():
            anew.write(clean)
        after = {p.paper_id: p for p in catalogue.papers()}
        assert after == {p.paper_id: p for p in dedupe(records).papers}
        assert (catalogue.made(), catalogue.merges()) == (clean.made(), clean.merges())
        assert (catalogue.known(), catalogue.strangers()) == (clean.known(), clean.strangers())
        assert (found.corpus, found.count, found.duplicates) == (anew.corpus, len(after), len(records) - len(after))
        assert {p.paper_id for p in found.fresh} == after.keys() - before.keys()
        assert {p.paper_id for p in found.altered} == {i for i in after if i in before and before[i] != after[i]}
        reworded = {i for i in after if i in before and wording(before[i]) != wording(after[i])}
        assert {p.paper_id for p in found.reworded} == reworded
        assert set(found.gone) == before.keys() - after.keys()
        clean.close()
        before = after
    catalogue.close()


def wording(paper: Paper) -> tuple[str, str]:
    return paper.title, paper.abstract


def records_of(count: int) -> list[SourceRecord]:
    return [
        SourceRecord(
            Source("a", n), f"We present method {n * 7919}, which sorts {n} things.", title=f"Sorting {n * 31} t"
        )
        for n in range(1, count + 1)
    ]


@pytest.fixture
def catalogue() -> Catalogue:
    return Catalogue(Path(":memory:"))


def apply(catalogue: Catalogue, records: list[SourceRecord], **options: bool) -> changing.Changes:
    found = changes(catalogue, all_printed(records), [], **options)
    with catalogue.transaction():
        found.write(catalogue)
    return found


def test_one_changed_record_is_one_paper_made_again(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    records = records_of(30)
    apply(catalogue, records)
    records[7] = replace(records[7], abstract="We present something else.")
    learnt: list[str] = []
    learn = deduping._learn
    monkeypatch.setattr(
        deduping, "_learn", lambda p, m: learnt.extend(o.print for o in p if o.print not in m.records) or learn(p, m)
    )
    found = apply(catalogue, records)
    assert learnt == [printed(records[7]).print]
    assert ([p.abstract for p in found.papers.values()], len(found.rest)) == ([records[7].abstract], 29)
    assert (found.added, found.changed, found.removed) == (0, 1, 0)


def test_code_that_decides_otherwise_decides_anew(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    records = records_of(5)
    apply(catalogue, records)
    assert len(changes(catalogue, all_printed(records), []).papers) == 0
    for module in (changing, deduping):
        monkeypatch.setattr(module, "memory_print", lambda: "other code")
    assert len(changes(catalogue, all_printed(records), []).papers) == 5
    found = apply(catalogue, records)
    assert (found.fresh, found.altered, found.changed) == ([], [], 0)


def test_a_rebuild_makes_every_paper_again(catalogue: Catalogue) -> None:
    records = records_of(5)
    apply(catalogue, records)
    found = apply(catalogue, records, rebuild=True)
    assert (len(found.papers), found.rest, found.fresh, found.altered) == (5, [], [], [])
