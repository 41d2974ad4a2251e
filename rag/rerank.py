"""A cross-encoder, which reads the question and a paper together: slower and surer than comparing their vectors.

Off unless the setting ``reranker`` names one; any ``CrossEncoder`` of sentence-transformers with one score a pair will do.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.errors import ModelError

DEPTH = 30
"""Papers that are read with the question: at 25 to 150 ms each on two cores, what a reader waits for."""
_BATCH = 16


class Reranker:
    """A cross-encoder on the CPU; safe to share between threads."""

    def __init__(self, model: Any, name: str) -> None:
        self._model = model
        self._lock = threading.Lock()
        self.name = name

    @classmethod
    def load(cls, folder: Path) -> Reranker:
        """The model in ``folder``, which the hub is not asked about.

        Raises ModelError where it cannot be read, or does not give one score for a pair of texts.
        """
        from sentence_transformers import CrossEncoder
        from transformers import AutoConfig

        try:
            config = AutoConfig.from_pretrained(str(folder), local_files_only=True)
            kinds = config.architectures or []
            if not any("ForSequenceClassification" in kind for kind in kinds) or config.num_labels != 1:
                # an encoder would load too, with a head drawn at random
                raise ValueError(f"it is {', '.join(kinds) or 'of no known kind'} with {config.num_labels} labels")
            model = CrossEncoder(str(folder), device="cpu", local_files_only=True)
        except Exception as error:  # whatever the many loaders below raise, the reader needs the one line
            raise ModelError(
                f"{folder} cannot be loaded as a cross-encoder ({type(error).__name__}: {' '.join(str(error).split())}); set "
                "'reranker' to a CrossEncoder of sentence-transformers with one score a pair, or leave it empty"
            ) from error
        return cls(model, folder.name)

    def scores(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """How well each text answers the question: (n,) float64, higher is better, of the model's own scale. A text is cut
        where the model's window ends."""
        if not texts:
            return np.empty(0)
        with self._lock:
            found = self._model.predict([(question, t) for t in texts], batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(found, dtype=np.float64)
