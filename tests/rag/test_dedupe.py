from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.dedupe import Deduped, Duplicate, Flag, dedupe, record_id
from rag.readers import read
from rag.records import Source, SourceRecord

TEXT = (
    "Snake robots move where wheels cannot. We study how the body should bend in clutter, derive a controller from the"
    " contact forces alone, and prove that it never stalls between two obstacles. In experiments on a floor strewn with"
    " posts the robot moves three times faster than with open-loop gaits, needs no map and recovers from every jam."
)
OTHER = (
    "Boosting combines weak rules into a strong one. We bound the error of a boosted tree by the margins of its leaves,"
    " show that early stopping is all the regularisation it needs, and explain why larger leaves may generalise better."
)


def record(
    row: int, abstract: str = TEXT, title: str = "", authors: tuple[str, ...] = (), **fields: object
) -> SourceRecord:
    return replace(SourceRecord(Source("f", row), abstract, title=title, authors=authors), **fields)


def rows(found: Deduped) -> list[list[int]]:
    return [[source.row for source in paper.sources] for paper in found.papers]


def test_the_seeds_hold_71_papers_and_each_double_keeps_both_places(seeds: Path) -> None:
    found = dedupe(item for item in read(seeds) if isinstance(item, SourceRecord))
    assert (found.records, len(found.papers), len(found.duplicates), found.flags) == (76, 71, 5, ())
    first, second = "000_78485c96e14bfbbe.txt", "001_3b4b1a2a6c9c9e9d.txt"
    assert [paper.sources for paper in found.papers if len(paper.sources) > 1] == [
        (Source(first, here), Source(second, there)) for here, there in ((3, 1), (4, 3), (5, 12), (6, 15), (7, 19))
    ]


def test_a_merge_keeps_the_richest_record_and_what_the_others_add() -> None:
    short = record(
        1, TEXT[:200], "Snake robots in clutter", ("A. Lee", "B. Chen"), venue="ICRA", year=2020, doi="10.1000/X"
    )
    long = record(2, TEXT, "Snake Robots in Clutter (Extended Abstract)", ("Ann Lee", "Bo Chen", "Ann Lee", "Bo Chen"))
    found = dedupe([short, long])
    (paper,) = found.papers
    assert (paper.paper_id, paper.abstract, paper.title) == (record_id(long), TEXT, long.title)
    assert (paper.authors, paper.venue, paper.year, paper.doi) == (("Ann Lee", "Bo Chen"), "ICRA", 2020, "10.1000/X")
    assert paper.sources == (Source("f", 1), Source("f", 2))
    (duplicate,) = found.duplicates
    assert duplicate == Duplicate(
        Source("f", 1),
        record_id(short),
        paper.paper_id,
        ("same title", "54% of the abstract's phrases shared", "same authors"),
        {"text": duplicate.scores["text"], "title": 1.0, "authors": 1.0},
    )


SAME = [
    (record(1), record(2, TEXT.replace("We study", "**We study**").replace("never ", "nev- er  "))),
    (record(1), record(2, TEXT.replace("three times", "four times"), "Snake robots")),
    (
        record(1, title="Withdrawn", authors=("Ann Lee",)),
        record(2, title="Snake robots in clutter", authors=("A. Lee",)),
    ),
    (record(1, title="Snake robots", authors=("Lee, Ann",)), record(2, OTHER, "Snake Robots", ("Ann Lee", "Bo Chen"))),
    (
        record(1, title="SNAKE: Moving in dense clutter", authors=("Ann Lee",)),
        record(2, title="Moving in Dense Clutter", authors=("Ann Lee",)),
    ),
    (record(1, title="Snakes", doi="10.1000/x"), record(2, title="Snakes in clutter", doi="https://doi.org/10.1000/X")),
    (record(1, title="Snakes", authors=("Anonymous",)), record(2, title="Snakes", authors=("Ann Lee",))),
    (record(1, title="[RETRACTED] Snake robots in clutter"), record(2, title="Snake robots in clutter")),
    (
        record(1, OTHER, "Snake gaits", ("Ann Lee",), arxiv="2401.00001"),
        record(2, title="Snake robot gaits", authors=("A Lee",), arxiv="2401.00001v2"),
    ),
    (
        record(1, title="Snakes in clutter", authors=("Zhang Wei",)),
        record(2, OTHER, "Snakes in clutter", ("Wei Zhang",)),
    ),
]
APART = [
    (
        record(1, title="Control of two snake robots", authors=("Ann Lee",)),
        record(2, title="Control of three snake robots", authors=("Ann Lee",)),
    ),
    (
        record(1, title="Snake robots, Part I", authors=("Ann Lee",)),
        record(2, title="Snake robots, Part II", authors=("Ann Lee",)),
    ),
    (record(1, title="Snake robots", authors=("Ann Lee",)), record(2, title="Snake robots II", authors=("Ann Lee",))),
    (
        record(1, title="Gaits: Two-dimensional case", authors=("A Lee",)),
        record(2, title="Gaits: Three-dimensional case", authors=("A Lee",)),
    ),
    (record(1), record(2, TEXT.replace("two obstacles", "three obstacles"))),
    (record(1, title="Snake robots", authors=("Ann Lee",)), record(2, OTHER, "Snake robots", ("Carl Roe",))),
    (
        record(1, title="Snake robots with contact sensing", authors=("Ann Lee",)),
        record(2, OTHER + TEXT[:200], "Robust snake robots with vision", ("Ann Lee",)),
    ),
    (record(1, "N/A", "Snakes"), record(2, "N/A", "Trees")),
    (record(1), record(2, OTHER)),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_versions_of_one_work_are_merged(one: SourceRecord, two: SourceRecord) -> None:
    assert rows(dedupe([one, two])) == [[1, 2]]


@pytest.mark.parametrize(("one", "two"), APART)
def test_siblings_and_strangers_stay_apart(one: SourceRecord, two: SourceRecord) -> None:
    found = dedupe([one, two])
    assert (rows(found), found.flags) == ([[1], [2]], ())


FOREIGN = [
    record(1, title="Snake robots in clutter", authors=("Ann Lee",)),
    record(2, title="Margins of boosted trees", authors=("Carl Roe",)),
]


def test_one_abstract_under_two_titles_is_kept_twice_and_flagged() -> None:
    found = dedupe(FOREIGN)
    assert rows(found) == [[1], [2]]
    low, high = sorted(map(record_id, FOREIGN))
    reason = "abstract may belong to another paper: same abstract, other title and authors"
    assert found.flags == (Flag(low, high, reason, {"text": 1.0, "title": 0.0, "authors": 0.0}),)


def test_a_record_without_a_title_joins_no_two_strangers() -> None:
    found = dedupe([*FOREIGN, record(3)])
    assert (found.records, len(found.papers), len(found.duplicates), len(found.flags)) == (3, 2, 1, 1)


def test_an_undone_merge_stays_undone() -> None:
    pair = [record(1, title="Snakes", authors=("Ann Lee",)), record(2, OTHER, "Snakes", ("Ann Lee",)), record(3, OTHER)]
    merged = dedupe(pair)
    assert rows(merged) == [[1, 2, 3]]
    undone = frozenset(
        {frozenset({item.record_id, item.paper_id}) for item in merged.duplicates if item.source.row == 2}
    )
    found = dedupe(pair, apart=undone)
    assert rows(found) == [[1], [2, 3]]
    assert dedupe(reversed(pair), apart=undone) == found


def test_records_alike_to_the_letter_are_one_paper() -> None:
    found = dedupe([record(row, title="Snakes") for row in range(1, 70)])
    assert rows(found) == [list(range(1, 70))]
    assert {item.reasons for item in found.duplicates} == {("same title", "same abstract")}


POOL = [item for pair in (*SAME, *APART) for item in pair]


@given(st.lists(st.sampled_from(POOL), max_size=9), st.randoms(use_true_random=False))
def test_every_record_is_kept_once_whatever_the_order(picked: list[SourceRecord], random: st.DataObject) -> None:
    records = [replace(item, source=Source("f", row)) for row, item in enumerate(picked)]
    found = dedupe(records)
    assert found.records == len(records) == len(found.papers) + len(found.duplicates)
    assert sorted(source for paper in found.papers for source in paper.sources) == [item.source for item in records]
    assert len({paper.paper_id for paper in found.papers}) == len(found.papers)
    assert {item.paper_id for item in found.duplicates} <= {paper.paper_id for paper in found.papers}
    shuffled = records[:]
    random.shuffle(shuffled)
    assert dedupe(shuffled) == found


@pytest.mark.parametrize("pair", [*SAME, *APART])
def test_deduping_papers_again_merges_nothing_more(pair: tuple[SourceRecord, SourceRecord]) -> None:
    papers = dedupe(pair).papers
    again = dedupe(
        SourceRecord(
            *(paper.sources[0], paper.abstract, paper.title, paper.authors, paper.venue, paper.year, paper.keywords),
            *(paper.doi, paper.arxiv, paper.url, paper.key),
        )
        for paper in papers
    )
    assert [paper.paper_id for paper in again.papers] == [paper.paper_id for paper in papers]


def test_the_labelled_pairs_are_told_apart(shared: Path, tmp_path: Path) -> None:
    """Precision and recall of ``same_work`` over the unambiguous pairs, each pair's papers among all others named."""
    lines = (shared / "data/duplicates/pairs.jsonl").read_text().split("\n")
    pairs = [pair for line in lines if line and not (pair := json.loads(line))["ambiguous"]]
    wanted = {pair[side] for pair in pairs for side in "ab"}
    records = [
        item
        for item in read(shared / "data/papers/papers.jsonl.gz")
        if isinstance(item, SourceRecord) and item.key in wanted
    ]
    keys = {item.source: item.key for item in records}
    found = dedupe(records)
    paper_of = {keys[source]: paper.paper_id for paper in found.papers for source in paper.sources}
    merged = [paper_of.get(pair["a"], "a") == paper_of.get(pair["b"], "b") for pair in pairs]
    right = sum(same and pair["same_work"] for same, pair in zip(merged, pairs, strict=True))
    assert right / sum(merged) >= 0.96
    assert right / sum(pair["same_work"] for pair in pairs) >= 0.85
    copies = [same for same, pair in zip(merged, pairs, strict=True) if pair["kind"] == "exact_copy"]
    assert all(copies)
    flagged = {frozenset((flag.paper_id, flag.other_id)) for flag in found.flags}
    foreign = [pair for pair in pairs if pair["kind"] == "foreign_abstract"]
    assert all(frozenset((paper_of[pair["a"]], paper_of[pair["b"]])) in flagged for pair in foreign)
