"""Ways to fuse the legs, compared on queries they were not fitted to."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from eval.fusion import FOLDS, absolute, folds_of, measure_fusion, print_fusion, reciprocal, stretched
from eval.measures import measure
from rag.cli import main
from rag.config import Config
from rag.embed import Embedder
from rag.retrieve import LATE_WEIGHT, LEXICAL_WEIGHT

NAN = float("nan")
SCORES = np.array([[0.2, 0.6, 0.4], [NAN, 0.5, 0.1], [0.25, 0.45, NAN]])


def test_rules_make_legs_comparable() -> None:
    assert absolute(SCORES).round(6).tolist() == [[0.2, 0.6, 0.4], [0.0, 0.5, 0.1], [0.0, 0.2, 0.0]]
    assert stretched(SCORES).round(6).tolist() == [[0.0, 1.0, 0.5], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    assert (1 / reciprocal(SCORES)[0]).round(6).tolist() == [63, 61, 62]
    assert reciprocal(SCORES)[1].round(6).tolist() == [0.0, round(1 / 61, 6), round(1 / 62, 6)]


def test_queries_that_share_a_paper_share_a_fold() -> None:
    qrels = {f"q{i}": {f"p{i // 2}": 1} for i in range(200)} | {"bridge": {"p0": 1, "p7": 1}}
    folds = dict(zip(qrels, folds_of(qrels, list(qrels)).tolist(), strict=True))
    assert all(folds[f"q{2 * i}"] == folds[f"q{2 * i + 1}"] for i in range(100))
    assert folds["q0"] == folds["bridge"] == folds["q14"]
    assert set(folds.values()) == set(range(FOLDS))


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """A collection of forty documents, each asked for by words of its own."""
    folder = tmp_path / "toy"
    (folder / "qrels").mkdir(parents=True)
    names = [f"{a}{b}" for a in ("velo", "karn", "mist", "dorn", "plex") for b in ("tal", "rin", "sop", "gam")]
    documents = [
        {"_id": f"d{i}", "title": f"On {n}", "text": f"We study {n} and its use in {names[i - 1]} machines."}
        for i, n in enumerate(names)
    ]
    queries = [{"_id": f"q{i}", "text": f"What is {n} used in?"} for i, n in enumerate(names)]
    for name, rows in (("corpus", documents), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    judged = "".join(f"q{i}\td{i}\t1\n" for i in range(len(names)))
    (folder / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged, encoding="utf-8")
    return folder


def test_the_shipped_way_is_measured_as_the_retriever_ranks(
    config: Config, beir: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from eval import fusion
    from eval.collections import load_collection
    from eval.systems import citewell, collection_folder, collection_library

    monkeypatch.setattr(fusion, "load_embedder", lambda config: embedder)
    results = measure_fusion(config, beir, split="train")
    collection = load_collection(beir, split="train")
    library = collection_library(collection_folder(config.cache, collection, embedder), collection, embedder)
    values = measure(collection.qrels, citewell(library, collection.judged(), k=10), ("nDCG@10",))["nDCG@10"]
    library.close()
    found = results["rules"]
    assert found["as shipped"]["nDCG@10"]["mean"] == pytest.approx(sum(values.values()) / len(values), abs=1e-9)
    assert list(found) == ["absolute", "min-max", "reciprocal ranks", "as shipped"]
    assert {row["nDCG@10"]["n"] for row in found.values()} == {20}
    assert results["weights"]["absolute"]["dense"] == 1.0
    assert [c["b"] for c in results["comparisons"]] == ["absolute", "min-max", "reciprocal ranks"]
    assert "toy (train): 20 queries" in print_fusion(results)
    assert (LEXICAL_WEIGHT, LATE_WEIGHT) > (0, 0)

    monkeypatch.setenv("CITEWELL_CACHE", str(config.cache))
    assert main(["eval", "fusion", str(beir), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == results
