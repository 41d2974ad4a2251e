from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval import scale
from eval.scale import measure_scale, print_scale
from rag import build
from rag.config import load_config
from rag.embed import Embedder
from rag.errors import CitewellError


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    path = tmp_path / "papers.jsonl"
    lines = [
        {
            "title": f"Sorting {n * 31} things",
            "abstract": f"We sort {n} things with method{n * 7919}. It is quick, we find.",
        }
        for n in range(12)
    ]
    path.write_text("\n".join(map(json.dumps, [*lines, lines[0]])), encoding="utf-8")
    return path


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch, embedder: Embedder) -> None:
    """The measurements in this process, with the embedding model that is loaded already."""
    monkeypatch.setattr(scale, "_apart", scale._with_peak)
    monkeypatch.setattr(scale, "_ROUNDS", 1)
    monkeypatch.setattr(build, "load_embedder", lambda config: embedder)


def test_each_size_is_measured_and_a_change_embeds_one_paper(papers: Path, in_process: None) -> None:
    found = measure_scale(load_config(), papers, sizes=(5, 5, 10**9), queries=15)
    assert [(row["records"], row["papers"]) for row in found["sizes"]] == [(5, 5), (13, 12)]
    for row in found["sizes"]:
        assert (row["passages"], row["one_change_embedded"]) == (row["papers"], 1)
        assert (row["ann_recall_at_10"], row["memory"][-1]["queries"]) == (1.0, 15)
        assert set(row["disk_bytes"]) == {"catalogue.*", "vectors", "words-*", "embeddings-*"}
        assert all(size > 0 for size in row["disk_bytes"].values())
        assert 0 < row["search_ms"]["p50"] <= row["search_ms"]["p95"]
        assert row["one_change_cpu_s"] > 0
        assert 0 < row["search_cpu_ms"]["p50"] <= row["search_cpu_ms"]["p95"]
    assert json.loads(json.dumps(found)) == found
    table = print_scale(found).splitlines()
    assert table[0].split() == ["records", "5", "13"]
    assert table[2].split() == ["papers", "5", "12"]


def test_a_file_without_papers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(CitewellError, match=r"empty.txt holds no paper; name a file that 'citewell index' reads$"):
        measure_scale(load_config(), tmp_path / "empty.txt")
