"""Every fault as one line of JSON with the right status code."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from rag.errors import CitewellError, IndexStateError, ModelError, NotReadyError, QuestionError

logger = logging.getLogger(__name__)

_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (QuestionError, 422),
    (NotReadyError, 503),
    (IndexStateError, 503),
    (ModelError, 502),
)
_OPENAI_KINDS = {
    401: "authentication_error",
    404: "not_found_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
}


def status_of(error: Exception) -> int:
    """The status code for a fault; 500 for one that is Citewell's own."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def words_of(error: Exception) -> str:
    """What is said about a fault to whoever asked."""
    if isinstance(error, CitewellError):
        return str(error)
    return f"something went wrong inside Citewell ({type(error).__name__}); its log says more"


def fault_json(path: str, status: int, words: str) -> dict[str, Any]:
    """``{"error": "…"}``, or what clients of OpenAI expect where they are spoken to."""
    words = " ".join(words.split())
    if path.startswith("/v1/"):
        return {"error": {"message": words, "type": _OPENAI_KINDS.get(status, "server_error"), "code": status}}
    return {"error": words}


def fault_response(path: str, status: int, words: str, headers: dict[str, str] | None = None) -> JSONResponse:
    if status == 503:
        headers = {"Retry-After": "5", **(headers or {})}
    return JSONResponse(fault_json(path, status, words), status, headers)


def handle_faults(app: FastAPI) -> None:
    """Makes ``app`` answer every fault so."""

    async def known(request: Request, error: Exception) -> JSONResponse:
        return fault_response(request.url.path, status_of(error), words_of(error))

    async def unknown(request: Request, error: Exception) -> JSONResponse:
        logger.error("%s failed", request.url.path, exc_info=error)
        return fault_response(request.url.path, 500, words_of(error))

    async def unusable(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return fault_response(request.url.path, 422, _first(error.errors()))

    async def refused(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        words = error.detail
        if error.status_code in (404, 405) and words in ("Not Found", "Method Not Allowed"):
            words = f"{request.method} {request.url.path} is not offered here; /docs lists what is"
        return fault_response(request.url.path, error.status_code, words, dict(error.headers or {}))

    app.add_exception_handler(CitewellError, known)
    app.add_exception_handler(RequestValidationError, unusable)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Exception, unknown)


def _first(errors: Sequence[Any]) -> str:
    """The first thing wrong with a request, and where."""
    first = errors[0]
    place = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{place}: {first['msg']}{more}; /docs says what is expected"
