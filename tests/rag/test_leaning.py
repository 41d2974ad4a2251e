from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LogProb, MessageRole

from rag.leaning import MOST, leaning
from rag.records import Token

ASKED = [ChatMessage(content="Is it so?")]


class Replying:
    """A language model that gives one response after a sign of life, and keeps what it was asked."""

    def __init__(self, text: str, odds: dict[str, float] | None = None) -> None:
        self.text, self.odds, self.calls = text, odds, []

    def stream_chat(self, messages: list[ChatMessage], **options: Any) -> Iterator[ChatResponse]:
        self.calls.append((messages, options))
        yield ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=""), delta="")
        rivals = [LogProb(token=t, logprob=p) for t, p in (self.odds or {}).items()]
        message = ChatMessage(role=MessageRole.ASSISTANT, content=self.text)
        yield ChatResponse(message=message, logprobs=None if self.odds is None else [rivals])


def leaned(llm: Replying) -> float:
    signs = leaning(llm, ASKED)  # type: ignore[arg-type]
    while True:
        try:
            assert next(signs) == Token("")
        except StopIteration as end:
            return float(end.value)


@pytest.mark.parametrize(
    ("odds", "expected"),
    [
        ({"Yes": -0.5, "No": -1.75, "The": -3.0}, 1.25),
        ({" no": -0.25, "No": -2.0, " Yes": -3.25}, -3.0),
        ({"Yes": -0.1, "**": -2.0, "Maybe": -4.0}, 4.9),  # less likely than all that are told
        ({"The": -0.1, "It": -3.0}, 0.0),
        ({"Yes": -0.001, "No": -40.0}, MOST),
        ({}, 1.0),
        (None, 1.0),
    ],
)
def test_odds_that_are_told_decide_how_far_a_model_leans(odds: dict[str, float] | None, expected: float) -> None:
    llm = Replying("Yes", odds)
    assert leaned(llm) == pytest.approx(expected)
    assert llm.calls == [(ASKED, {"max_tokens": 1})]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Yes", 1.0), ("yes, it is", 1.0), (" **No", -1.0), ("NO.", -1.0), ("Nobody", 0.0), ("", 0.0), ("是", 0.0)],
)
def test_without_odds_the_word_decides(text: str, expected: float) -> None:
    assert leaned(Replying(text)) == expected
