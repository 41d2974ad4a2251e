from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rag.catalogue import Catalogue
from rag.embeddings import Embeddings
from rag.library import Library
from rag.retrieve import CitewellRetriever
from rag.store import VectorStore
from rag.sync import CATALOGUE, VECTORS, embeddings_of

KILLS = 50
ROUND = 5
"""Kills before a run is let go to its end."""
NOUNS = ["graphs", "trees", "codecs", "robots", "clocks", "shapes", "lenses", "rivers", "engines", "proofs"]
VERBS = ["prunes", "sorts", "encodes", "steers", "aligns", "measures", "bends", "maps", "cools", "checks"]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked, to be quick")


def abstract(number: int) -> str:
    noun, verb = NOUNS[number % 10], VERBS[number // 10 % 10]
    return (
        f"We present Method{number} which {verb} {noun} in {number} steps. It needs no training number{number * 7919}."
    )


class Indexer:
    """The process whose children index ``sources`` into ``folder``."""

    def __init__(self, folder: Path, sources: Path, log: Path) -> None:
        here = Path(__file__).parent
        self.folder, self.sources, self.log = folder, sources, log
        path = os.pathsep.join([str(here), str(here.parents[1]), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, str(here / "indexer.py"), *map(str, (folder, sources, log))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            text=True,
        )

    def run(self, *, kill_after: float | None = None) -> tuple[int, float]:
        """Exit status of a run and its seconds; ``kill_after`` so many seconds it is killed, if it has not ended."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        child, started = int(self._process.stdout.readline()), time.monotonic()
        killer = threading.Timer(kill_after or 0, kill, (child,))
        if kill_after is not None:
            killer.start()
        status = int(self._process.stdout.readline())
        killer.cancel()
        return status, time.monotonic() - started

    def events(self) -> list[tuple[str, str]]:
        lines = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
        return [tuple(json.loads(line)) for line in lines]

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        os.kill(process, signal.SIGKILL)


@pytest.fixture
def indexer(tmp_path: Path) -> Iterator[Indexer]:
    (tmp_path / "sources").mkdir()
    found = Indexer(tmp_path / "libraries" / "mine", tmp_path / "sources", tmp_path / "log")
    yield found
    found.close()


def write(sources: Path, numbers: set[int]) -> None:
    for part in range(4):
        text = "\n\n".join(abstract(n) for n in sorted(numbers) if n % 4 == part)
        (sources / f"{part}.txt").write_text(text, encoding="utf-8")


def state(folder: Path, fake) -> set[str]:  # type: ignore[no-untyped-def]
    """The abstracts a reader has; each is found by search, and nothing else is."""
    library = Library(folder, fake)
    held = {p.abstract for p in library.papers()}
    asked = sorted(held)[::17]
    for question, hits in zip(asked, CitewellRetriever(library, k=5).search_many(asked), strict=True):
        assert hits[0].paper.abstract == question
        assert {hit.paper.abstract for hit in hits} <= held
    library.close()
    return held


def everything(folder: Path) -> object:
    catalogue = Catalogue(folder / CATALOGUE)
    chunks, meta = catalogue.chunks(), catalogue.meta()
    kept = Embeddings(embeddings_of(folder, meta["collection"]))
    vectors = kept.vectors(sorted(chunks))
    kept.close()
    assert VectorStore(folder / VECTORS).collection(meta["collection"]).held(sorted(chunks)) == chunks.keys()
    found = (
        catalogue.papers(),
        chunks,
        catalogue.merges(),
        catalogue.skipped(),
        meta["corpus"],
        np.round(vectors, 6).tolist(),
    )
    catalogue.close()
    return found


def test_a_library_that_is_killed_at_any_moment_answers_and_goes_on(indexer: Indexer, fake, tmp_path: Path) -> None:
    rng = random.Random(20261201)
    numbers = set(range(80))
    write(indexer.sources, numbers)
    status, seconds = indexer.run()
    assert status == 0
    before = {abstract(n) for n in numbers}
    assert state(indexer.folder, fake) == before
    killed = 0
    for kill in range(KILLS):
        if kill % ROUND == 0:
            numbers = (numbers - set(rng.sample(sorted(numbers), 6))) | set(rng.sample(range(80, 400), 30))
            write(indexer.sources, numbers)
            indexer.log.unlink()
            after = {abstract(n) for n in numbers}
        status, _ = indexer.run(kill_after=rng.uniform(0, 1.1 * seconds))
        assert status in (0, signal.SIGKILL)
        killed += status != 0
        found = state(indexer.folder, fake)
        assert found in (before, after)
        if kill % ROUND == ROUND - 1:
            status, seconds = indexer.run()
            assert status == 0
            assert state(indexer.folder, fake) == after
            before = after
            stored: set[str] = set()
            for event, text in indexer.events():
                assert event == "stored" or text not in stored, "what was stored was embedded again"
                stored.update([text] if event == "stored" else [])
    assert killed  # how many had ended before their moment came depends on the machine
    clean = Indexer(tmp_path / "clean", indexer.sources, tmp_path / "clean-log")
    assert clean.run()[0] == 0
    clean.close()
    assert everything(indexer.folder) == everything(tmp_path / "clean")
