from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rag import distill, models
from rag.distill import static_vectors
from rag.embed import Embedder
from rag.errors import ModelError
from rag.models import list_models, resolve

WORDS = ["the", "of", "graph", "graphs", "tree", "trees", "speech", "codec", "##s", "prune", "leaf", "robot", "loss"]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers model of the default one's kind, of no worth but complete."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizer

    torch.manual_seed(7)
    folder = tmp_path_factory.mktemp("teacher")
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", *WORDS]
    BertTokenizer(vocab={token: i for i, token in enumerate(vocab)}).save_pretrained(folder / "bert")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(vocab), max_position_embeddings=64, **sizes)).save_pretrained(folder / "bert")
    transformer = Transformer(str(folder / "bert"), max_seq_length=32)
    modules = [transformer, Pooling(transformer.get_embedding_dimension())]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "teacher"), create_model_card=False)
    return folder / "teacher"


@pytest.fixture
def cache(tmp_path: Path, teacher: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache whose default embedder is the small teacher."""
    real = models.resolve

    def resolved(name: str, **options: object) -> Path:
        return teacher if name == "all-MiniLM-L6-v2" else real(name, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(models, "resolve", resolved)
    return tmp_path / "cache"


def test_the_fast_embedder_is_made_once_and_loads_like_any_other(
    cache: Path, teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = resolve("Fast", cache=cache, progress=False)
    assert folder == cache / "models" / f"fast-{distill.VERSION}"
    monkeypatch.setattr(Embedder, "distill", None)  # not called again
    assert resolve("fast", cache=cache, progress=False) == folder
    fast, slow = Embedder.load(folder), Embedder.load(teacher)
    assert (fast.window, slow.window, fast.dimension) == (30, 30, 16)
    vectors = fast.encode(["graph tree", "tree graph", "speech codec loss"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.allclose(vectors[0], vectors[1], atol=1e-6)  # a mean has no order
    texts = ["prune the graphs", "", "[MASK] leaf"]
    assert fast.count_tokens(texts) == slow.count_tokens(texts)
    assert fast.token_offsets("robots  leaf") == slow.token_offsets("robots  leaf") == [(0, 5), (5, 6), (8, 12)]
    assert fast.fingerprint != slow.fingerprint


def test_the_fast_embedder_reads_no_further_than_its_window(cache: Path) -> None:
    fast = Embedder.load(resolve("fast", cache=cache, progress=False))
    assert np.array_equal(*fast.encode([" ".join(["graph"] * 30 + ["loss"] * 9), "graph " * 30]))
    assert fast.encode([""]).shape == (1, fast.dimension)


def test_the_same_model_comes_of_the_same_one(teacher: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        Embedder.load(teacher).distill(tmp_path / name)
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / n).rglob("*") if p.is_file()} for n in ("one", "two"))
    assert one == two


def test_making_that_broke_off_leaves_nothing_that_looks_whole(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(self: Embedder, folder: Path) -> None:
        folder.mkdir()
        (folder / "modules.json").write_text("[]")
        raise RuntimeError("the power went off")

    with monkeypatch.context() as patch:
        patch.setattr(Embedder, "distill", breaks)
        with pytest.raises(RuntimeError):
            resolve("fast", cache=cache, progress=False)
    assert not [s for s in list_models(cache) if s.name == "fast" and s.present]
    folder = resolve("fast", cache=cache, progress=False)
    (state,) = [s for s in list_models(cache) if s.name == "fast"]
    assert (state.kind, state.licence, state.present, state.path) == ("embedding", "Apache-2.0", True, folder)
    assert state.size == sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def test_a_static_model_is_not_distilled_again(cache: Path, tmp_path: Path) -> None:
    fast = Embedder.load(resolve("fast", cache=cache, progress=False))
    with pytest.raises(ModelError, match=r"cannot be distilled: it is static already$"):
        fast.distill(tmp_path / "again")


def test_rare_tokens_weigh_more_and_special_ones_nothing() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(300, 8)).astype(np.float32)
    tokens = ["[CLS]", "[unused1]", *(f"w{i}" for i in range(298))]
    found = static_vectors(vectors, tokens)
    assert (found.shape, found.dtype) == ((300, 8), np.dtype(np.float32))
    assert not found[:2].any()
    lengths = np.linalg.norm(found, axis=1)
    assert lengths[2:52].mean() < lengths[-50:].mean()
    assert np.array_equal(static_vectors(vectors, tokens), found)
    away = static_vectors(vectors + np.float32(5), tokens)
    assert np.allclose(away, found, atol=1e-4)  # a shift of all says nothing
