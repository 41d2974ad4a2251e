"""The page, the API and the tools on one port, as ``citewell chat`` serves them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from serve import accounts as module
from serve.accounts import Accounts
from serve.api import build_api
from serve.gate import Access
from serve.service import Service
from ui.app import build_page, start


@contextmanager
def served(engine: Any, access: Access | None = None) -> Iterator[str]:
    service = Service(library=lambda: engine.library, engine=lambda: engine, status=lambda: "2 papers")

    async def begin() -> tuple[Any, str]:  # in a loop: gradio makes some of its own, and leaves them, where none runs
        page = build_page(lambda: engine, examples=lambda: ["What is ORCA?"])
        return page, start(page, port=0, api=build_api(service), access=access)

    page, url = asyncio.run(begin())
    try:
        yield url.rstrip("/")
    finally:
        page.close(verbose=False)


def test_the_page_and_everything_for_programs_share_a_port_and_one_line(engine: Any, helpers: Any) -> None:
    with served(engine, Access(this_machine_only=True)) as address:
        assert "gradio" in httpx.get(address).text
        assert httpx.get(f"{address}/api/status").json()["papers"] == 2
        assert httpx.post(f"{address}/api/ask", json={"question": "Q?"}).json()["status"] == "answered"
        assert httpx.get(f"{address}/v1/models").json()["data"][0]["id"] == "citewell"
        assert "/api/ask" in httpx.get(f"{address}/docs").text
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        heads = {"Accept": "application/json, text/event-stream"}
        assert "get_paper" in httpx.post(f"{address}/mcp", json=call, headers=heads).text
        assert httpx.get(f"{address}/api/nothing").status_code == 404
        for content in (b" " * 3_000_000, iter([b" " * 1_500_000] * 2)):
            large = httpx.post(f"{address}/api/ask", content=content, headers={"Content-Type": "application/json"})
            assert (large.status_code, list(large.json())) == (413, ["error"])
        assert httpx.get(address, headers={"Host": "evil.example"}).status_code == 403


def test_with_accounts_page_and_programs_ask_who_it_is(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_N", 16)
    accounts = Accounts(tmp_path / "users.json")
    accounts.add("ada", "correct horse")
    with served(engine, Access(accounts)) as address:
        for path in ("/config", "/gradio_api/info", "/api/status", "/theme.css"):
            assert httpx.get(address + path).status_code == 401
        with httpx.Client(base_url=address, follow_redirects=True, headers={"Accept": "text/html"}) as browser:
            assert "Sign in" in browser.get("/").text
            browser.post("/login", data={"username": "ada", "password": "correct horse"})
            assert "gradio" in browser.get("/").text
            assert browser.get("/gradio_api/user").json() == "ada"
            assert browser.get("/config").json()["username"] == "ada"
