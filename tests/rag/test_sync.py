from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from rag import sync as syncing
from rag.catalogue import Catalogue
from rag.errors import IndexStateError, SourceError
from rag.library import Library
from rag.records import Skipped
from rag.retrieve import CitewellRetriever
from rag.store import VectorStore
from rag.sync import CATALOGUE, VECTORS, Report, sync

GRAPHS = "We propose GraphFoo, a method that prunes large graphs quickly. It needs no training at all."
TREES = "We study BarTree, a family of trees with many leaves. Its depth grows slowly under mild assumptions."
SOUNDS = "We present SoundBaz, a codec for speech at very low rates. Listeners prefer it in blind tests."
SHAPES = "We introduce ShapeQux, a loss for point clouds in motion. Robots grasp more with it than without."
CLOCKS = "We derive ClockQuux, a schedule for clocks that drift apart. It keeps them together for many years."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "libraries" / "mine"


@pytest.fixture
def run(folder: Path, fake) -> Callable[..., Report]:  # type: ignore[no-untyped-def]
    """Synchronises the library, with the time it took left out of the report."""

    def synced(*paths: Path, embedder=fake, **options: object) -> Report:  # type: ignore[no-untyped-def]
        found = sync(folder, paths, lambda: embedder, embedder_print=embedder.fingerprint, **options)
        assert found.seconds >= 0
        return replace(found, seconds=0.0)

    return synced


def report(**counts: object) -> Report:
    zero = dict.fromkeys(("duplicates", "added", "changed", "removed", "unchanged", "embedded"), 0)
    return Report(**{"skipped": (), "seconds": 0.0, **zero, **counts})


def found(folder: Path, embedder, question: str) -> list[str]:  # type: ignore[no-untyped-def]
    """The abstracts a new reader finds for a question, best first."""
    library = Library(folder, embedder)
    hits = CitewellRetriever(library).search(question)
    library.close()
    return [hit.paper.abstract for hit in hits]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_the_first_run_adds_every_paper_once(run, folder: Path, fake, sources: Path) -> None:
    assert run(sources) == report(records=4, papers=3, duplicates=1, added=3, embedded=3)
    assert sorted(fake.encoded) == sorted([GRAPHS, TREES, SOUNDS])
    assert found(folder, fake, "pruning graphs")[0] == GRAPHS
    (tree,) = [p for p in Catalogue(folder / CATALOGUE).papers() if p.abstract == TREES]
    assert [(s.file, s.row) for s in tree.sources] == [("one.txt", 2), ("two.txt", 1)]


def test_indexing_again_embeds_nothing_and_changes_nothing(run, folder: Path, fake, sources: Path) -> None:
    run(sources)
    before, fake.calls = contents(folder), []

    def load() -> None:
        raise AssertionError("the model was loaded")

    again = sync(folder, [sources], load, embedder_print=fake.fingerprint)  # type: ignore[arg-type]
    assert replace(again, seconds=0.0) == report(records=4, papers=3, duplicates=1, unchanged=3)
    assert run() == report(records=4, papers=3, duplicates=1, unchanged=3)
    assert contents(folder) == before


def test_a_touched_file_is_not_a_changed_one(run, fake, sources: Path) -> None:
    run(sources)
    os.utime(sources / "one.txt", (1, 1))
    assert run(sources) == report(records=4, papers=3, duplicates=1, unchanged=3)


def test_a_changed_file_re_embeds_only_what_changed(run, folder: Path, fake, sources: Path, write) -> None:
    run(sources)
    fake.calls = []
    write("one.txt", GRAPHS.replace("quickly", "slowly"), TREES, SHAPES)
    assert run(sources) == report(records=5, papers=4, duplicates=1, added=1, changed=1, unchanged=2, embedded=2)
    assert sorted(fake.encoded) == sorted([GRAPHS.replace("quickly", "slowly"), SHAPES])
    assert GRAPHS not in found(folder, fake, "pruning graphs quickly")
    assert found(folder, fake, "a loss for point clouds")[0] == SHAPES


def test_papers_that_only_move_are_found_as_before_and_nothing_is_made_anew(
    run, folder: Path, fake, sources: Path, write, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(sources)
    (held,) = VectorStore(folder / VECTORS).collections()
    before, fake.calls, chunked = Catalogue(folder / CATALOGUE).chunks(), [], []
    chunk_papers = syncing.chunk_papers
    monkeypatch.setattr(
        syncing, "chunk_papers", lambda papers, **kw: chunked.extend(papers) or chunk_papers(papers, **kw)
    )
    write("one.txt", SHAPES, GRAPHS, TREES)
    assert run(sources) == report(records=5, papers=4, duplicates=1, added=1, changed=2, unchanged=1, embedded=1)
    assert [p.abstract for p in chunked] == fake.encoded == [SHAPES]
    after = Catalogue(folder / CATALOGUE)
    assert before.items() < after.chunks().items()
    assert {str(p.sources[0]): p.abstract for p in after.papers() if p.abstract in (GRAPHS, TREES)} == {
        "one.txt#2": GRAPHS,
        "one.txt#3": TREES,
    }
    assert found(folder, fake, "pruning graphs")[0] == GRAPHS
    assert VectorStore(folder / VECTORS).collections() == [held]


def test_the_papers_of_a_removed_file_go_unless_another_holds_them(run, folder: Path, fake, sources: Path) -> None:
    run(sources)
    (sources / "one.txt").unlink()
    assert run() == report(records=2, papers=2, removed=1, unchanged=1, changed=1)  # the trees lost a place
    assert sorted(p.abstract for p in Catalogue(folder / CATALOGUE).papers()) == sorted([TREES, SOUNDS])
    assert GRAPHS not in found(folder, fake, "pruning graphs quickly")


def test_what_comes_back_soon_is_not_embedded_again(run, fake, sources: Path, write) -> None:
    for number in range(8):
        write(f"more{number}.txt", f"We describe number {number * 7919} at length. It differs from the others.")
    run(sources)
    kept = (sources / "one.txt").read_bytes()
    (sources / "one.txt").unlink()
    run()
    (sources / "one.txt").write_bytes(kept)
    fake.calls = []
    assert (run().added, fake.encoded) == (1, [])


def test_vectors_nobody_needs_are_cleared_away_once_they_are_many(run, folder: Path, sources: Path) -> None:
    run(sources)
    for path in sorted(sources.iterdir())[:1]:
        path.unlink()
    run()
    (name,) = VectorStore(folder / VECTORS).collections()
    assert VectorStore(folder / VECTORS).collection(name).ids() == Catalogue(folder / CATALOGUE).chunks().keys()
    assert len([path for path in folder.iterdir() if path.name.startswith("words-")]) == 1


def test_paths_are_added_to_the_sources_there_are(run, sources: Path, tmp_path: Path, folder: Path) -> None:
    run(sources / "one.txt")
    assert run(sources / "two.txt") == report(
        records=4, papers=3, duplicates=1, added=1, changed=1, unchanged=1, embedded=1
    )
    assert run(sources) == report(records=4, papers=3, duplicates=1, unchanged=3)
    assert Catalogue(folder / CATALOGUE).roots() == sorted(
        map(str, [sources, sources / "one.txt", sources / "two.txt"])
    )


def test_a_source_whose_disk_is_away_stays_as_it_was_read(
    run, fake, folder: Path, tmp_path: Path, sources: Path
) -> None:
    disk = tmp_path / "disk" / "papers"
    disk.mkdir(parents=True)
    (disk / "a.txt").write_text(SHAPES, encoding="utf-8")
    run(sources, disk)
    shutil.move(tmp_path / "disk", tmp_path / "away")
    assert run(sources) == report(records=5, papers=4, duplicates=1, unchanged=4)
    assert found(folder, fake, "a loss for point clouds")[0] == SHAPES
    shutil.move(tmp_path / "away", tmp_path / "disk")
    shutil.rmtree(disk)
    assert run(sources).removed == 1


def test_a_dry_run_tells_what_would_happen_and_writes_nothing(run, folder: Path, fake, sources: Path, write) -> None:
    assert run(sources, dry_run=True) == report(records=4, papers=3, duplicates=1, added=3)
    assert not folder.parent.exists()
    run(sources)
    fake.calls, before = [], contents(folder)
    write("one.txt", SHAPES)
    assert run(sources, dry_run=True) == report(records=3, papers=3, changed=2, unchanged=1)
    assert run(sources, rebuild=True, dry_run=True).papers == 3
    assert (contents(folder), fake.calls) == (before, [])


def test_what_is_no_paper_is_reported_every_time(run, sources: Path, write) -> None:
    write("empty.txt")
    (sources / "data.bin").write_bytes(bytes(range(256)) * 9)
    skipped = (Skipped("data.bin", None, "not text: it holds NUL bytes"), Skipped("empty.txt", None, "empty file"))
    assert run(sources) == report(records=4, papers=3, duplicates=1, added=3, embedded=3, skipped=skipped)
    assert run() == report(records=4, papers=3, duplicates=1, unchanged=3, skipped=skipped)


def test_a_run_that_breaks_off_leaves_the_old_state_and_its_work_is_not_done_twice(
    run, folder: Path, fakes, sources: Path, write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.embeddings._EMBED_BATCH", 1)
    first = fakes()
    run(sources, embedder=first)
    write("three.txt", SHAPES, CLOCKS)
    (sources / "two.txt").unlink()
    fails = fakes(survives=1)
    with pytest.raises(RuntimeError, match="the power went off"):
        run(embedder=fails)
    assert found(folder, first, "a codec for speech")[0] == SOUNDS
    assert not {SHAPES, CLOCKS} & set(found(folder, first, "a loss for point clouds and clocks that drift"))
    last = fakes()
    assert run(embedder=last) == report(records=4, papers=4, added=2, changed=1, removed=1, unchanged=1, embedded=1)
    assert sorted([*fails.encoded, *last.encoded]) == sorted([SHAPES, CLOCKS])
    assert found(folder, last, "a loss for point clouds")[0] == SHAPES


def test_a_first_run_that_breaks_off_says_so_until_it_is_run_again(run, folder: Path, fakes, sources: Path) -> None:
    with pytest.raises(RuntimeError):
        run(sources, embedder=fakes(survives=0))
    with pytest.raises(
        IndexStateError, match=r"^indexing the library 'mine' did not finish; run 'citewell index PATH' again$"
    ):
        Library(folder, fakes())
    assert run(sources, embedder=fakes()).added == 3


def test_a_rebuild_embeds_everything_anew(run, folder: Path, fake, sources: Path) -> None:
    run(sources)
    for _ in range(2):
        fake.calls = []
        assert run(rebuild=True) == report(records=4, papers=3, duplicates=1, unchanged=3, embedded=3)
        assert sorted(fake.encoded) == sorted([GRAPHS, TREES, SOUNDS])
        assert len(VectorStore(folder / VECTORS).collections()) == 1
        assert run() == report(records=4, papers=3, duplicates=1, unchanged=3)
        assert found(folder, fake, "pruning graphs")[0] == GRAPHS


def test_after_a_rebuild_a_change_is_a_change_as_ever(run, folder: Path, fake, sources: Path, write) -> None:
    run(sources)
    run(rebuild=True)
    fake.calls = []
    write("three.txt", SHAPES)
    assert run() == report(records=5, papers=4, duplicates=1, added=1, unchanged=3, embedded=1)
    assert sorted(found(folder, fake, "a loss for point clouds")) == sorted([GRAPHS, TREES, SOUNDS, SHAPES])


def test_a_rebuild_that_breaks_off_leaves_the_old_state_answering(
    run, folder: Path, fakes, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.embeddings._EMBED_BATCH", 1)
    run(sources)
    with pytest.raises(RuntimeError):
        run(rebuild=True, embedder=fakes(survives=2))
    assert sorted(found(folder, fakes(), "a codec for speech")) == sorted([GRAPHS, TREES, SOUNDS])
    assert run(embedder=fakes()) == report(records=4, papers=3, duplicates=1, unchanged=3)
    assert run(embedder=fakes(), rebuild=True).embedded == 3


@pytest.mark.parametrize(("lost", "embedded"), [("vectors", 0), ("words-*", 0), ("embeddings-*", 3)])
def test_a_part_that_was_deleted_is_made_anew(run, folder: Path, fake, sources: Path, lost: str, embedded: int) -> None:
    run(sources)
    for path in folder.glob(lost):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert run().embedded == embedded
    assert sorted(found(folder, fake, "a codec for speech")) == sorted([GRAPHS, TREES, SOUNDS])


@pytest.mark.parametrize("damaged", ["embeddings-*.sqlite", "words-*/rows.npy"])
def test_a_part_that_was_damaged_is_named_and_mended_by_a_rebuild(
    run, folder: Path, fake, sources: Path, damaged: str
) -> None:
    run(sources)
    (file,) = folder.glob(damaged)
    file.write_bytes(b"garbage" * 100)
    with pytest.raises(IndexStateError, match=r"cannot be (opened|read) .*'citewell index --rebuild' makes"):
        found(folder, fake, "a codec for speech")
    assert run(rebuild=True).embedded == 3
    assert found(folder, fake, "a codec for speech")[0] == SOUNDS


def test_another_embedder_is_refused_by_readers_and_embeds_anew_when_indexing(
    run, folder: Path, fake, fakes, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(sources)
    other = fakes(fingerprint="fake00000002", model_name="other", dimension=96)
    with pytest.raises(
        IndexStateError,
        match=r"^the library 'mine' was indexed with the embedding model 'fake' \(fake00000001\), not with 'other' "
        r"\(fake00000002\); set 'embedder' back, or run 'citewell index' to embed it anew$",
    ):
        Library(folder, other)
    with pytest.raises(RuntimeError):
        run(embedder=replace(other, survives=0, calls=[]))
    assert found(folder, fake, "a codec for speech")[0] == SOUNDS
    assert run(embedder=other) == report(records=4, papers=3, duplicates=1, unchanged=3, embedded=3)
    assert found(folder, other, "a codec for speech")[0] == SOUNDS
    assert len(VectorStore(folder / VECTORS).collections()) == 1
    with pytest.raises(IndexStateError, match="was indexed with the embedding model 'other'"):
        Library(folder, fake)


@pytest.mark.parametrize("module", ["chunk", "lexical"])
def test_an_index_of_older_code_is_refused_and_made_anew(
    run, folder: Path, fake, sources: Path, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(sources)
    monkeypatch.setattr(getattr(syncing, module), "VERSION", "next")
    with pytest.raises(IndexStateError, match="was indexed by an older Citewell; run 'citewell index'"):
        Library(folder, fake)
    assert run().embedded == (3 if module == "chunk" else 0)
    assert found(folder, fake, "a codec for speech")[0] == SOUNDS


def test_a_second_process_is_told_to_wait(run, folder: Path, sources: Path) -> None:
    folder.mkdir(parents=True)
    with (
        FileLock(folder / "indexing.lock"),
        pytest.raises(
            IndexStateError, match=r"^the library in .*mine is being indexed by another process; wait for it to end"
        ),
    ):
        run(sources)
    assert run(sources).added == 3


def test_no_such_path_is_named_before_anything_is_made(run, folder: Path, sources: Path) -> None:
    with pytest.raises(
        SourceError, match=r"^.*/nowhere: no such file or folder; name a file or a folder of abstracts$"
    ):
        run(sources, sources / "nowhere")
    assert not folder.exists()


def test_sources_without_a_paper_are_refused_and_nothing_is_lost(run, folder: Path, fake, sources: Path, write) -> None:
    run(sources)
    write("one.txt")
    (sources / "two.txt").write_bytes(bytes(range(256)) * 9)
    with pytest.raises(
        SourceError,
        match=r"^no paper in .*/sources \(one.txt: empty file; two.txt: not text: .*\); name a file or folder that",
    ):
        run()
    assert found(folder, fake, "a codec for speech")[0] == SOUNDS
    (sources / "one.txt").unlink()
    (sources / "two.txt").unlink()
    with pytest.raises(SourceError, match=r"^no paper in .*/sources \(no files\)"):
        run()


def test_a_library_without_sources_says_what_to_name(run) -> None:
    with pytest.raises(SourceError, match=r"^no paper in the sources \(no files\); name a file or folder that holds"):
        run()


def test_a_folder_that_cannot_be_written_is_named(run, folder: Path, sources: Path) -> None:
    folder.parent.parent.mkdir(exist_ok=True)
    folder.parent.write_text("a file where the folder of libraries should be")
    with pytest.raises(
        IndexStateError,
        match=r"^the library in .*mine could not be written \(.*\); check that the folder can be written; noth",
    ):
        run(sources)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_read_only_folder_is_named(run, folder: Path, sources: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o500)
    with pytest.raises(IndexStateError, match="check that the folder can be written; nothing was lost"):
        run(sources)


def test_a_full_disk_is_called_so(run, sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(syncing.LexicalIndex, "save", full)
    with pytest.raises(
        IndexStateError, match=r"could not be written \(.*No space left on device\); free some space; noth"
    ):
        run(sources)
    monkeypatch.undo()
    assert run(sources).embedded == 0


def test_a_file_name_that_is_not_utf8_is_read_and_shown_escaped(run, folder: Path, sources: Path) -> None:
    try:
        (sources / os.fsdecode(b"\xb1\xa8.txt")).write_text(SHAPES, encoding="utf-8")
    except OSError:
        pytest.skip("this file system refuses such a name")
    assert run(sources).added == 4
    assert run(sources).unchanged == 4
    (paper,) = [p for p in Catalogue(folder / CATALOGUE).papers() if p.abstract == SHAPES]
    assert [(s.file, s.row) for s in paper.sources] == [("\\udcb1\\udca8.txt", 1)]
    with pytest.raises(SourceError, match=r"\\udcb1\\udca8.txt: the name is not written in UTF-8; rename it$"):
        run(sources / os.fsdecode(b"\xb1\xa8.txt"))


def test_progress_is_told_stage_by_stage(run, sources: Path) -> None:
    told: list[tuple[str, int, int]] = []
    run(sources, on_progress=lambda *news: told.append(news))
    read = [("read", 0, 2), ("read", 1, 2), ("read", 2, 2)]
    assert told == [*read, ("compare", 0, 0), ("embed", 0, 3), ("embed", 3, 3)]


def test_the_audit_keeps_why_a_record_was_merged(run, folder: Path, sources: Path) -> None:
    run(sources)
    catalogue = Catalogue(folder / CATALOGUE)
    (merge,) = catalogue.merges()
    (tree,) = [p for p in catalogue.papers() if p.abstract == TREES]
    assert merge == {
        "kind": "merge",
        "source": {"file": "two.txt", "row": 1},
        "record_id": tree.paper_id,
        "paper_id": tree.paper_id,
        "reasons": ["same abstract"],
        "scores": {"text": 1.0},
    }
