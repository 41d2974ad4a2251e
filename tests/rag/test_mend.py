"""Chroma's graph of vectors torn in every way that a killed write can leave it in."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from rag import library as libraries
from rag.errors import IndexStateError
from rag.library import Library
from rag.retrieve import CitewellRetriever
from rag.store import HNSW, Guard
from rag.sync import VECTORS, sync

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a child is forked, to be killed while it writes")
ABSTRACTS = [f"We present Method{n} for {n * 37} kinds of graphs. It prunes edge number {n * 7919}." for n in range(60)]
Damage = Callable[[Path], None]


@pytest.fixture
def folder(tmp_path: Path, fake, write, monkeypatch: pytest.MonkeyPatch) -> Path:  # type: ignore[no-untyped-def]
    """A library whose graph was written to disk as it grew."""
    monkeypatch.setitem(HNSW, "sync_threshold", 16)
    monkeypatch.setitem(HNSW, "batch_size", 8)
    sync(tmp_path / "library", [write("a.txt", *ABSTRACTS)], lambda: fake, embedder_print=fake.fingerprint)
    return tmp_path / "library"


def graph_files(folder: Path, name: str) -> Path:
    (found,) = (folder / VECTORS).glob(f"*/{name}")
    return found


def cut(name: str, part: float) -> Damage:
    def damage(folder: Path) -> None:
        path = graph_files(folder, name)
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)])

    return damage


def garble(folder: Path) -> None:
    (folder / VECTORS / "chroma.sqlite3").write_bytes(b"garbage" * 1000)


def killed_after(damage: Damage) -> Damage:
    """The same, by a process that was killed while it wrote."""

    def twice(folder: Path) -> None:
        damage(folder)
        if (child := os.fork()) == 0:
            with Guard(folder / VECTORS).writing():
                os._exit(0)
        os.waitpid(child, 0)

    return twice


def remove(folder: Path) -> None:
    for path in graph_files(folder, "header.bin").parent.iterdir():
        path.unlink()


SEEN = {
    "the names are cut off": cut("index_metadata.pickle", 0.5),
    "there are no names": cut("index_metadata.pickle", 0),
    "there is no header": cut("header.bin", 0),
    "the graph's files are gone": remove,
    "Chroma's own database is garbage": garble,
}
"""What Chroma itself notices."""
DAMAGES = SEEN | {
    "there are no vectors": killed_after(cut("data_level0.bin", 0)),
    "half of the vectors are gone": killed_after(cut("data_level0.bin", 0.5)),
    "the last vector is gone": killed_after(cut("data_level0.bin", 0.98)),
    "nothing is torn, as it happens": killed_after(lambda folder: None),
}
"""And what would bring down the process that reads it."""


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_reader_makes_a_torn_graph_anew_and_nothing_is_embedded_again(folder: Path, fake, damage: Damage) -> None:  # type: ignore[no-untyped-def]
    damage(folder)
    before = len(fake.encoded)
    library = Library(folder, fake)
    assert len(fake.encoded) == before
    for abstract in ABSTRACTS[::7]:
        hit = CitewellRetriever(library, k=1).search(abstract)[0]
        assert (hit.paper.abstract, hit.dense) == (abstract, pytest.approx(1.0, abs=1e-5))
    library.close()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_the_next_run_makes_a_torn_graph_anew_and_embeds_only_what_is_new(  # type: ignore[no-untyped-def]
    folder: Path, fake, write, damage: Damage
) -> None:
    damage(folder)
    before = len(fake.encoded)
    path = write("a.txt", *ABSTRACTS, "A paper of another kind, on rivers.")
    report = sync(folder, [path], lambda: fake, embedder_print=fake.fingerprint)
    assert (report.papers, report.embedded) == (61, 1)
    assert fake.encoded[before:] == ["A paper of another kind, on rivers."]
    library = Library(folder, fake)
    near = library.snapshot().vectors.nearest(fake.encode([ABSTRACTS[3], "A paper of another kind, on rivers."]), 1)
    assert [row[0][1] for row in near] == [pytest.approx(1.0, abs=1e-5)] * 2
    library.close()


def test_a_graph_that_another_process_is_writing_is_left_to_it(
    folder: Path,
    fake,  # type: ignore[no-untyped-def]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut("index_metadata.pickle", 0.5)(folder)
    torn = graph_files(folder, "index_metadata.pickle").read_bytes()
    monkeypatch.setattr(libraries, "_PATIENCE", 0.1)
    with (
        FileLock(folder / "indexing.lock"),
        pytest.raises(IndexStateError, match="is being indexed by another process"),
    ):
        Library(folder, fake)
    assert graph_files(folder, "index_metadata.pickle").read_bytes() == torn


def test_a_sound_graph_is_left_as_it_is(folder: Path, fake) -> None:  # type: ignore[no-untyped-def]
    files = {p: p.read_bytes() for p in (folder / VECTORS).glob("*/*")}
    Library(folder, fake).close()
    assert {p: p.read_bytes() for p in (folder / VECTORS).glob("*/*")} == files
