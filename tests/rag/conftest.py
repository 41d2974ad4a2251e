"""A fast stand-in for the embedding model, and files of abstracts to index."""

from __future__ import annotations

import hashlib
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

GRAPHS = "We propose GraphFoo, a method that prunes large graphs quickly. It needs no training at all."
TREES = "We study BarTree, a family of trees with many leaves. Its depth grows slowly under mild assumptions."
SOUNDS = "We present SoundBaz, a codec for speech at very low rates. Listeners prefer it in blind tests."


@dataclass
class FakeEmbedder:
    """Bags of words as unit vectors: a token is a word, and a text is near those that share its words.

    Keeps what it was asked to encode; raises after ``survives`` calls of ``encode``, if that is set.
    """

    fingerprint: str = "fake00000001"
    model_name: str = "fake"
    window: int = 24
    dimension: int = 64
    survives: int | None = None
    calls: list[list[str]] = field(default_factory=list)

    @property
    def encoded(self) -> list[str]:
        return [text for call in self.calls for text in call]

    def encode(self, texts: Sequence[str], *, on_batch: Callable[[int], None] | None = None) -> NDArray[np.float32]:
        if self.survives is not None and len(self.calls) >= self.survives:
            raise RuntimeError("the power went off")
        self.calls.append(list(texts))
        rows = np.full((len(texts), self.dimension), 1e-6, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[hashlib.sha256(word.encode()).digest()[0] % self.dimension] += 1
        if on_batch:
            on_batch(len(texts))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def remember(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.encode(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\S+", text)]


@pytest.fixture
def fake() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def fakes() -> type[FakeEmbedder]:
    return FakeEmbedder


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes abstracts to a file of the folder ``sources``, blank lines between; returns its path."""

    def written(name: str, *abstracts: str) -> Path:
        path = tmp_path / "sources" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(abstracts) + "\n", encoding="utf-8")
        return path

    return written


@pytest.fixture
def sources(write: Callable[..., Path]) -> Path:
    """A folder of two files: graphs and trees in one, trees again and sounds in the other."""
    write("one.txt", GRAPHS, TREES)
    return write("two.txt", TREES, SOUNDS).parent


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever resolves a name or connects to another machine fails the test."""

    def refused(*args: object, **options: object) -> None:
        raise AssertionError(f"the network was used: {args}")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
