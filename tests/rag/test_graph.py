"""The graph of passages: edges, hubs, diffusion, and the retriever over it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag import graph
from rag.errors import IndexStateError
from rag.graph import PassageGraph, gain
from rag.library import Library
from rag.retrieve import CitewellRetriever
from rag.sync import sync


class Angles:
    """Passages on the unit circle, by their angle in degrees, as a vector index and as the embeddings kept."""

    def __init__(self, angles: dict[str, float]) -> None:
        self._at = {c: np.array([np.cos(np.radians(a)), np.sin(np.radians(a))], np.float32) for c, a in angles.items()}

    def vectors(self, ids: list[str]) -> np.ndarray:
        return np.stack([self._at[i] for i in ids])

    def nearest(self, vectors: np.ndarray, k: int) -> list[list[tuple[str, float]]]:
        rows = [sorted(((c, float(v @ u)) for c, u in self._at.items()), key=lambda x: -x[1]) for v in vectors]
        return [row[:k] for row in rows]


def _graph(angles: dict[str, float], papers: dict[str, str] | None = None) -> PassageGraph:
    index = Angles(angles)
    return PassageGraph.build(index, index, papers or {c: f"paper of {c}" for c in angles})  # type: ignore[arg-type]


def _moves(found: PassageGraph) -> dict[str, dict[str, float]]:
    rows = found.moves.toarray()
    return {
        c: {found.chunk_ids[j]: round(float(w), 4) for j, w in enumerate(row) if w}
        for c, row in zip(found.chunk_ids, rows, strict=True)
    }


def test_an_edge_weighs_most_at_45_degrees_and_nothing_for_a_copy_or_a_stranger() -> None:
    at = {angle: round(float(gain(np.cos(np.radians([angle])))[0]), 6) for angle in (0, 30, 45, 60, 90, 120)}
    assert at == {0: 0.0, 30: 0.433013, 45: 0.5, 60: 0.433013, 90: 0.0, 120: 0.0}


def test_a_passage_leads_to_passages_of_other_papers_only() -> None:
    found = _graph({"a1": 0, "a2": 30, "b": 45, "c": 200}, {"a1": "A", "a2": "A", "b": "B", "c": "C"})
    assert {c: set(to) for c, to in _moves(found).items()} == {"a1": {"b"}, "a2": {"b"}, "b": {"a1", "a2"}, "c": set()}


def test_hubs_are_held_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "NEIGHBOURS", 2)
    angles = {"a": 0.0, "hub": 40.0, "left": 80.0, "right": 85.0, "far": -40.0}
    with_penalty = _moves(_graph(angles))["a"]
    monkeypatch.setattr(graph, "HUB_PENALTY", 0.0)
    without = _moves(_graph(angles))["a"]
    assert set(with_penalty) == set(without) == {"hub", "far"}
    assert without["hub"] == without["far"] == 0.5
    assert with_penalty["hub"] < 0.5 < with_penalty["far"]


def test_what_spreads_reaches_a_second_paper_that_no_source_leads_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "NEIGHBOURS", 1)
    found = _graph({"asked": 0.0, "bridge": 40.0, "beyond": 75.0, "elsewhere": 180.0})
    reached = found.spread({"asked": 0.8, "nobody": 1.0, "elsewhere": 0.0})
    assert reached == {"bridge": 1.0, "beyond": 0.5}
    assert found.spread({"nobody": 1.0}) == {}
    assert found.spread({}) == {}


def test_a_graph_is_the_same_after_it_was_kept(tmp_path: Path) -> None:
    found = _graph({"a": 0, "b": 40, "c": 75})
    found.save(tmp_path / "graph.npz")
    kept = PassageGraph.load(tmp_path / "graph.npz")
    assert (kept.chunk_ids, _moves(kept)) == (found.chunk_ids, _moves(found))
    assert [p.name for p in tmp_path.iterdir()] == ["graph.npz"]
    (tmp_path / "graph.npz").write_bytes(b"PK half of it")
    with pytest.raises(IndexStateError, match=r"graph\.npz cannot be read"):
        PassageGraph.load(tmp_path / "graph.npz")


def test_a_library_makes_its_graph_once_and_anew_when_it_changes(
    tmp_path: Path, fake, write: Callable[..., Path]
) -> None:  # type: ignore[no-untyped-def]
    papers = [
        "Large graphs that grow are pruned quickly by cutting edges at random here.",
        "Cutting edges at random here, large graphs are pruned quickly that grow by.",
        "We present SoundBaz, a codec for speech at very low rates. Listeners prefer it in blind tests.",
    ]
    file = write("a.txt", *papers)
    sync(tmp_path / "lib", [file], lambda: fake, embedder_print=fake.fingerprint)
    library = Library(tmp_path / "lib", fake)
    first = library.graph(library.snapshot())
    assert library.graph(library.snapshot()) is first
    again = Library(tmp_path / "lib", fake)
    assert _moves(again.graph(again.snapshot())) == _moves(first)
    write("a.txt", *papers, "Whales sing new songs each year, recorded off an island in the south here.")
    sync(tmp_path / "lib", [file], lambda: fake, embedder_print=fake.fingerprint)
    assert len(library.graph(library.snapshot()).chunk_ids) == 4
    assert len(list((tmp_path / "lib").glob("graph-*"))) == 1
    library.close()
    again.close()


def test_hits_that_spread_keep_a_total_order_in_the_unit_interval(seeds_library: Library) -> None:
    question = "Which two papers build graphs of passages, and how do they weigh their edges?"
    hits = CitewellRetriever(seeds_library, graph=True).search(question, k=71)
    assert [h.rank for h in hits] == list(range(1, 72))
    assert hits == sorted(hits, key=lambda h: (-h.score, h.paper.paper_id))
    assert all(0 <= h.score <= 1 for h in hits)
    assert hits[0].paper.label == "G³RAG"
    assert [h.paper for h in hits] != [h.paper for h in CitewellRetriever(seeds_library).search(question, k=71)]
