from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.readers import labelled, markdown, read, textlist
from rag.readers.fields import Raw
from rag.readers.formats import Reader
from rag.records import Skipped, Source, SourceRecord

ONE = "Graphs are hard to read. We draw them in layers and show that readers err less."
TWO = "Retrieval costs tokens. We build the index from geometry alone, at no cost in tokens."


def found(reader: Reader, text: str, name: str) -> list[SourceRecord | Skipped]:
    return [item.record() if isinstance(item, Raw) else item for item in reader(StringIO(text), name)]


def records(text: str) -> list[SourceRecord | Skipped]:
    return found(textlist.read, text, "list.txt")


def test_the_seeds_hold_76_records_and_4_headings(seeds: Path) -> None:
    found = list(read(seeds))
    names = sorted(path.name for path in seeds.iterdir())
    assert [item for item in found if isinstance(item, Skipped)] == [Skipped(name, 0, "heading") for name in names]
    sources = [item.source for item in found if isinstance(item, SourceRecord)]
    assert sources == [Source(name, row) for name in names for row in range(1, 20)]


@pytest.mark.parametrize(
    "heading", ["NeurIPS 2026 Papers", "NeurIPS 2026 论文列表", "会议论文", "Accepted papers", "Φύλλα"]
)
def test_a_heading_in_any_language_is_no_paper(heading: str) -> None:
    assert records(f"{heading}\n\n{ONE}\n\n{TWO}\n") == [
        Skipped("list.txt", 0, "heading"),
        SourceRecord(Source("list.txt", 1), ONE),
        SourceRecord(Source("list.txt", 2), TWO),
    ]


def test_a_heading_between_abstracts_takes_a_row() -> None:
    assert records(f"{ONE}\n\nPosters\n\n{TWO}") == [
        SourceRecord(Source("list.txt", 1), ONE),
        Skipped("list.txt", 2, "heading"),
        SourceRecord(Source("list.txt", 3), TWO),
    ]


def test_one_abstract_a_file_may_have_a_title_above() -> None:
    expected = [SourceRecord(Source("list.txt", 1), ONE, title="Layered drawings of graphs")]
    assert records(f"Layered drawings of graphs\n\n{ONE}") == expected
    assert records(f"Layered drawings of graphs\n{ONE}") == expected
    assert records(ONE) == [SourceRecord(Source("list.txt", 1), ONE)]


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_a_title_line_above_each_abstract_is_its_title(gap: str) -> None:
    text = f"Layered drawings of graphs{gap}{ONE}\n\nAn index without tokens{gap}{TWO}\n"
    assert records(text) == [
        SourceRecord(Source("list.txt", 1), ONE, title="Layered drawings of graphs"),
        SourceRecord(Source("list.txt", 2), TWO, title="An index without tokens"),
    ]


def test_wrapped_lines_are_one_abstract_and_stay_as_they_are() -> None:
    wrapped = "Graphs are hard to read when they are large and dense, and\nlayers help. We show that readers err less."
    assert records(f"{wrapped}\n \n{TWO}") == [
        SourceRecord(Source("list.txt", 1), wrapped),
        SourceRecord(Source("list.txt", 2), TWO),
    ]


def test_an_abstract_a_line_needs_no_blank_lines() -> None:
    lines = [f"{ONE} {TWO} {ONE} {word}." for word in ("One", "Two", "Three")]
    assert records("Papers of 2026\n" + "\n".join(lines)) == [
        Skipped("list.txt", 0, "heading"),
        *(SourceRecord(Source("list.txt", row), line) for row, line in enumerate(lines, 1)),
    ]


def test_a_line_separator_breaks_no_abstract() -> None:
    text = "A token </s> ends it.\u2028Triples <subject, relation, object> stay.\x0cAll of it."
    assert records(text) == [SourceRecord(Source("list.txt", 1), text)]


@given(st.lists(st.sampled_from([ONE, TWO, "Papers", "Posters of 2026", "短。"]), max_size=8))
def test_every_block_is_kept_or_skipped_exactly_once(blocks: list[str]) -> None:
    found = records("\n\n".join(blocks))
    titles = sum(bool(item.title) for item in found if isinstance(item, SourceRecord))
    assert len(found) + titles == len(blocks)
    rows = [item.source.row if isinstance(item, SourceRecord) else item.row for item in found]
    assert sorted(row for row in rows if row) == list(range(1, sum(bool(row) for row in rows) + 1))


def test_labelled_text_gives_its_fields() -> None:
    text = f"Title: Layered drawings\nAuthors: Ann Lee, Bo Chen\nYear: 2024\nAbstract: {ONE}\n\n"
    text += f"Title: Tokens\nAbstract: {TWO}"
    assert found(labelled.read, text, "a.txt") == [
        SourceRecord(Source("a.txt", 1), ONE, title="Layered drawings", authors=("Ann Lee", "Bo Chen"), year=2024),
        SourceRecord(Source("a.txt", 2), TWO, title="Tokens"),
    ]


def test_markdown_headings_are_titles() -> None:
    text = (
        f"# Reading list\n\n## Layered drawings\n\n**Authors:** Ann Lee, Bo Chen\n\n{ONE}\n\n"
        f"Tokens\n------\n\n### Abstract\n\n{TWO}\n"
    )
    assert found(markdown.read, text, "a.md") == [
        Skipped("a.md", 0, "heading"),
        SourceRecord(Source("a.md", 1), ONE, title="Layered drawings", authors=("Ann Lee", "Bo Chen")),
        SourceRecord(Source("a.md", 2), TWO, title="Tokens"),
    ]


def test_a_markdown_heading_above_several_abstracts_heads_a_list() -> None:
    assert found(markdown.read, f"# NeurIPS 2026\n\n{ONE}\n\n{TWO}\n", "a.md") == [
        Skipped("a.md", 0, "heading"),
        SourceRecord(Source("a.md", 1), ONE),
        SourceRecord(Source("a.md", 2), TWO),
    ]


def test_markdown_front_matter_is_the_record() -> None:
    text = f'---\ntitle: "Layered drawings"\nauthors:\n  - Ann Lee\n  - Bo Chen\nyear: 2024\n---\n\n{ONE}\n'
    assert found(markdown.read, text, "a.md") == [
        SourceRecord(Source("a.md", 1), ONE, title="Layered drawings", authors=("Ann Lee", "Bo Chen"), year=2024)
    ]
