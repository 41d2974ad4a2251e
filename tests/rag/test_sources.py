"""What is read of a file that changed: all of it as if for the first time, at the cost of what changed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag import readers
from rag.catalogue import Catalogue
from rag.changes import changes
from rag.dedupe import dedupe
from rag.readers import fields
from rag.records import Printed, Skipped, SourceRecord
from rag.sources import look

TREES = "We study BarTree, a family of trees with many leaves. Its depth grows slowly under mild assumptions."
ROWS = st.fixed_dictionaries(
    {
        "abstract": st.sampled_from(
            [TREES, f" {TREES}", TREES.replace("slowly", "fast"), "N/A", "", "Graphs &amp; more."]
        )
    },
    optional={
        "title": st.sampled_from(["", "Trees of Many Leaves", "Pruning graphs"]),
        "authors": st.sampled_from([[], ["Ann Lee"], "Ann Lee; Bo Chen"]),
        "year": st.sampled_from([2024, "2024", None]),
        "status": st.sampled_from(["Poster", "Oral"]),
        "bibtex": st.just("@inproceedings{a, booktitle={ICML}, year={2023}}"),
    },
)
FILES = st.dictionaries(st.sampled_from(["a.jsonl", "b.json", "c.txt"]), st.lists(ROWS, min_size=1, max_size=6))


def write(folder: Path, files: dict[str, list[dict[str, object]]]) -> None:
    for path in folder.iterdir():
        path.unlink()
    for name, rows in files.items():
        lines = "\n".join(map(json.dumps, rows))
        (folder / name).write_text(json.dumps(rows) if name == "b.json" else lines, encoding="utf-8")


def step(catalogue: Catalogue, folder: Path) -> None:
    """Brings what the catalogue holds of ``folder`` up to date."""
    read = look(catalogue, [folder], rebuild=False, on_progress=lambda *_: None)
    found = changes(catalogue, [r for r in read.records(catalogue) if isinstance(r, Printed)], [])
    with catalogue.transaction():
        for path in read.gone:
            catalogue.remove_file(path)
        for file in read.files:
            catalogue.write_file(file)
        for path, rows in read.fresh.items():
            catalogue.write_records(path, rows)
        found.write(catalogue)


def held(catalogue: Catalogue) -> list[SourceRecord | Skipped]:
    items = [item for path in catalogue.files() for item in catalogue.records(path)]
    return [item.record if isinstance(item, Printed) else item for item in items]


@settings(max_examples=40, deadline=None)
@given(st.lists(FILES, min_size=2, max_size=4))
def test_files_that_change_are_read_as_if_for_the_first_time(states: list[dict[str, list[dict[str, object]]]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, catalogue = Path(name), Catalogue(Path(":memory:"))
        for files in states:
            write(folder, files)
            step(catalogue, folder)
            expected = list(readers.read(folder))
            assert held(catalogue) == expected
            papers = dedupe(r for r in expected if isinstance(r, SourceRecord)).papers
            assert {p.paper_id: p for p in catalogue.papers()} == {p.paper_id: p for p in papers}
        catalogue.close()


def test_of_a_changed_file_only_what_is_new_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"title": f"Sorting {n * 31} t", "abstract": f"Method {n * 7919} sorts {n} things."} for n in range(30)]
    catalogue, made = Catalogue(Path(":memory:")), []
    make = readers.Raw.record
    monkeypatch.setattr(readers.Raw, "record", lambda raw: made.append(raw.fields["abstract"]) or make(raw))
    write(tmp_path, {"a.jsonl": rows})
    step(catalogue, tmp_path)
    assert len(made) == 30
    made.clear()
    rows[7]["abstract"] = "Another method sorts things."
    write(tmp_path, {"a.jsonl": rows})
    step(catalogue, tmp_path)
    assert made == ["Another method sorts things."]
    made.clear()
    write(tmp_path, {"renamed.jsonl": rows})
    read = look(catalogue, [tmp_path], rebuild=False, on_progress=lambda *_: None)
    assert (len(read.records(catalogue)), made) == (30, [])
    catalogue.close()


def test_other_code_makes_every_record_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = readers.Raw({"abstract": TREES}, fields.Source("a", 1))
    before = raw.print()
    assert raw.print() == before == readers.Raw({"abstract": TREES}, fields.Source("b", 7)).print()
    monkeypatch.setattr(fields, "_code", lambda: b"other code")
    assert raw.print() != before
