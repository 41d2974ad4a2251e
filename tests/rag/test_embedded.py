"""The real engine with a real, small model; too weak to answer, so what it says does not matter here."""

from __future__ import annotations

import json
import math
import threading
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms.llm import LLM

from rag.errors import ModelError
from rag.llms.embedded import EmbeddedLLM


def user(text: str) -> list[ChatMessage]:
    return [ChatMessage(role=MessageRole.USER, content=text)]


def at_rest(within: float = 60) -> bool:
    """Whether no thread is left inside the engine, waiting for it at most ``within`` seconds."""
    end = time.monotonic() + within
    while any(t.name == "citewell-llm" for t in threading.enumerate()):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_it_is_a_language_model_of_llama_index(smol: EmbeddedLLM) -> None:
    assert isinstance(smol, LLM)
    assert smol.metadata.model_dump(include={"context_window", "num_output", "is_chat_model", "model_name"}) == {
        "context_window": 1024,
        "num_output": 48,
        "is_chat_model": True,
        "model_name": "SmolLM2-135M-Instruct.Q4_1",
    }


def test_a_chat_streams_pieces_that_make_up_the_whole(smol: EmbeddedLLM) -> None:
    prompt = user("Name three colours.")
    parts = list(smol.stream_chat(prompt, max_tokens=24))
    whole = ""
    for part in parts:
        whole += part.delta or ""
        assert part.message.content == whole
        assert part.message.role == MessageRole.ASSISTANT
    assert len([p for p in parts if p.delta]) > 3
    assert whole.strip()
    said = smol.chat(prompt, max_tokens=24).message
    assert (said.role, said.content) == (MessageRole.ASSISTANT, whole)


def test_the_last_piece_of_a_stream_tells_the_tokens(smol: EmbeddedLLM) -> None:
    *_, last = smol.stream_chat(user("Name three colours."), max_tokens=5)
    assert last.delta == ""
    assert last.additional_kwargs["completion_tokens"] == 5
    assert last.additional_kwargs["prompt_tokens"] > 5


def test_a_completion_is_the_answer_to_one_message(smol: EmbeddedLLM) -> None:
    said = smol.complete("Name three colours.", max_tokens=16).text
    assert said == smol.chat(user("Name three colours."), max_tokens=16).message.content
    parts = list(smol.stream_complete("Name three colours.", max_tokens=16))
    assert parts[-1].text == "".join(p.delta or "" for p in parts) == said


def test_what_was_said_before_counts(smol: EmbeddedLLM) -> None:
    messages = [
        ChatMessage(role=MessageRole.SYSTEM, content="You repeat the last word of the user."),
        *user("apple"),
        ChatMessage(role=MessageRole.ASSISTANT, content="apple"),
        *user("zebra"),
    ]
    assert smol.chat(messages, max_tokens=8).message.content != smol.chat(user("zebra"), max_tokens=8).message.content


def test_no_more_tokens_come_than_asked_for(smol: EmbeddedLLM) -> None:
    parts = [p for p in smol.stream_chat(user("Write a long story about the sea."), max_tokens=5) if p.delta]
    assert 1 <= len(parts) <= 5


def test_a_reply_of_one_token_comes_with_the_odds_of_what_else_could_have_stood_there(smol: EmbeddedLLM) -> None:
    asked = user("Is the sky blue? Answer Yes or No.")
    said = smol.chat(asked, max_tokens=1)
    assert said.logprobs
    (rivals,) = said.logprobs
    odds = [r.logprob for r in rivals]
    assert rivals[0].token == said.message.content
    assert odds == sorted(odds, reverse=True)
    assert len(rivals) > 5
    assert 0.5 < sum(math.exp(p) for p in odds) <= 1.0 + 1e-4
    *_, last = smol.stream_chat(asked, max_tokens=1)
    assert last.logprobs == said.logprobs
    assert smol.chat(asked, max_tokens=2).logprobs is None


@pytest.mark.parametrize("words", [1100, 2000, 4000])
def test_a_prompt_longer_than_the_context_is_refused_never_cut(smol: EmbeddedLLM, words: int) -> None:
    with pytest.raises(ModelError, match=r"the language model SmolLM2-135M-Instruct\.Q4_1\.gguf refused: .*context"):
        smol.chat(user("word " * words), max_tokens=4)
    with pytest.raises(ModelError, match="refused"):
        list(smol.stream_chat(user("word " * words), max_tokens=4))
    assert smol.chat(user("Hi"), max_tokens=4).message.content  # and the engine goes on


@pytest.mark.parametrize(
    "text", ["哪些论文研究扩散模型？", "🙂👩‍🔬 ½ ﬁ \u202e\u2028", "\x00\x01\x7f", "", "<|im_end|>", "{{ x }} {% if %}"]
)
def test_any_text_can_be_asked(smol: EmbeddedLLM, text: str) -> None:
    assert isinstance(smol.chat(user(text), max_tokens=4).message.content, str)


def test_half_a_surrogate_pair_is_refused_in_one_line(smol: EmbeddedLLM) -> None:
    with pytest.raises(ModelError, match=r"^the language model .* refused: .*$"):
        smol.chat(user("half a pair \ud83d"), max_tokens=4)


def test_pieces_of_other_scripts_are_whole_characters(smol: EmbeddedLLM) -> None:
    prompt = user("Repeat exactly: 你好世界，今天天气很好 🙂🙂🙂 éàü")
    parts = [p.delta or "" for p in smol.stream_chat(prompt, max_tokens=40)]
    assert not any("\ufffd" in p for p in parts)
    "".join(parts).encode()


def test_a_file_that_is_missing_or_no_model_is_named(tmp_path: Path) -> None:
    missing, broken = tmp_path / "none.gguf", tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\x00" * 100)
    with pytest.raises(ModelError, match=r"none\.gguf: no such model file; run 'citewell models pull' or set 'llm'"):
        EmbeddedLLM.load(missing, threads=1, context=256)
    with pytest.raises(ModelError, match=r"no such model file"):
        EmbeddedLLM.load(tmp_path, threads=1, context=256)
    with pytest.raises(ModelError, match=r"broken\.gguf cannot be loaded as a language model"):
        EmbeddedLLM.load(broken, threads=1, context=256)


def test_closing_a_stream_early_frees_the_engine(smol: EmbeddedLLM) -> None:
    """Both slots are taken and left; were they still busy, the next question would wait for 800 tokens."""
    streams = [smol.stream_chat(user(f"Write a very long story about {x}."), max_tokens=800) for x in ("sea", "sky")]
    for stream in streams:
        while not next(stream).delta:
            pass
    for stream in streams:
        stream.close()  # type: ignore[attr-defined]
    assert at_rest()
    assert smol.chat(user("Hi"), max_tokens=4).message.content


def test_a_stream_that_is_never_read_costs_nothing(smol: EmbeddedLLM) -> None:
    assert at_rest()
    stream = smol.stream_chat(user("Hi"), max_tokens=800)
    assert at_rest(within=0)
    stream.close()  # type: ignore[attr-defined]


def test_two_threads_ask_at_once_and_each_gets_its_own_answer(smol: EmbeddedLLM) -> None:
    questions = ["Name three colours.", "Count from one to ten.", "Name three animals.", "What is two plus two?"]

    def ask(question: str) -> str:
        return smol.chat(user(question), max_tokens=16).message.content or ""

    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(ask, questions))
    alone = [ask(q) for q in questions]
    assert all(together)
    assert len(set(together)) == len(questions)
    # a batch of two may round differently than one alone, so only the beginnings are compared
    assert [t.split()[:2] for t in together] == [a.split()[:2] for a in alone]


def test_stopping_the_engine_ends_what_is_being_said(own_engine: Callable[[], EmbeddedLLM]) -> None:
    llm = own_engine()
    stream = llm.stream_chat(user("Write a very long story about the sea."), max_tokens=800)
    while not next(stream).delta:
        pass
    llm.close()
    assert at_rest(within=1)
    rest = "".join(p.delta or "" for p in stream)
    assert len(rest) < 400


@pytest.fixture
def own_engine(smol: EmbeddedLLM) -> Callable[[], EmbeddedLLM]:
    """An engine of the test's own with the same model."""
    return lambda: EmbeddedLLM.load(Path(smol.path), threads=1, context=1024)


def test_its_own_server_listens_on_this_machine_only(smol: EmbeddedLLM) -> None:
    assert smol.address.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(f"{smol.address}/v1/models", timeout=30) as response:
        assert response.status == 200
        assert json.load(response)["data"]
