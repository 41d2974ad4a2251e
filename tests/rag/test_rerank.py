"""Reranking: a real cross-encoder with random weights, made here, and one that records what it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pytest
from numpy.typing import NDArray

from rag.build import open_library
from rag.config import Config, load_config
from rag.embed import Embedder
from rag.errors import ModelError
from rag.library import Library
from rag.rerank import DEPTH, Reranker
from rag.retrieve import CitewellRetriever

QUESTION = "How can a retriever build its graph without spending language-model tokens?"


@dataclass
class ShortestFirst:
    """Prefers short papers; keeps what it was asked."""

    asked: list[tuple[str, list[str]]] = field(default_factory=list)

    def scores(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        self.asked.append((question, list(texts)))
        return np.array([-len(t) for t in texts], dtype=np.float64)


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of one small layer over letters, as a folder that sentence-transformers reads."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder = tmp_path_factory.mktemp("cross-encoder")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *ascii_lowercase, *(f"##{c}" for c in ascii_lowercase)]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=256).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=256,
        num_labels=1,
        initializer_range=0.2,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_the_first_papers_are_put_in_the_order_of_the_cross_encoder(
    seeds_config: Config, embedder: Embedder, seeds_library: Library
) -> None:
    plain = CitewellRetriever(seeds_library).search(QUESTION, k=71)
    library, reranker = open_library(seeds_config, embedder), ShortestFirst()
    library.reranker = reranker  # type: ignore[assignment]
    hits = CitewellRetriever(library).search(QUESTION, k=71)
    head = [h.paper for h in plain[:DEPTH]]
    assert reranker.asked == [(QUESTION, [f"{p.title}\n{p.abstract}".strip() for p in head])]
    wanted = sorted(head, key=lambda p: (len(f"{p.title}\n{p.abstract}".strip()), p.paper_id))
    assert [h.paper for h in hits] == wanted + [h.paper for h in plain[DEPTH:]]
    assert [h.score for h in hits] == [h.score for h in plain], "the scores are dealt out anew"
    legs = {h.paper.paper_id: (h.dense, h.lexical, h.late) for h in plain}
    assert {h.paper.paper_id: (h.dense, h.lexical, h.late) for h in hits} == legs
    assert [h.paper for h in CitewellRetriever(library).search(QUESTION, k=3)] == wanted[:3]
    library.close()


def test_a_cross_encoder_that_the_settings_name_scores_pairs(
    seeds_config: Config, embedder: Embedder, cross_encoder: Path
) -> None:
    config = load_config({"data": seeds_config.data, "reranker": str(cross_encoder)})
    library = open_library(config, embedder)
    assert library.reranker is not None
    hits = CitewellRetriever(library).search(QUESTION, k=DEPTH)
    texts = [f"{h.paper.title}\n{h.paper.abstract}".strip() for h in hits]
    scores = library.reranker.scores(QUESTION, texts)
    assert scores.shape == (DEPTH,)
    assert len(set(scores.round(6).tolist())) > DEPTH / 2
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)
    assert library.reranker.scores(QUESTION, []).tolist() == []
    library.close()


def test_without_the_setting_there_is_none(seeds_library: Library) -> None:
    assert seeds_library.reranker is None


def test_what_is_no_cross_encoder_is_refused(cross_encoder: Path, tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    BertModel(BertConfig(vocab_size=11, hidden_size=16, num_hidden_layers=1, num_attention_heads=2)).save_pretrained(
        tmp_path
    )
    for folder in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(
            ModelError, match=r"cannot be loaded as a cross-encoder .* set 'reranker' to a CrossEncoder"
        ):
            Reranker.load(folder)
