"""The embedding model: sentence-transformers behind LlamaIndex's ``BaseEmbedding``; the only importer of it."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from numpy.typing import NDArray

from rag.errors import ModelError
from rag.fingerprint import fingerprint

Vectors = NDArray[np.float32]


class Embedder(BaseEmbedding):
    """Texts to unit vectors, on the CPU.

    Plugs into any LlamaIndex application as its embedding model; ``encode`` is the fast way for many texts.
    """

    fingerprint: str
    """Twelve hex digits over the model's configuration and weights: equal prints, equal vectors."""
    window: int
    """Tokens of a text the model reads, its two special ones not counted; it cuts the rest in silence."""
    dimension: int
    _model: Any = PrivateAttr()
    _lock: Any = PrivateAttr()
    _recent: OrderedDict[str, Vectors] = PrivateAttr()

    @classmethod
    def load(cls, folder: Path) -> Embedder:
        """The model in ``folder``, which the hub is not asked about. Raises ModelError where it cannot be read."""
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from sentence_transformers import SentenceTransformer

        try:
            model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        except Exception as error:  # whatever the many loaders below raise, the reader needs the one line
            raise ModelError(
                f"{folder} cannot be loaded as an embedding model ({type(error).__name__}: {error}); "
                "run 'citewell models verify' or set 'embedder' to a sentence-transformers model"
            ) from error
        window = int(model.max_seq_length or 512) - 2
        dimension = model.get_embedding_dimension()
        embedder = cls(
            model_name=folder.name,
            fingerprint=fingerprint(folder),
            window=window,
            dimension=int(dimension or 0),
        )
        embedder._model = model
        return embedder

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._lock = threading.Lock()
        self._recent = OrderedDict()

    def encode(self, texts: Sequence[str], *, on_batch: Callable[[int], None] | None = None) -> Vectors:
        """Unit vectors of ``texts``: (n, dimension) float32, row i for text i.

        ``on_batch`` is told after each batch how many texts are done.
        """
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), i))  # texts of a length pad each other little
        size = 32
        for at in range(0, len(order), size):
            batch = order[at : at + size]
            with self._lock:
                out[batch] = self._model.encode(
                    [texts[i] for i in batch],
                    batch_size=size,
                    normalize_embeddings=True,
                    convert_to_numpy=True,
                    show_progress_bar=False,
                )
            if on_batch:
                on_batch(at + len(batch))
        return out

    def remember(self, texts: Sequence[str]) -> Vectors:
        """As ``encode``, but texts seen lately (the last 4,096) are not embedded again."""
        missing = list(dict.fromkeys(t for t in texts if t not in self._recent))
        fresh = dict(zip(missing, self.encode(missing), strict=True)) if missing else {}
        rows = []
        for text in texts:
            vector = fresh[text] if text in fresh else self._recent[text]
            self._recent[text] = vector
            self._recent.move_to_end(text)
            rows.append(vector)
        while len(self._recent) > 4096:
            self._recent.popitem(last=False)
        return np.stack(rows) if rows else np.empty((0, self.dimension), dtype=np.float32)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special ones not counted."""
        encoded = self._model.tokenizer(list(texts), add_special_tokens=False, truncation=False, verbose=False)
        return [len(ids) for ids in encoded["input_ids"]]

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the tokens of ``text``, special ones not counted."""
        encoded = self._model.tokenizer(
            text, add_special_tokens=False, truncation=False, return_offsets_mapping=True, verbose=False
        )
        return [(int(a), int(b)) for a, b in encoded["offset_mapping"]]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self.remember([query])[0].tolist()  # type: ignore[no-any-return]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self.encode([text])[0].tolist()  # type: ignore[no-any-return]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self.encode(texts).tolist()  # type: ignore[no-any-return]
