"""A language model that is never asked the same thing twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cached_property
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
    MessageRole,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms.custom import CustomLLM
from llama_index.core.llms.llm import LLM

from eval.results import write_json

Odds = list[list[tuple[str, float]]]
"""For each token of a reply what else could have stood there, with its log probability."""


class RecordedLLM(CustomLLM):
    """Stands before a language model and keeps what it said, in one file a prompt.

    The key holds the model's name, the messages and the options, which decide what a greedy model says. ``replayed``
    counts the prompts that were answered from the record: what they took is not to be taken for the model's speed.
    ``tokens`` counts those of all prompts and of all that was said, from the record too; ``uncounted`` the prompts of
    which the model did not tell them.
    """

    name: str
    context_window: int
    folder: Path
    replayed: int = 0
    fresh: bool = False
    """Asks anew what is on record, and records it anew."""
    tokens: dict[str, int] = {"prompt": 0, "said": 0}  # noqa: RUF012 pydantic copies it
    uncounted: int = 0
    _load: Callable[[], LLM] = PrivateAttr()

    @classmethod
    def before(
        cls, load: Callable[[], LLM], *, name: str, context_window: int, folder: Path, fresh: bool = False
    ) -> RecordedLLM:
        """``load`` is called when something must be asked that is not on record."""
        recorded = cls(name=name, context_window=context_window, folder=folder, fresh=fresh)
        recorded._load = load
        return recorded

    @cached_property
    def inner(self) -> LLM:
        """The language model itself, loaded when it is wanted first."""
        return self._load()

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=self.context_window, is_chat_model=True, model_name=self.name)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        last = _response("", "", None)
        for response in self.stream_chat(messages, **kwargs):
            last = response
        return last

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        path = self._path(messages, kwargs)

        def generate() -> ChatResponseGen:
            if (kept := self._kept(path)) is not None:
                self.replayed += 1
                self._count(kept.get("tokens"))
                yield _response(kept["said"], kept["said"], kept.get("odds"))
                return
            text = ""
            told: dict[str, Any] = {}
            odds: Odds = []
            self.uncounted += 1  # until it is counted: whoever reads may stop in the middle
            for response in self.inner.stream_chat(messages, **kwargs):
                text = response.message.content or text
                told = response.additional_kwargs or told
                odds = [[(o.token, o.logprob) for o in token] for token in response.logprobs or ()] or odds
                yield _response(text, response.delta or "", odds)
            counted = "prompt_tokens" in told and "completion_tokens" in told
            tokens = {"prompt": told["prompt_tokens"], "said": told["completion_tokens"]} if counted else None
            self.uncounted -= 1
            self._count(tokens)
            write_json(
                path, {"said": text, **({"tokens": tokens} if tokens else {}), **({"odds": odds} if odds else {})}
            )

        return generate()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.chat([ChatMessage(content=prompt)], **kwargs).message.content or "")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        def generate() -> CompletionResponseGen:
            for part in self.stream_chat([ChatMessage(content=prompt)], **kwargs):
                yield CompletionResponse(text=part.message.content or "", delta=part.delta)

        return generate()

    def _kept(self, path: Path) -> dict[str, Any] | None:
        if self.fresh:
            return None
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None  # not asked yet, or damaged: it is asked (again)
        return kept if isinstance(kept, dict) and isinstance(kept.get("said"), str) else None

    def _count(self, tokens: dict[str, int] | None) -> None:
        if tokens is None:
            self.uncounted += 1
            return
        for name in self.tokens:
            self.tokens[name] += tokens[name]

    def _path(self, messages: Sequence[ChatMessage], options: dict[str, Any]) -> Path:
        said = [[m.role.value, m.content or ""] for m in messages]
        key = json.dumps([self.name, said, sorted(options.items())], ensure_ascii=False)
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _response(text: str, delta: str, odds: Odds | None) -> ChatResponse:
    return ChatResponse(
        message=ChatMessage(role=MessageRole.ASSISTANT, content=text),
        delta=delta,
        logprobs=[[LogProb(token=token, logprob=logprob) for token, logprob in rivals] for rivals in odds or ()]
        or None,
    )
