"""The HTTP API: what the command line does, with the same JSON, over the library and the engine of the page."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Path, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.routing import Route

from rag.check import Checker
from rag.contract import Json, answer_json, hit_json, paper_json, search_json, verification_json
from rag.records import Finished, Found, Resolved, Token, Turn, Waiting
from rag.retrieve import MAX_QUESTION, CitewellRetriever
from serve.completions import completions_router
from serve.faults import fault_json, handle_faults, status_of, words_of
from serve.reference import reference_html
from serve.run import Failed, Run, Step, answer_of
from serve.service import Service
from serve.tools import build_tools
from serve.where import Where, found

PATHS = ("/api/{rest:path}", "/v1/{rest:path}", "/mcp", "/docs", "/openapi.json")
"""Where ``build_api`` answers."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchRequest(_Body):
    question: str = Field(min_length=1, max_length=MAX_QUESTION, examples=["Which methods prune whole layers?"])
    k: int = Field(10, ge=1, le=100, description="how many papers at most")
    where: Where = Where()


class EarlierTurn(_Body):
    """A turn of the conversation so far, from the answer that was given then."""

    question: str = Field(max_length=2 * MAX_QUESTION, description='its "resolved_question"')
    answer: str = Field(max_length=50_000, description='its "answer"')
    paper_ids: list[str] = Field(default=[], max_length=100, description='the "paper_id" of each of its "citations"')


class AskRequest(_Body):
    question: str = Field(min_length=1, max_length=MAX_QUESTION, examples=["How does FiedlerPrune choose its masks?"])
    history: list[EarlierTurn] = Field(default=[], max_length=100, description="earlier turns, oldest first")
    where: Where = Where()
    stream: bool = Field(False, description="server-sent events instead of one JSON object")


class CheckRequest(_Body):
    sentence: str = Field(min_length=1, max_length=MAX_QUESTION, examples=["FiedlerPrune needs no fine-tuning."])
    paper_id: str | None = Field(None, max_length=200, description="hold it against this paper only")


def build_api(service: Service) -> FastAPI:
    """The API as an ASGI application that answers at ``PATHS``. Its lifespan must be run."""
    # whom the server answers at all is decided before it, for all paths alike
    anyone = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    tools = build_tools(service).streamable_http_app(stateless_http=True, transport_security=anyone)

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        async with tools.router.lifespan_context(tools):
            yield

    api = FastAPI(
        lifespan=running,
        title="Citewell",
        summary="Answers from a library of paper abstracts, footnoted to the exact words.",
        docs_url=None,  # the usual page fetches its scripts from outside
        redoc_url=None,
    )
    handle_faults(api)
    api.include_router(_router(service), prefix="/api")
    api.include_router(completions_router(service), prefix="/v1")

    api.router.routes.append(Route("/mcp", tools))

    @api.get("/docs", include_in_schema=False)
    def docs(request: Request) -> HTMLResponse:
        return HTMLResponse(reference_html(api.openapi(), str(request.base_url).rstrip("/")))

    return api


def _router(service: Service) -> APIRouter:
    router = APIRouter()

    @router.get("/status", summary="Whether questions can be answered, and what is going on")
    def status() -> Json:
        ready: dict[str, bool] = {}
        for part, get in (("library", service.library), ("engine", service.engine)):
            try:
                get()
                ready[part] = True
            except Exception:  # why not, the status says
                ready[part] = False
        papers = len(service.library()) if ready["library"] else 0
        return {"status": service.status(), "search": ready["library"], "ask": ready["engine"], "papers": papers}

    @router.post("/search", summary="Find the papers that bear on a question")
    def search(body: SearchRequest) -> Json:
        return search_json(body.question, found(service, body.question, body.k, body.where.filter()))

    @router.post(
        "/check", summary="Tell whether the library bears a sentence out, contradicts it or does not speak of it"
    )
    def check(body: CheckRequest) -> Json:
        checker = Checker(CitewellRetriever(service.library()))
        return verification_json(checker.check(body.sentence, paper_id=body.paper_id))

    @router.get("/papers", summary="List the papers of the library")
    def papers(offset: int = Query(0, ge=0), limit: int = Query(100, ge=1, le=1000)) -> Json:
        library = service.library()
        ids = sorted(library.snapshot().words.paper_ids)
        shown = library.papers(ids[offset : offset + limit])
        return {"papers": [paper_json(p) for p in shown], "total": len(ids)}

    @router.get("/papers/{paper_id}", summary="One paper with its abstract and its places")
    def paper(paper_id: str = Path(max_length=200)) -> Json:
        papers = service.library().papers([paper_id])
        if not papers:
            raise HTTPException(404, f"the library holds no paper {paper_id!r}; /api/papers lists the ids")
        return paper_json(papers[0])

    @router.post(
        "/ask",
        summary="Answer a question, every sentence cited",
        responses={200: {"content": {"text/event-stream": {}}}},
        response_model=None,
    )
    async def ask(body: AskRequest, request: Request) -> JSONResponse | StreamingResponse:
        service.engine()  # a fault now is a status code, even for a stream
        history = [Turn(t.question, t.answer, tuple(t.paper_ids)) for t in body.history]
        run = Run(service.engine, body.question, history, where=body.where.filter())
        if body.stream:
            return StreamingResponse(
                _events(run), media_type="text/event-stream", headers={"Cache-Control": "no-cache"}
            )
        return JSONResponse(answer_json(await answer_of(run, request)))

    return router


async def _events(run: Run) -> AsyncIterator[str]:
    """A run as server-sent events: waiting, resolved, found, token, then answer or error."""
    async for step in run.steps():
        if (event := _event(step)) is not None:
            name, value = event
            yield f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"


def _event(step: Step) -> tuple[str, Any] | None:
    match step:
        case Waiting(ahead):
            return "waiting", {"ahead": ahead}
        case Resolved(question):
            return "resolved", {"question": question}
        case Found(hits):
            return "found", {"hits": [hit_json(h) for h in hits]}
        case Token(text) if text:  # an empty one is a sign of life
            return "token", {"text": text}
        case Finished(answer):
            return "answer", answer_json(answer)
        case Failed(_, cause):
            return "error", {"status": status_of(cause), **fault_json("", status_of(cause), words_of(cause))}
        case _:
            return None
