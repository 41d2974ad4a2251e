"""Another language model by configuration: a real OpenAI-compatible server on this machine, the engine's own."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole

from rag.answer import CitewellQueryEngine
from rag.build import load_llm, open_engine
from rag.config import Config, load_config
from rag.errors import ConfigError, ModelError
from rag.library import Library
from rag.llms.embedded import EmbeddedLLM
from rag.records import Finished, Found, Token
from rag.retrieve import CitewellRetriever

QUESTION = "By how much does GeoSPRINT improve FID on CIFAR-10 over DDIM?"


def settings(folder: Path, **values: Any) -> Config:
    return load_config(values, environ={}, folder=folder)


@pytest.fixture
def dead() -> str:
    """An address at which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def test_a_chat_is_streamed_from_a_server(smol: EmbeddedLLM, tmp_path: Path) -> None:
    llm = load_llm(settings(tmp_path, llm_url=f"{smol.address}/v1", llm_model="smol", context=1024))
    messages = [
        ChatMessage(role=MessageRole.SYSTEM, content="You are terse."),
        ChatMessage(role=MessageRole.USER, content="Name three colours."),
    ]
    parts = list(llm.stream_chat(messages, max_tokens=16))
    text = "".join(p.delta or "" for p in parts)
    assert text.strip()
    assert parts[-1].message.content == text
    assert len([p for p in parts if p.delta]) > 3
    assert llm.chat(messages, max_tokens=16).message.content
    assert (llm.metadata.model_name, llm.metadata.is_chat_model, llm.metadata.context_window) == ("smol", True, 1024)


def test_a_question_is_answered_by_way_of_a_server(
    smol: EmbeddedLLM, seeds_library: Library, keeps_the_contract: Callable[..., None], tmp_path: Path
) -> None:
    llm = load_llm(settings(tmp_path, llm_url=f"{smol.address}/v1", llm_model="smol", llm_key="not-a-key"))
    # so small a model is asked for an answer whatever it thinks of the evidence
    engine = CitewellQueryEngine(CitewellRetriever(seeds_library), llm, evidence_tokens=150, threshold=0.0)
    events = list(engine.stream(QUESTION))
    assert any(isinstance(e, Token) and e.text for e in events)
    last = events[-1]
    assert isinstance(last, Finished)
    keeps_the_contract(last.answer, seeds_library)
    assert last.answer.llm == "smol"
    assert last.answer.status == "answered"
    assert "0.7" in last.answer.text


def test_the_engine_is_put_together_from_the_settings(
    smol: EmbeddedLLM, seeds_config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(
        tmp_path, data=seeds_config.data, cache=seeds_config.cache, llm_url=f"{smol.address}/v1", llm_model="smol"
    )
    engine = open_engine(config)
    assert len(engine.library) == 71
    assert engine.ask("Hello!").llm == "smol"
    engine.library.close()


def test_a_dead_address_is_said_in_one_line_after_the_papers(seeds_library: Library, dead: str, tmp_path: Path) -> None:
    llm = load_llm(settings(tmp_path, llm_url=dead, llm_model="gone", llm_timeout=5))
    engine = CitewellQueryEngine(CitewellRetriever(seeds_library), llm)
    expected = r"^the language model gone failed \(APIConnectionError: .*\); check that its server runs .*'llm_url'.*$"
    seen = []
    with pytest.raises(ModelError, match=expected):
        seen.extend(type(e) for e in engine.stream(QUESTION))
    with pytest.raises(ModelError, match=expected):
        engine.ask("GeoSPRINT 在 CIFAR-10 上提升了多少？")
    with pytest.raises(ModelError, match=expected):
        engine.query(QUESTION)
    for event in engine.stream(QUESTION):
        if isinstance(event, Found):
            assert event.hits[0].paper.label == "GeoSPRINT"
            break


def test_what_needs_no_model_works_without_one(seeds_library: Library, dead: str, tmp_path: Path) -> None:
    llm = load_llm(settings(tmp_path, llm_url=dead, llm_model="gone"))
    engine = CitewellQueryEngine(CitewellRetriever(seeds_library), llm)
    assert engine.ask("Hello!").reason == "not-a-question"
    assert engine.ask("Which wine goes with tiramisu?").reason == "not-in-library"


def test_an_address_without_a_model_is_a_fault_of_the_settings(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="llm_url is set but llm_model is not"):
        load_llm(settings(tmp_path, llm_url="http://127.0.0.1:1/v1"))
