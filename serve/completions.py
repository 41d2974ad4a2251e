"""``/v1/chat/completions`` for clients of OpenAI: the last message is the question, the earlier ones its history.

The content is the checked answer with its ``[n]`` markers and a list of footnotes; the whole answer, with exact quotes
and offsets, is in the extra field ``citewell``. Words are sent when they are checked, so a stream begins late.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from rag.contract import Json, answer_json
from rag.errors import QuestionError
from rag.records import Answer, Finished, Turn
from serve.faults import fault_json, status_of, words_of
from serve.run import Failed, Run, answer_of
from serve.service import Service

MODEL = "citewell"
_SIGN_OF_LIFE = 2.0
"""Seconds without a word after which a stream says that it is alive."""
_FOOTNOTE = re.compile(r"^\[\d+\] .* \(([^()\s]+)\): “", re.MULTILINE)


class ContentPart(BaseModel):
    type: str = Field(max_length=20)
    text: str = Field("", max_length=50_000)


class Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[ContentPart] = Field(max_length=50_000)

    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        if other := {part.type for part in self.content} - {"text"}:
            raise QuestionError(f"a message holds a part of type {min(other)!r}; only text is read")
        return "\n".join(part.text for part in self.content)


class ChatRequest(BaseModel):
    """Sampling options and the like are taken and have no effect; ``model`` must be "citewell"."""

    model_config = ConfigDict(extra="ignore")
    model: str = Field(max_length=100, examples=[MODEL])
    messages: list[Message] = Field(min_length=1, max_length=400)
    stream: bool = False


def completions_router(service: Service) -> APIRouter:
    router = APIRouter()

    @router.get("/models", summary="The one model there is, for clients of OpenAI")
    def models() -> Json:
        return {"object": "list", "data": [_model()]}

    @router.get("/models/{name}", summary="The same, by name")
    def model(name: str) -> Json:
        _require(name)
        return _model()

    @router.post("/chat/completions", summary="A chat, for clients of OpenAI", response_model=None)
    async def completions(body: ChatRequest, request: Request) -> JSONResponse | StreamingResponse:
        _require(body.model)
        service.engine()  # a fault now is a status code, even for a stream
        run = Run(service.engine, *conversation(body.messages))
        reply = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": MODEL}
        if body.stream:
            return StreamingResponse(
                _chunks(run, reply | {"object": "chat.completion.chunk"}),
                media_type="text/event-stream",
                headers={"Cache-Control": "no-cache"},
            )
        answer = await answer_of(run, request)
        message = {"role": "assistant", "content": content_of(answer)}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return JSONResponse(reply | {"object": "chat.completion", "choices": [choice], "citewell": answer_json(answer)})

    return router


def conversation(messages: Sequence[Message]) -> tuple[str, list[Turn]]:
    """The question, and the turns before it. Raises QuestionError where the last message is not the user's.

    System messages have no effect: what the language model is told is Citewell's own. The papers of an earlier answer
    are read from its footnotes.
    """
    said = [m for m in messages if m.role in ("user", "assistant")]
    if not said or said[-1].role != "user":
        raise QuestionError("the last message is not the user's; end the messages with a question")
    turns = []
    for asked, answered in pairwise(said):
        if (asked.role, answered.role) == ("user", "assistant"):
            text = answered.text()
            footnotes = list(_FOOTNOTE.finditer(text))
            papers = tuple(dict.fromkeys(f.group(1) for f in footnotes))
            turns.append(Turn(asked.text(), text[: footnotes[0].start()].strip() if footnotes else text, papers))
    return said[-1].text(), turns


def content_of(answer: Answer) -> str:
    """The answer with a footnote a line: marker, label, paper and the exact words."""
    notes = [f"[{c.marker}] {c.label} ({c.paper_id}): “{' '.join(c.quote.split())}”" for c in answer.citations]
    if not notes and answer.nearest and answer.status == "abstained":
        notes = ["Nearest papers: " + "; ".join(hit.paper.label for hit in answer.nearest)]
    return "\n\n".join([answer.text, "\n".join(notes)] if notes else [answer.text])


async def _chunks(run: Run, reply: Json) -> AsyncIterator[str]:
    """The answer in pieces as server-sent events; comments meanwhile, so that nobody takes silence for the end."""

    def chunk(delta: Json, finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _data(reply | {"choices": [choice]} | more)

    yield chunk({"role": "assistant", "content": ""})
    quiet_since = time.monotonic()
    async for step in run.steps():
        if isinstance(step, Finished):
            for piece in re.findall(r"\S+\s*|\s+", content_of(step.answer)):
                yield chunk({"content": piece})
                await asyncio.sleep(0)
            yield chunk({}, "stop", citewell=answer_json(step.answer))
            yield "data: [DONE]\n\n"
        elif isinstance(step, Failed):
            yield _data(fault_json("/v1/", status_of(step.cause), words_of(step.cause)))
        elif time.monotonic() - quiet_since > _SIGN_OF_LIFE:
            quiet_since = time.monotonic()
            yield ": still at it\n\n"


def _data(value: Json) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def _model() -> Json:
    return {"id": MODEL, "object": "model", "created": 0, "owned_by": "citewell"}


def _require(name: str) -> None:
    if name != MODEL:
        raise HTTPException(404, f"there is no model {name!r} here; ask for {MODEL!r}")
