"""Which way a language model leans between yes and no, for the price of one token."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any, cast

from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.llms.llm import LLM

from rag.records import Token

MOST = 15.0
"""The farthest that a model is said to lean."""


def leaning(llm: LLM, messages: Sequence[ChatMessage]) -> Generator[Token, None, float]:
    """How far ``llm`` leans to "Yes" as the first word of its reply: the log odds of yes against no, in [-MOST, MOST], where
    it tells them; where it only says the word, 1 or -1, and 0 where it says another.

    An empty Token comes with each of its signs of life; closing the generator in between stops the model.
    """
    last = ChatResponse(message=ChatMessage(content=""))
    with closing(cast(Any, llm.stream_chat(messages, max_tokens=1))) as responses:
        for response in responses:
            last = response
            yield Token("")
    odds = _odds(last)
    if odds:
        yes, no = (odds.get(word, min(odds.values()) - 1.0) for word in ("yes", "no"))
        return max(-MOST, min(MOST, yes - no)) if odds.keys() & {"yes", "no"} else 0.0
    return {"yes": 1.0, "no": -1.0}.get(_word(last.message.content or ""), 0.0)


def _odds(response: ChatResponse) -> dict[str, float]:
    """The words that could have come first with their log probabilities, the likelier spelling of each."""
    found: dict[str, float] = {}
    for one in (response.logprobs or [[]])[0]:
        word = _word(one.token)
        found[word] = max(one.logprob, found.get(word, one.logprob))
    return found


def _word(text: str) -> str:
    match = re.match(r"\W*(\w+)", text)
    return match[1].lower() if match else ""
