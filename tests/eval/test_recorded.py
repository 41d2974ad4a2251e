from __future__ import annotations

from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseGen,
    LLMMetadata,
    LogProb,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms.custom import CustomLLM

from eval.recorded import RecordedLLM


class Counting(CustomLLM):
    """Says how often it was asked."""

    _asked: list[str] = PrivateAttr(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="counting")

    def stream_chat(self, messages: Any, **kwargs: Any) -> ChatResponseGen:
        self._asked.append(messages[-1].content)
        for text in ("one ", "one two"):
            yield ChatResponse(message=ChatMessage(role="assistant", content=text), delta=text[-4:])

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise AssertionError("only chats are recorded")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        raise AssertionError("only chats are recorded")


def recorded(inner: Counting, folder: Path, name: str = "m") -> RecordedLLM:
    return RecordedLLM.before(lambda: inner, name=name, context_window=512, folder=folder)


def test_an_equal_prompt_is_asked_once_even_by_another_process(tmp_path: Path) -> None:
    inner = Counting()
    first, second = recorded(inner, tmp_path), recorded(inner, tmp_path)
    assert first.complete("hello").text == "one two"
    assert [part.text for part in second.stream_complete("hello")] == ["one two"]
    assert inner._asked == ["hello"]
    assert (first.replayed, second.replayed) == (0, 1)


def test_another_prompt_option_or_model_is_asked(tmp_path: Path) -> None:
    inner = Counting()
    recorded(inner, tmp_path).complete("hello")
    recorded(inner, tmp_path).complete("hello!")
    recorded(inner, tmp_path).complete("hello", max_tokens=3)
    recorded(inner, tmp_path, name="n").complete("hello")
    assert inner._asked == ["hello", "hello!", "hello", "hello"]


def test_a_stream_that_was_broken_off_leaves_no_record(tmp_path: Path) -> None:
    inner = Counting()
    stream = recorded(inner, tmp_path).stream_chat([ChatMessage(content="hello")])
    next(stream)
    stream.close()
    assert list(tmp_path.iterdir()) == []


def test_the_model_is_loaded_only_when_it_must_be_asked(tmp_path: Path) -> None:
    recorded(Counting(), tmp_path).complete("hello")

    def never() -> Counting:
        raise AssertionError("loaded")

    again = RecordedLLM.before(never, name="m", context_window=512, folder=tmp_path)
    assert again.complete("hello").text == "one two"


class Telling(Counting):
    """Tells its tokens with its last piece, as the embedded engine does."""

    def stream_chat(self, messages: Any, **kwargs: Any) -> ChatResponseGen:
        yield from super().stream_chat(messages, **kwargs)
        told = {"prompt_tokens": 7, "completion_tokens": 2}
        yield ChatResponse(message=ChatMessage(role="assistant", content="one two"), delta="", additional_kwargs=told)


def test_tokens_are_counted_and_from_the_record_too(tmp_path: Path) -> None:
    first, second = recorded(Telling(), tmp_path), recorded(Telling(), tmp_path)
    first.complete("hello")
    first.complete("again")
    assert (first.tokens, first.uncounted, first.replayed) == ({"prompt": 14, "said": 4}, 0, 0)
    second.complete("hello")
    assert (second.tokens, second.uncounted, second.replayed) == ({"prompt": 7, "said": 2}, 0, 1)


def test_a_model_that_tells_no_tokens_or_is_stopped_leaves_them_untold(tmp_path: Path) -> None:
    silent = recorded(Counting(), tmp_path)
    silent.complete("hello")
    assert (silent.tokens, silent.uncounted) == ({"prompt": 0, "said": 0}, 1)
    stopped = recorded(Telling(), tmp_path / "other")
    stream = stopped.stream_complete("hello")
    next(iter(stream))
    stream.close()  # type: ignore[attr-defined]
    assert stopped.uncounted == 1


def test_fresh_asks_and_records_anew(tmp_path: Path) -> None:
    recorded(Counting(), tmp_path).complete("hello")
    inner = Telling()
    anew = RecordedLLM.before(lambda: inner, name="m", context_window=512, folder=tmp_path, fresh=True)
    anew.complete("hello")
    assert (inner._asked, anew.replayed) == (["hello"], 0)
    after = recorded(Counting(), tmp_path)
    after.complete("hello")
    assert after.tokens == {"prompt": 7, "said": 2}


class Leaning(Counting):
    def stream_chat(self, messages: Any, **kwargs: Any) -> ChatResponseGen:
        self._asked.append(messages[-1].content)
        message = ChatMessage(role="assistant", content="Yes")
        yield ChatResponse(message=message, delta="Yes")
        odds = [LogProb(token="Yes", logprob=-0.25), LogProb(token="No", logprob=-1.5)]
        yield ChatResponse(message=message, delta="", logprobs=[odds])


def test_the_odds_of_a_reply_are_kept_with_it(tmp_path: Path) -> None:
    inner = Leaning()
    first, second = (recorded(inner, tmp_path).chat([ChatMessage(content="Is it so?")], max_tokens=1) for _ in range(2))
    assert inner._asked == ["Is it so?"]
    for response in (first, second):
        assert response.message.content == "Yes"
        assert response.logprobs
        assert [(o.token, o.logprob) for o in response.logprobs[0]] == [("Yes", -0.25), ("No", -1.5)]
