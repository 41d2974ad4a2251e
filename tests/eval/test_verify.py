from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.falsify import negated, other_figure, other_name
from eval.fit import fit_stance, multinomial
from eval.scifact import Claim, SciFact, claims
from eval.verify import auroc, measure_claims, print_verify
from rag.errors import CitewellError
from rag.stance import CLASSES, FEATURES


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ("KITE reduces the error by 72%.", "KITE reduces the error by 12%."),
        ("It covers 120,845 stations.", "It covers 420,845 stations."),
        ("KITE prunes GPT-4 and CIFAR10.", None),
        ("Nothing to count.", None),
    ],
)
def test_a_figure_is_changed_and_never_to_a_known_one(said: str, changed: str | None) -> None:
    assert other_figure(said, {"120845", "72"}) == changed


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        ("KITE reduces the error.", "KITE does not reduce the error."),
        ("KITE achieves 3%.", "KITE does not achieve 3%."),
        ("KITE is fast.", "KITE is not fast."),
        ("KITE does not need labels.", "KITE does need labels."),
        ("KITE cannot see.", "KITE can see."),
        ("Nothing here.", None),
    ],
)
def test_a_verb_is_negated_or_its_negation_taken_out(said: str, changed: str | None) -> None:
    assert negated(said) == changed


def test_a_name_is_changed_only_where_it_stands_alone() -> None:
    assert other_name("KITE and KITES fly.", "KITE", "ORCA") == "ORCA and KITES fly."
    assert other_name("Nobody flies.", "KITE", "ORCA") is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_auroc_counts_pairs(up: list[float], down: list[float]) -> None:
    found = auroc([*up, *down], [True] * len(up) + [False] * len(down))
    pairs = [(a > b) + 0.5 * (a == b) for a in up for b in down]
    assert found == pytest.approx(sum(pairs) / len(pairs))


def test_the_softmax_regression_finds_what_tells_classes_apart() -> None:
    rng = np.random.default_rng(3)
    labels = np.arange(90) % 3
    rows = np.eye(3)[labels] + rng.normal(0, 0.1, (90, 3))
    weights, bias = multinomial(rows, labels, penalty=1.0)
    assert ((rows @ weights.T + bias).argmax(axis=1) == labels).all()


def test_the_fitted_model_names_its_features_and_classes() -> None:
    rng = np.random.default_rng(3)
    model = json.loads(fit_stance(rng.normal(size=(30, len(FEATURES))), list(CLASSES) * 10))
    assert (model["features"], model["classes"]) == (list(FEATURES), list(CLASSES))
    assert np.array(model["weights"]).shape == (3, len(FEATURES))


@pytest.fixture
def scifact(tmp_path: Path) -> Path:
    """Two abstracts and four claims, for training and for testing."""
    rows = [
        {"_id": "1", "title": "Aspirin", "sentences": ["We gave aspirin to adults. \\n", "Aspirin lowered fever."]},
        {"_id": "2", "title": "Whales", "sentences": ["Whales sing in winter.", "Their songs change."]},
    ]
    with gzip.open(tmp_path / "corpus.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(json.dumps(r) for r in rows) + "\n")

    def claim(ident: str, text: str, paper: str, label: str = "") -> dict[str, Any]:
        evidence = [{"doc_id": paper, "label": label, "sentences": [1]}] if label else []
        return {"id": ident, "claim": text, "cited_doc_ids": [paper], "evidence": evidence}

    said = [
        claim("1", "Aspirin reduces fever.", "1", "SUPPORT"),
        claim("2", "Aspirin increases fever.", "1", "CONTRADICT"),
        claim("3", "Aspirin helps whales.", "2"),
        claim("4", "Songs change.", "2", "SUPPORT"),
        claim("5", "Songs never change.", "2", "CONTRADICT"),
        claim("6", "Adults sing.", "1"),
    ]
    for split in ("train", "dev"):
        (tmp_path / f"claims_{split}.jsonl").write_text("\n".join(json.dumps(c) for c in said) + "\n")
    return tmp_path


def test_claims_are_read_with_what_their_abstracts_say(scifact: Path) -> None:
    data = SciFact.load(scifact)
    assert data.papers["1"].abstract == "We gave aspirin to adults. Aspirin lowered fever."
    assert all(data.papers[p.paper_id].abstract[p.start : p.end] == p.text for ps in data.passages.values() for p in ps)
    assert claims(scifact, "dev")[:3] == [
        Claim("1", "Aspirin reduces fever.", "1", "supported", (1,)),
        Claim("2", "Aspirin increases fever.", "1", "contradicted", (1,)),
        Claim("3", "Aspirin helps whales.", "2", "unsupported"),
    ]


def test_a_folder_without_claims_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CitewellError, match=r"corpus\.jsonl\.gz is no corpus of SciFact"):
        SciFact.load(tmp_path)
    with pytest.raises(CitewellError, match=r"claims_dev\.jsonl holds no claims"):
        claims(tmp_path, "dev")


class Letters:
    """Stands in for the embedding model: counts of letters as unit vectors."""

    def remember(self, texts: Sequence[str]) -> Any:
        rows = np.array([[1e-3 + t.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for t in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_every_claim_is_judged_and_every_group_of_features_tried(scifact: Path) -> None:
    embedder: Any = Letters()
    results = measure_claims(scifact, "dev", embedder)
    assert results["pairs"] == 6
    assert results["by_stance"] == {"supported": 2, "contradicted": 2, "unsupported": 2}
    assert sum(n for row in results["confusion"].values() for n in row.values()) == 6
    assert results["confusion"]["supported"]["contradicted"] == 0
    assert {"all", "only polarity", "without lexical"} <= results["inner_folds"].keys()
    json.dumps(results, allow_nan=False)
    assert "macro F1" in print_verify({"claims": results})
