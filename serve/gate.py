"""What every request to the server passes first: who it is from, from where, and how often.

With accounts, a browser signs in at ``/login`` and shows a cookie; programs send ``Authorization: Basic`` with name and
password, or ``Bearer`` with a token. Everything behind the gate finds the user with ``user_of``.
"""

from __future__ import annotations

import asyncio
import base64
import math
from dataclasses import dataclass, field
from html import escape
from urllib.parse import parse_qs, urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rag.config import Config
from rag.errors import AccountError
from serve.accounts import Accounts, accounts_file
from serve.faults import fault_response
from serve.pace import Pace

COOKIE = "citewell-session"
MAX_BODY = 2_000_000
"""Bytes that a program may send; a hundred earlier turns fit in."""
_COUNTED = ("/api/", "/v1/", "/mcp")
"""Paths whose requests are counted; the page's own are many and small, so it counts its questions itself."""
_UNCOUNTED = ("/api/status", "/v1/models")
_OPEN = frozenset({"/gradio_api/startup-events"})
"""What the server asks itself when it starts; it tells nothing."""
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
_MOST_FORM = 10_000


def user_of(request: HTTPConnection) -> str | None:
    """The user a request is from; None where there are no accounts."""
    user = request.scope.get("state", {}).get("user")
    return user if isinstance(user, str) else None


@dataclass(frozen=True, slots=True)
class Access:
    """Whom a server lets in, and how much of it."""

    accounts: Accounts | None = None
    """None lets everybody in."""
    this_machine_only: bool = False
    """Refuses requests that reached this machine under another name, as a page elsewhere could make a browser send."""
    requests_per_minute: int | None = None
    """Of a user, or of an address where there are no accounts; None: any number. Questions of the page count too."""
    pace: Pace | None = field(init=False, compare=False)

    def __post_init__(self) -> None:
        most = self.requests_per_minute
        object.__setattr__(self, "pace", Pace(most) if most is not None else None)

    @property
    def shared(self) -> bool:
        """Whether others than the person at this machine may be let in."""
        return self.accounts is not None or not self.this_machine_only

    def wait(self, who: str) -> float:
        """Counts a request of ``who``, a user or an address: 0.0, or the seconds to wait where it was one too many."""
        return self.pace.take(who) if self.pace is not None else 0.0


def access_of(config: Config, *, host: str, sign_in: bool | None) -> Access:
    """The access to a server bound to ``host``; ``sign_in`` None asks for accounts unless that is this machine.

    Raises AccountError where accounts are wanted and there are none.
    """
    here = host.strip("[]") in _THIS_MACHINE
    if sign_in is None and here:
        return Access(this_machine_only=True)
    accounts = None
    if sign_in is not False:
        accounts = Accounts(accounts_file(config))
        if not accounts.names():
            raise AccountError(
                f"nobody could sign in at {host}: there are no accounts; run 'citewell users add NAME', or give "
                "--no-accounts to let everybody in who can reach it"
            )
    return Access(accounts, requests_per_minute=config.requests_per_minute)


class Gate:
    """ASGI middleware that lets in whom ``access`` does."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._accounts = access.accounts
        self._this_machine_only = access.this_machine_only
        self._access = access
        self._tries_from = Pace(10)
        self._tries_at = Pace(20)
        self._one_hash = asyncio.Semaphore(1)  # each takes memory and time on purpose

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        response = await self._refusal(request, receive)
        if response is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await response(scope, receive, send)

    async def _refusal(self, request: HTTPConnection, receive: Receive) -> Response | None:
        """What to answer instead of what was asked for; None lets it pass."""
        path, method = request.scope["path"], request.scope.get("method", "GET")
        if self._this_machine_only and _host(f"//{request.headers.get('host', '')}") not in _THIS_MACHINE:
            return fault_response(path, 403, "this server answers on this machine only; use http://127.0.0.1")
        origin = request.headers.get("origin")
        if origin and method not in ("GET", "HEAD", "OPTIONS") and not self._own(origin, request):
            return fault_response(path, 403, f"a page of {origin} may not send requests here")
        if self._accounts is not None and path not in _OPEN:
            if path == "/login":
                return await self._login(request, receive, self._accounts)
            if path == "/logout":
                leaving = RedirectResponse("/login", 303)
                leaving.delete_cookie(COOKIE)
                return leaving
            user = await self._user(request, self._accounts)
            if isinstance(user, Response):
                return user
            request.scope.setdefault("state", {})["user"] = user
        if path.startswith(_COUNTED) and int(request.headers.get("content-length", "0")) > MAX_BODY:
            return fault_response(path, 413, f"the request is larger than {MAX_BODY:,} bytes; shorten it")
        counted = path.startswith(_COUNTED) and not path.startswith(_UNCOUNTED)
        if counted and (wait := self._access.wait(user_of(request) or _address(request))):
            return _too_often(path, "requests", wait)
        return None

    async def _user(self, request: HTTPConnection, accounts: Accounts) -> str | Response:
        """The user a request is from, or what to answer where there is none."""
        path = request.scope["path"]
        kind, _, value = request.headers.get("authorization", "").partition(" ")
        name: str | None = None
        if kind.lower() == "basic":
            try:
                given, _, password = base64.b64decode(value).decode().partition(":")
            except ValueError:
                given, password = "", ""
            found = await self._verified(request, accounts, given, password)
            if isinstance(found, Response):
                return found
            name = given if found else None
        elif kind.lower() == "bearer":
            if wait := self._tries_from.wait(_address(request)):
                return _too_often(path, "attempts", wait)
            name = accounts.of_token(value.strip())
            if name is None:
                self._tries_from.take(_address(request))
        elif COOKIE in request.cookies:
            name = accounts.of_session(request.cookies[COOKIE])
        if name is not None:
            return name
        if request.scope.get("method") == "GET" and "text/html" in request.headers.get("accept", ""):
            return RedirectResponse("/login", 303)
        words = "sign in first: send a name and password (Basic) or a token (Bearer), see 'citewell users'"
        return fault_response(path, 401, words, {"WWW-Authenticate": "Bearer"})

    async def _verified(self, request: HTTPConnection, accounts: Accounts, name: str, password: str) -> bool | Response:
        """Whether the password is right; a refusal after too many wrong ones from an address, or for a name."""
        path, address = request.scope["path"], _address(request)
        if wait := max(self._tries_from.wait(address), self._tries_at.wait(name)):
            return _too_often(path, "attempts", wait)
        async with self._one_hash:
            right = await asyncio.to_thread(accounts.verify, name, password)
        if not right:
            self._tries_from.take(address)
            self._tries_at.take(name)
        return right

    async def _login(self, request: HTTPConnection, receive: Receive, accounts: Accounts) -> Response:
        if request.scope["method"] != "POST":
            return HTMLResponse(_login_page())
        body = b""
        async for part in Request(request.scope, receive).stream():
            body += part
            if len(body) > _MOST_FORM:
                return HTMLResponse(_login_page("That is too long."), 413)
        form = {key: values[0] for key, values in parse_qs(body.decode("utf-8", "replace")).items()}
        name = form.get("username", "").strip()
        right = await self._verified(request, accounts, name, form.get("password", ""))
        if isinstance(right, Response):
            return HTMLResponse(_login_page("Too many attempts. Wait a minute, then try again."), right.status_code)
        if not right:
            return HTMLResponse(_login_page("Name or password is not right."), 401)
        entered = RedirectResponse("/", 303)
        entered.set_cookie(
            COOKIE,
            accounts.session(name),
            max_age=14 * 24 * 3600,
            httponly=True,
            samesite="lax",
            secure=request.scope.get("scheme") == "https",
        )
        return entered

    def _own(self, origin: str, request: HTTPConnection) -> bool:
        return urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _address(request: HTTPConnection) -> str:
    return request.client.host if request.client else ""


def _too_often(path: str, what: str, wait: float) -> Response:
    seconds = max(1, math.ceil(wait))
    return fault_response(path, 429, f"too many {what}; try again in {seconds} s", {"Retry-After": str(seconds)})


_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif;
  background: light-dark(#f6f3ec, #191815); color: light-dark(#25221d, #ece7dd); }
body { display: grid; place-content: center; min-height: 90vh; margin: 0; padding: 0 1rem; }
h1 { font: 600 1.75rem/1.3 ui-serif, Georgia, "Liberation Serif", serif; margin: 0; }
form { display: grid; gap: .4rem; width: min(20rem, 90vw); } label { margin-top: .5rem; font-size: .875rem; }
input, button { font: inherit; padding: .6rem .8rem; border-radius: .65rem; }
input { background: light-dark(#fffdf8, #22211d); color: inherit; border: 1px solid light-dark(#8d867a, #6a6357); }
button { margin-top: 1rem; font-weight: 600; background: light-dark(#17615a, #7fcabf); color: light-dark(#fff, #10201d);
  border: 0; cursor: pointer; }
:focus-visible { outline: 2px solid light-dark(#17615a, #7fcabf); outline-offset: 2px; }
p { margin: .2rem 0; } [role=alert]:not(:empty) { color: light-dark(#9b3232, #ec9a94); }
"""


def _login_page(words: str = "") -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sign in to Citewell</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body><main>'
        f'<form method="post" action="/login"><h1>Citewell</h1>'
        f'<p>Sign in to read and ask.</p><p role="alert">{escape(words)}</p>'
        '<label for="username">Name</label><input id="username" name="username" autocomplete="username" required autofocus>'
        '<label for="password">Password</label>'
        '<input id="password" name="password" type="password" autocomplete="current-password" required>'
        "<button>Sign in</button></form></main></body></html>"
    )
