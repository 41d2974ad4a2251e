"""The real seeds, indexed with the real MiniLM."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rag.build import open_catalogue, sync_library
from rag.config import Config
from rag.embed import Embedder
from rag.library import Library
from rag.records import Skipped
from rag.retrieve import CitewellRetriever
from rag.sync import Report

pytestmark = pytest.mark.usefixtures("no_network")

HEADINGS = tuple(
    Skipped(name, 0, "heading")
    for name in (
        "000_78485c96e14bfbbe.txt",
        "001_3b4b1a2a6c9c9e9d.txt",
        "002_334f2774112c2d30.txt",
        "004_be9f6fe2145db660.txt",
    )
)


def test_the_seeds_are_76_records_71_papers_and_5_duplicates(seeds: Path, seeds_config: Config) -> None:
    fresh = sync_library(replace(seeds_config, library="fresh"), [seeds], dry_run=True)
    assert replace(fresh, seconds=0) == Report(76, 71, 5, HEADINGS, 71, 0, 0, 0, 0, 0)


def test_indexing_the_seeds_again_changes_nothing_and_is_quick(seeds: Path, seeds_config: Config) -> None:
    again = sync_library(seeds_config, [seeds])
    assert replace(again, seconds=0) == Report(76, 71, 5, HEADINGS, 0, 0, 0, 71, 0, 0)
    assert again.seconds < 5


def test_each_double_keeps_both_places_and_every_other_paper_has_one(seeds: Path, seeds_library: Library) -> None:
    rows = {
        (file.name, row): " ".join(part.split())
        for file in sorted(seeds.iterdir())
        for row, part in enumerate(file.read_text(encoding="utf-8").strip().split("\n\n"))
        if row
    }
    places: dict[str, list[tuple[str, int]]] = {}
    for place, text in rows.items():
        places.setdefault(text, []).append(place)
    papers = seeds_library.papers()
    assert {" ".join(p.abstract.split()): [(s.file, s.row) for s in p.sources] for p in papers} == places
    assert sorted(len(found) for found in places.values()) == [1] * 66 + [2] * 5


def test_the_audit_names_the_five_doubles(seeds_config: Config) -> None:
    catalogue = open_catalogue(seeds_config)
    assert [(m["kind"], m["source"]["file"], m["source"]["row"], m["reasons"]) for m in catalogue.merges()] == [
        ("merge", "001_3b4b1a2a6c9c9e9d.txt", row, ["same abstract"]) for row in (1, 3, 12, 15, 19)
    ]
    catalogue.close()


@pytest.mark.parametrize(
    ("question", "label"),
    [
        ("How can a retriever build its graph without spending language-model tokens?", "G³RAG"),
        ("Which pruning method looks at dependencies between layers?", "FiedlerPrune"),
        ("How can pruned layers be made up for without training?", "Ghosted Layers"),
    ],
)
def test_the_right_paper_comes_first(seeds_library: Library, question: str, label: str) -> None:
    assert CitewellRetriever(seeds_library).search(question)[0].paper.label == label


def test_the_library_speaks_of_the_model_that_made_it(seeds_library: Library, embedder: Embedder) -> None:
    assert (embedder.model_name, embedder.dimension, embedder.window) == ("all-MiniLM-L6-v2", 384, 254)
    assert seeds_library.snapshot().fingerprint.split("-")[0] == embedder.fingerprint == "833f2fc32d46"
