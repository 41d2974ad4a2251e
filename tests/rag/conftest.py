"""Stand-ins for the embedding model and the language model, abstracts to index, and what every answer keeps."""

from __future__ import annotations

import hashlib
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms.callbacks import llm_chat_callback
from llama_index.core.llms.custom import CustomLLM
from numpy.typing import NDArray

from rag.prompt import answer_prompt, standalone_prompt, to_english_prompt
from rag.records import Answer

if TYPE_CHECKING:
    from rag.library import Library
    from rag.llms.embedded import EmbeddedLLM

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

    def read(
        self, texts: Sequence[str], *, on_batch: Callable[[int], None] | None = None
    ) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
        """As a static model's: no token has a vector of its own."""
        return self.encode(texts, on_batch=on_batch), [np.empty((0, self.dimension), dtype=np.float32) for _ in texts]

    def questions(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
        return self.read(texts)

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


@dataclass
class Call:
    """What the scripted model was asked for (told, premise, answer, standalone, to-english, from-english), and how far it got."""

    task: str
    messages: list[ChatMessage]
    options: dict[str, Any]
    said: list[str] = field(default_factory=list)
    ended: str = ""
    """ "whole" when all was said, "closed" when the reader left before."""

    @property
    def asked(self) -> str:
        """The last message, after the fixed beginning."""
        return self.messages[-1].content or ""


Reply = str | Exception | Callable[[Call], str]
_FIXED = {
    answer_prompt("", [], {})[0].content: "answer",
    standalone_prompt("", [], [])[0].content: "standalone",
    to_english_prompt("")[0].content: "to-english",
}


class ScriptedLLM(CustomLLM):
    """A LlamaIndex LLM that says what it is told to, word by word, and keeps every call.

    ``script`` gives the reply to each task: a text, an error to raise, or a function of the call; an error that
    stands in ``breaks`` is raised after the text.
    """

    script: dict[str, Any]
    breaks: Any = None
    _calls: list[Call] = PrivateAttr(default_factory=list)

    @property
    def calls(self) -> list[Call]:
        return self._calls

    @property
    def tasks(self) -> list[str]:
        return [call.task for call in self._calls]

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted-7b", is_chat_model=True)

    def _begin(self, messages: Sequence[ChatMessage], options: dict[str, Any]) -> tuple[Call, str]:
        task = _FIXED.get(messages[0].content, "from-english")
        asked = (messages[-1].content or "").rpartition("\n\nQuestion: ")[2]
        if task == "answer" and asked.endswith("Answer Yes or No."):
            task = "told" if asked.startswith("Does the evidence answer the question") else "premise"
        call = Call(task, list(messages), options)
        self._calls.append(call)
        reply: Reply = self.script.get(call.task, "")
        if isinstance(reply, Exception):
            raise reply
        return call, reply if isinstance(reply, str) else reply(call)

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        call, text = self._begin(messages, kwargs)
        call.said, call.ended = [text], "whole"
        return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=text))

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        def pieces() -> ChatResponseGen:
            call, text = self._begin(messages, kwargs)
            whole = ""
            try:
                for piece in re.findall(r"\s*\S+|\s+", text):
                    whole += piece
                    call.said.append(piece)
                    yield ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=whole), delta=piece)
                if self.breaks:
                    raise self.breaks
                call.ended = "whole"
            except GeneratorExit:
                call.ended = "closed"
                raise

        return pieces()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise AssertionError("a chat model is asked by chat")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        raise AssertionError("a chat model is asked by chat")


@pytest.fixture(scope="session")
def scripted() -> Callable[..., ScriptedLLM]:
    """Makes a language model: ``scripted(answer="…", standalone="…", breaks=…)``; ``to_english`` and ``from_english``
    are the translations."""

    def make(*, breaks: Exception | None = None, **script: Reply) -> ScriptedLLM:
        return ScriptedLLM(script={task.replace("_", "-"): reply for task, reply in script.items()}, breaks=breaks)

    return make


_MARKER = re.compile(r"[\[【［]\s*\d+\s*[\]】］]")


@pytest.fixture(scope="session")
def keeps_the_contract() -> Callable[[Answer, Library], None]:
    """Checks what holds for every answer, whatever the language model said."""

    def check(answer: Answer, library: Library) -> None:
        abstracts = {p.paper_id: p.abstract for p in library.papers([c.paper_id for c in answer.citations])}
        for citation in answer.citations:
            assert 0 <= citation.start < citation.end <= len(abstracts[citation.paper_id])
            assert citation.quote == abstracts[citation.paper_id][citation.start : citation.end]
        assert [c.marker for c in answer.citations] == list(range(1, len(answer.citations) + 1))
        shown = [n for s in answer.sentences for n in s.citations]
        assert list(dict.fromkeys(shown)) == [c.marker for c in answer.citations]
        written = []
        for sentence in answer.sentences:
            assert sentence.verdict in ("supported", "partial")
            assert 1 <= len(sentence.citations) <= 3
            if sentence.quoted:
                assert [answer.citations[n - 1].quote for n in sentence.citations] == [sentence.text]
            else:
                assert not _MARKER.search(sentence.text)
            marks = "".join(f"[{n}]" for n in sentence.citations)
            stop = sentence.text[-1] if not sentence.quoted and sentence.text[-1] in ".!?。！？" else ""
            bare = sentence.text.removesuffix(stop).rstrip() if stop else sentence.text
            written.append(f"“{bare}” {marks}" if sentence.quoted else f"{bare} {marks}{stop}")
        if answer.status == "abstained":
            assert answer.text
            assert (answer.sentences, answer.citations) == ((), ())
            assert answer.reason
        else:
            assert answer.text == " ".join(written)
            assert answer.sentences
            assert answer.reason == ""
        assert 0 <= answer.confidence <= 1

    return check


@pytest.fixture(scope="session")
def smol() -> Iterator[EmbeddedLLM]:
    """The real engine with SmolLM2-135M, fetched when it is not in the cache; 1,024 tokens a conversation."""
    from rag import models
    from rag.config import load_config
    from rag.llms.embedded import EmbeddedLLM

    path = models.resolve("SmolLM2-135M-Instruct", cache=load_config().cache)
    llm = EmbeddedLLM.load(path, threads=2, context=1024, max_tokens=48)
    yield llm
    llm.close()
