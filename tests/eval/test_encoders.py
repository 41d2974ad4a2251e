"""Encoders ranked without labels, and held against labels."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eval import encoders
from eval.encoders import effective_rank, measure_encoders, print_encoders, subspace_overlap, word_vectors
from eval.questions import default_questions
from rag.cli import main
from rag.config import Config
from rag.embed import Embedder
from rag.errors import CitewellError

TOPICS = (
    "graph edge node hub",
    "whale song island ocean",
    "salt concrete weather strength",
    "depth sort network solver",
)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    rng = np.random.default_rng(3)
    return [" ".join(rng.permutation(TOPICS[i % 4].split())[:3]) + f" text{i}" for i in range(40)]


def test_words_are_unit_rows_without_stop_words() -> None:
    rows = word_vectors(["the graphs of a graph", "whales", "the"])
    assert rows.shape == (3, 2)
    assert rows.toarray().round(6).tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]


def test_the_overlap_is_one_for_the_words_themselves_whatever_the_rotation(texts: list[str]) -> None:
    words = word_vectors(texts)
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(words.shape[1], words.shape[1])))
    assert subspace_overlap((words.toarray() @ turn).astype(np.float32), words, 5) == pytest.approx(1.0, abs=1e-5)


def test_noise_gets_what_chance_gives_in_any_dimension_though_its_rank_grows(texts: list[str]) -> None:
    words, rng = word_vectors(texts), np.random.default_rng(1)
    small, large = (rng.normal(size=(40, d)).astype(np.float32) for d in (8, 512))
    for noise in (small, large):
        assert subspace_overlap(noise, words, 5) == pytest.approx(5 / 40, abs=0.1)
    assert effective_rank(large) > 4 * effective_rank(small)


def test_large_libraries_are_told_alike_by_the_sparse_way(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    vocabulary = [f"w{i}" for i in range(1500)]
    texts = [" ".join(rng.choice(vocabulary[(i % 5) * 300 : (i % 5 + 1) * 300], 30)) for i in range(60)]
    words = word_vectors(texts)
    vectors = rng.normal(size=(60, 16)).astype(np.float32)
    sparse = subspace_overlap(vectors, words, 4)
    dense = words.toarray() - words.toarray().mean(axis=0)
    left = np.linalg.svd(dense, full_matrices=False)[0][:, :4]
    seen = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)[0][:, :4]
    assert words.shape[1] >= 1000
    assert sparse == pytest.approx(float(np.linalg.norm(seen.T @ left) ** 2 / 4), abs=1e-6)


@pytest.fixture
def noisy(embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the real encoder one named "noisy", whose vectors are drawn at random."""

    class Noisy:
        dimension = 384

        def encode(self, texts: list[str]) -> np.ndarray:
            rows = np.random.default_rng(len(texts)).normal(size=(len(texts), 384)).astype(np.float32)
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    monkeypatch.setattr(encoders, "load_embedder", lambda config: Noisy() if config.embedder == "noisy" else embedder)


@pytest.mark.usefixtures("noisy")
def test_a_real_encoder_comes_before_noise_without_and_with_labels(seeds_config: Config) -> None:
    names = ["noisy", seeds_config.embedder]
    results = measure_encoders(seeds_config, names, default_questions())
    first, last = results["encoders"]
    assert [r["encoder"] for r in results["encoders"]] == names[::-1]
    assert (results["papers"], results["dimensions"], results["questions"]) == (71, 16, 210)
    assert first["overlap"] > last["overlap"] + 0.1
    assert last["rankme"] > first["rankme"], "which noise would win"
    assert first["nDCG@10"] > 0.85 > 0.3 > last["nDCG@10"]
    assert (results["tau"], results["pairs"]) == ({"overlap": 1.0, "rankme": -1.0}, (1, 1))
    assert "1 of 1 pairs ordered alike, Kendall's tau +1.00 (RankMe -1.00)" in print_encoders(results)
    assert measure_encoders(seeds_config, names, None) == results, "the questions about the seeds are known"
    with pytest.raises(CitewellError, match="an encoder is named twice in noisy, noisy; name each once"):
        measure_encoders(seeds_config, ["noisy", "noisy"], None)


@pytest.mark.usefixtures("noisy")
def test_the_command_prints_one_json_object(
    seeds_config: Config, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CITEWELL_DATA", str(seeds_config.data))
    assert main(["eval", "encoders", "noisy", seeds_config.embedder, "--json", "--out", str(tmp_path / "e.json")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "e.json").read_text(encoding="utf-8"))
    assert printed["measured"] == "encoders"


@pytest.mark.usefixtures("noisy")
def test_a_library_without_questions_is_ranked_all_the_same(
    seeds_config: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "none.jsonl").write_text(
        '{"id": "a", "kind": "single", "split": "tune", "question": "what?", "papers": ["nowhere"]}\n', encoding="utf-8"
    )
    with pytest.raises(CitewellError, match="question 'a' names the paper 'nowhere'"):
        measure_encoders(seeds_config, ["noisy"], tmp_path / "none.jsonl")
    monkeypatch.setattr(encoders, "default_questions", lambda: tmp_path / "none.jsonl")
    results = measure_encoders(seeds_config, ["noisy"], None)
    assert (results["questions"], "tau" in results) == (0, False)
    assert print_encoders(results).splitlines()[1].split() == ["encoder", "dimension", "overlap", "RankMe"]


def test_few_papers_are_refused(seeds_config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "_FEWEST", 72)
    with pytest.raises(CitewellError, match="the library 'default' has 71 papers; a ranking needs 72 at least"):
        measure_encoders(replace(seeds_config), ["x"], None)
