"""The embedding model: sentence-transformers behind LlamaIndex's ``BaseEmbedding``."""

from __future__ import annotations

import os
import re
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from numpy.typing import NDArray

from rag.distill import static_vectors
from rag.errors import ModelError
from rag.fingerprint import fingerprint

Vectors = NDArray[np.float32]
_WINDOW = 254  # of a static model that does not say
_TOKENS = 512
_WORD = re.compile(r"\w+")


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
    _tokenizer: Any = PrivateAttr()
    _static: bool = PrivateAttr()
    _batch: int = PrivateAttr()
    _lock: Any = PrivateAttr()
    _recent: OrderedDict[str, Vectors] = PrivateAttr()
    _recent_tokens: OrderedDict[str, Vectors] = PrivateAttr()

    @classmethod
    def load(cls, folder: Path) -> Embedder:
        """The model in ``folder``, which the hub is not asked about. Raises ModelError where it cannot be read."""
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import StaticEmbedding
        from tokenizers import Tokenizer

        try:
            model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        except Exception as error:  # whatever the many loaders below raise, the reader needs the one line
            raise ModelError(
                f"{folder} cannot be loaded as an embedding model ({type(error).__name__}: {error}); "
                "run 'citewell models verify' or set 'embedder' to a sentence-transformers model"
            ) from error
        tokenizer = Tokenizer.from_str(getattr(model.tokenizer, "backend_tokenizer", model.tokenizer).to_str())
        static = isinstance(model[0], StaticEmbedding)
        if static:  # reads on for ever, unless its tokenizer says otherwise
            window = int((tokenizer.truncation or {"max_length": _WINDOW})["max_length"])
        else:
            window = int(model.max_seq_length or 512) - 2
        tokenizer.no_truncation()
        tokenizer.no_padding()
        dimension = model.get_embedding_dimension()
        embedder = cls(
            model_name=folder.name,
            fingerprint=fingerprint(folder),
            window=window,
            dimension=int(dimension or 0),
        )
        embedder._model, embedder._tokenizer = model, tokenizer
        embedder._static, embedder._batch = static, 512 if static else 32
        return embedder

    def distill(self, folder: Path) -> None:
        """Writes a static model of the same vocabulary and window into ``folder``, for ``load``; see rag.distill.

        The same bytes come of the same model. Raises ModelError for a model that cannot be distilled.
        """
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import StaticEmbedding
        from tokenizers import Tokenizer

        if self._static:
            raise ModelError(f"{self.model_name} cannot be distilled: it is static already")
        frame = self._tokenizer.encode("").ids
        if len(frame) != 2:
            raise ModelError(f"{self.model_name} cannot be distilled: its texts are not framed by two special tokens")
        size = self._tokenizer.get_vocab_size()
        rows = []
        for at in range(0, size, _TOKENS):
            framed = [[frame[0], token, frame[1]] for token in range(at, min(size, at + _TOKENS))]
            found = self._model(dict(self._model.tokenizer.pad({"input_ids": framed}, return_tensors="pt")))
            rows.append(found["token_embeddings"].mean(dim=1).detach().numpy())
        vectors = static_vectors(np.concatenate(rows), [self._tokenizer.id_to_token(i) for i in range(size)])
        tokenizer = Tokenizer.from_str(self._tokenizer.to_str())
        tokenizer.enable_truncation(self.window)
        SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=vectors)], device="cpu").save(
            str(folder), create_model_card=False
        )

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._lock = threading.Lock()
        self._recent = OrderedDict()
        self._recent_tokens = OrderedDict()

    def encode(self, texts: Sequence[str], *, on_batch: Callable[[int], None] | None = None) -> Vectors:
        """Unit vectors of ``texts``: (n, dimension) float32, row i for text i.

        ``on_batch`` is told after each batch how many texts are done.
        """
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        done = 0
        for batch in _batches(texts, self._batch):
            with self._lock:
                out[batch] = self._model.encode(
                    [texts[i] for i in batch],
                    batch_size=self._batch,
                    normalize_embeddings=True,
                    convert_to_numpy=True,
                    show_progress_bar=False,
                )
            done += len(batch)
            if on_batch:
                on_batch(done)
        return out

    def read(
        self, texts: Sequence[str], *, on_batch: Callable[[int], None] | None = None
    ) -> tuple[Vectors, list[Vectors]]:
        """As ``encode``, and from the same pass the unit vectors of each text's tokens: (t_i, dimension) for text i.

        Token lists are empty where the model has no vectors of tokens in their context.
        """
        tokens: list[Vectors] = [np.empty((0, self.dimension), dtype=np.float32)] * len(texts)
        if self._static:
            return self.encode(texts, on_batch=on_batch), tokens
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        done = 0
        for batch in _batches(texts, self._batch):
            with self._lock:
                read = self._model.encode(
                    [texts[i] for i in batch], batch_size=self._batch, output_value=None, show_progress_bar=False
                )
            for i, item in zip(batch, read, strict=True):
                out[i] = _unit(item["sentence_embedding"].float().numpy())
                if "token_embeddings" in item:
                    rows = item["token_embeddings"][item["attention_mask"].bool()]
                    tokens[i] = _unit(rows.float().numpy())
            done += len(batch)
            if on_batch:
                on_batch(done)
        return out, tokens

    def questions(self, texts: Sequence[str]) -> tuple[Vectors, list[Vectors]]:
        """As ``read``, but what was asked lately is not embedded again."""
        missing = [t for t in dict.fromkeys(texts) if t not in self._recent_tokens or t not in self._recent]
        if missing:
            vectors, tokens = self.read(missing)
            self._recent.update(zip(missing, vectors, strict=True))
            self._recent_tokens.update(zip(missing, tokens, strict=True))
        for text in texts:
            self._recent_tokens.move_to_end(text)
        vectors = np.stack([self._recent[t] for t in texts])
        held = [self._recent_tokens[t] for t in texts]
        while len(self._recent_tokens) > 1024:
            self._recent_tokens.popitem(last=False)
        return vectors, held

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
        return [len(e) for e in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the tokens of ``text``, special ones not counted."""
        return [(int(a), int(b)) for a, b in self._tokenizer.encode(text, add_special_tokens=False).offsets]

    def token_words(self, text: str, tokens: int) -> list[str]:
        """The word that each of the first ``tokens`` tokens of ``text`` is part of, as ``read`` gives their vectors; "" for
        a special one and for signs."""
        encoding = self._tokenizer.encode(text)
        spans = [m.span() for m in _WORD.finditer(text)]
        firsts = [a for a, _ in spans]
        found = []
        for special, (a, b) in zip(encoding.special_tokens_mask, encoding.offsets, strict=True):
            at = bisect_right(firsts, a) - 1
            found.append("" if special or at < 0 or b > spans[at][1] else text[slice(*spans[at])])
        return (found + [""] * tokens)[:tokens]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self.remember([query])[0].tolist()  # type: ignore[no-any-return]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self.encode([text])[0].tolist()  # type: ignore[no-any-return]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self.encode(texts).tolist()  # type: ignore[no-any-return]


def _batches(texts: Sequence[str], size: int) -> Iterator[list[int]]:
    """Positions of ``texts`` in batches of ``size``; texts of about one length pad each other little."""
    order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), i))
    for at in range(0, len(order), size):
        yield order[at : at + size]


def _unit(rows: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12), dtype=np.float32)
