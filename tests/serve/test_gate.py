"""The gate in front of a real server: who is let in, from where, how often."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from serve import accounts as module
from serve.accounts import Accounts
from serve.api import build_api
from serve.gate import Access, Gate, user_of
from serve.service import Service

PASSWORD = "correct horse"
BROWSER = {"Accept": "text/html"}


@pytest.fixture
def accounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Accounts:
    monkeypatch.setattr(module, "_N", 16)
    accounts = Accounts(tmp_path / "users.json")
    accounts.add("ada", PASSWORD)
    return accounts


@pytest.fixture
def behind(engine: Any, helpers: Any) -> Any:
    """Serves the API, and ``/`` that says who asks, behind a gate."""

    async def who(request: Request) -> PlainTextResponse:
        return PlainTextResponse(f"user {user_of(request)}")

    def served(access: Access) -> Any:
        api = build_api(Service(library=lambda: engine.library, engine=lambda: engine, status=lambda: "x"))
        api.router.routes.append(Route("/", who, methods=["GET", "POST"]))
        return helpers.serving(Gate(api, access))

    return served


@pytest.fixture
def shared(behind: Any, accounts: Accounts) -> Iterator[str]:
    with behind(Access(accounts)) as address:
        yield address


def test_without_a_login_a_browser_is_sent_to_it_and_a_program_is_told(shared: str) -> None:
    sent = httpx.get(shared, headers=BROWSER)
    assert (sent.status_code, sent.headers["location"]) == (303, "/login")
    for path in ("/api/papers", "/v1/models", "/mcp", "/docs", "/openapi.json", "/", "/gradio_api/info"):
        told = httpx.get(shared + path)
        assert told.status_code == 401
        assert told.headers["www-authenticate"] == "Bearer"
        assert "sign in first" in str(told.json()["error"])


def test_a_browser_signs_in_is_known_and_signs_out(shared: str) -> None:
    with httpx.Client(base_url=shared, headers=BROWSER) as browser:
        form = browser.get("/login")
        assert (form.status_code, "<script" in form.text, "http" in form.text) == (200, False, False)
        wrong = browser.post("/login", data={"username": "ada", "password": "wrong horse"})
        assert (wrong.status_code, wrong.cookies.get("citewell-session")) == (401, None)
        assert "Name or password is not right." in wrong.text
        right = browser.post("/login", data={"username": "ada", "password": PASSWORD})
        assert (right.status_code, right.headers["location"]) == (303, "/")
        cookie = right.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert browser.get("/").text == "user ada"
        browser.get("/logout")
        assert browser.get("/").status_code == 303


def test_programs_send_a_password_or_a_token(shared: str, accounts: Accounts) -> None:
    token = accounts.new_token("ada")
    assert httpx.get(shared, auth=("ada", PASSWORD)).text == "user ada"
    assert httpx.get(shared, headers={"Authorization": f"Bearer {token}"}).text == "user ada"
    for header in ("Basic x", "Basic", "Bearer", "Bearer cw-x", "Digest x", "Basic YWRhOng="):
        assert httpx.get(shared, headers={"Authorization": header}).status_code == 401
    with openai.OpenAI(base_url=f"{shared}/v1", api_key=token, max_retries=0) as client:
        question: Any = [{"role": "user", "content": "Q?"}]
        assert client.chat.completions.create(model="citewell", messages=question).choices[0].finish_reason == "stop"
    with (
        openai.OpenAI(base_url=f"{shared}/v1", api_key="cw-wrong", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError, match="sign in first"),
    ):
        client.models.list()


def test_guessing_is_slowed_for_the_address_but_not_for_who_is_signed_in(shared: str, accounts: Accounts) -> None:
    session = {"citewell-session": accounts.session("ada")}
    codes = [httpx.get(shared, auth=("ada", f"guess {n}")).status_code for n in range(11)]
    assert codes == [401] * 10 + [429]
    slowed = httpx.get(shared, auth=("ada", PASSWORD))
    assert slowed.status_code == 429
    assert 1 <= int(slowed.headers["retry-after"]) <= 60
    assert slowed.json()["error"].startswith("too many attempts; try again in ")
    form = httpx.post(f"{shared}/login", data={"username": "ada", "password": PASSWORD})
    assert (form.status_code, "Too many attempts" in form.text) == (429, True)
    assert httpx.get(shared, headers={"Authorization": "Bearer cw-guess"}).status_code == 429
    with httpx.Client(cookies=session) as browser:
        assert browser.get(shared).text == "user ada"


def test_requests_are_counted_for_each_user_apart(behind: Any, accounts: Accounts) -> None:
    accounts.add("bob", PASSWORD)
    with behind(Access(accounts, requests_per_minute=3)) as address:
        body = {"question": "Q?"}
        codes = [httpx.post(f"{address}/api/ask", json=body, auth=("ada", PASSWORD)).status_code for _ in range(4)]
        assert codes == [200, 200, 200, 429]
        refused = httpx.post(f"{address}/v1/chat/completions", json={}, auth=("ada", PASSWORD))
        assert refused.json()["error"]["type"] == "rate_limit_error"
        assert refused.json()["error"]["message"].startswith("too many requests; try again in ")
        assert httpx.get(f"{address}/api/status", auth=("ada", PASSWORD)).status_code == 200
        assert httpx.post(f"{address}/api/ask", json=body, auth=("bob", PASSWORD)).status_code == 200


def test_without_accounts_an_address_is_counted(behind: Any) -> None:
    with behind(Access(requests_per_minute=2)) as address:
        assert [httpx.get(f"{address}/api/papers").status_code for _ in range(3)] == [200, 200, 429]
        assert httpx.get(address).text == "user None"


def test_a_page_elsewhere_may_send_nothing(behind: Any, accounts: Accounts) -> None:
    for access in (Access(), Access(this_machine_only=True), Access(accounts)):
        with behind(access) as address:
            for origin in ("http://evil.example", "null", f"{address}.evil.example"):
                sent = httpx.post(address, headers={"Origin": origin}, auth=("ada", PASSWORD))
                assert (sent.status_code, sent.json()["error"]) == (
                    403,
                    f"a page of {origin} may not send requests here",
                )
            assert httpx.post(address, headers={"Origin": address}, auth=("ada", PASSWORD)).status_code == 200


def test_a_server_of_this_machine_answers_to_no_other_name(behind: Any) -> None:
    with behind(Access(this_machine_only=True)) as address:
        port = address.rsplit(":", 1)[1]
        for name in (f"localhost:{port}", "127.0.0.1", f"[::1]:{port}"):
            assert httpx.get(address, headers={"Host": name}).status_code == 200
        for name in (f"evil.example:{port}", "127.0.0.1.evil.example", "[", ""):
            assert httpx.get(address, headers={"Host": name}).status_code in (400, 403)
