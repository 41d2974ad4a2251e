from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rag.errors import IndexStateError
from rag.library import Library
from rag.retrieve import CitewellRetriever
from rag.sync import sync


@pytest.fixture
def folder(tmp_path: Path, fake, sources: Path) -> Path:  # type: ignore[no-untyped-def]
    """An indexed library."""
    sync(tmp_path / "lib", [sources], lambda: fake, embedder_print=fake.fingerprint)
    return tmp_path / "lib"


def test_a_library_that_was_never_indexed_says_what_to_run(tmp_path: Path, fake) -> None:
    with pytest.raises(
        IndexStateError,
        match=r"^the library 'none' has not been indexed \(nothing in .*/none\); run 'citewell index PATH' first$",
    ):
        Library(tmp_path / "none", fake)
    assert list(tmp_path.iterdir()) == []


def test_an_index_of_another_embedder_is_refused_before_a_question_is_asked(folder: Path, fakes) -> None:
    with pytest.raises(IndexStateError, match=r"'fake' \(fake00000001\), not with 'other' \(fake00000002\)"):
        Library(folder, fakes(fingerprint="fake00000002", model_name="other"))


def test_papers_are_those_of_the_catalogue_and_each_has_its_row_and_chunks(folder: Path, fake) -> None:
    library = Library(folder, fake)
    papers = library.papers()
    snapshot = library.snapshot()
    assert (library.name, len(library), len(papers)) == ("lib", 3, 3)
    ids = [p.paper_id for p in papers]
    assert library.papers([ids[2], "nobody", ids[0]]) == [papers[2], papers[0]]
    assert sorted(snapshot.position) == sorted(snapshot.chunks_of_paper) == ids
    assert [snapshot.words.paper_ids[snapshot.position[i]] for i in ids] == ids
    assert sorted(snapshot.paper_of_chunk) == sorted(snapshot.vectors.ids())
    assert {c: p for p, chunks in snapshot.chunks_of_paper.items() for c in chunks} == snapshot.paper_of_chunk


def test_the_fingerprint_changes_with_the_corpus_and_only_then(folder: Path, fake, sources: Path, write) -> None:
    library = Library(folder, fake)
    first = library.snapshot()
    sync(folder, [sources], lambda: fake, embedder_print=fake.fingerprint)
    assert library.snapshot() is first
    assert first.fingerprint.startswith("fake00000001-")
    write("three.txt", "We introduce ShapeQux, a loss for point clouds in motion. Robots grasp more with it.")
    sync(folder, [sources], lambda: fake, embedder_print=fake.fingerprint)
    second = library.snapshot()
    assert (second.generation, len(library)) == ("2", 4)
    assert second.fingerprint.rsplit("-", 1)[0] == first.fingerprint.rsplit("-", 1)[0]
    assert second.fingerprint != first.fingerprint


def test_an_open_library_that_another_embedder_took_over_says_so(folder: Path, fake, fakes, sources: Path) -> None:
    library = Library(folder, fake)
    other = fakes(fingerprint="fake00000002", model_name="other", dimension=32)
    sync(folder, [sources], lambda: other, embedder_print=other.fingerprint)
    with pytest.raises(IndexStateError, match="was indexed with the embedding model 'other'"):
        library.snapshot()


ELSEWHERE = """
import importlib.util, sys
from pathlib import Path
from rag.sync import sync
spec = importlib.util.spec_from_file_location("fakes", "tests/rag/conftest.py")
fakes = sys.modules["fakes"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fakes)
fake = fakes.FakeEmbedder()
sync(Path(sys.argv[1]), [], lambda: fake, embedder_print=fake.fingerprint)
"""


def test_an_open_library_follows_what_another_process_indexes(folder: Path, fake, write) -> None:
    library = Library(folder, fake)
    search = CitewellRetriever(library).search
    assert search("a codec for speech")[0].paper.label == "SoundBaz"
    shapes = "We introduce ShapeQux, a loss for point clouds in motion. Robots grasp more with it than without."
    write("two.txt", shapes)
    subprocess.run([sys.executable, "-c", ELSEWHERE, str(folder)], check=True, cwd=Path(__file__).parents[2])
    hits = search("Which loss makes robots grasp point clouds in motion?")
    assert (hits[0].paper.abstract, hits[0].dense > 0.5, len(hits)) == (shapes, True, 3)
    assert [hit.paper.label for hit in search("a codec for speech")].count("SoundBaz") == 0
