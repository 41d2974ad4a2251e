"""Who may use a shared server: names, scrypt hashes of passwords and hashes of tokens, in one file of the data folder."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from filelock import FileLock

from rag.config import Config
from rag.errors import AccountError

_NAME = re.compile(r"[\w][\w.-]{0,39}", re.ASCII)
_SHORTEST = 8
_LONGEST = 1000
_N, _R, _P = 2**14, 8, 1
"""Cost of scrypt: 16 MB and about 0.1 s a try, as RFC 7914 suggests for a login that somebody waits for."""
_SESSION = 14 * 24 * 3600
"""Seconds that a login lasts."""
_TOKEN = "cw-"


@dataclass(frozen=True, slots=True)
class _User:
    salt: str
    password: str
    token: str = ""
    """SHA-256 of the token for programs; "" where there is none."""


@dataclass(frozen=True, slots=True)
class _Book:
    key: str
    """Secret with which sessions are signed."""
    users: dict[str, _User]


def accounts_file(config: Config) -> Path:
    """Where the accounts of a server with these settings are kept."""
    return config.data / "users.json"


class Accounts:
    """The accounts in ``file``, which need not exist yet. Follows the file: a user added or removed by another process
    is known, or no longer known, at the next question. For any number of threads."""

    def __init__(self, file: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock
        self._lock = threading.Lock()
        self._stamp: tuple[int, int] | None = None
        self._book = _Book("", {})
        self._verified: set[bytes] = set()
        self._salt = secrets.token_bytes(16)

    def names(self) -> list[str]:
        return sorted(self._read().users)

    def add(self, name: str, password: str) -> None:
        """Adds a user, or gives one a new password, which ends that user's sessions.

        Raises AccountError for an unusable name or password.
        """
        if not _NAME.fullmatch(name):
            raise AccountError(f"the name {name!r} cannot be used; take at most 40 letters, digits, '.', '-' and '_'")
        if not _SHORTEST <= len(password) <= _LONGEST:
            raise AccountError(f"the password has {len(password)} characters; take at least {_SHORTEST}")
        salt = secrets.token_hex(16)
        self._change(lambda users: users | {name: _User(salt, _scrypt(password, salt), "")})

    def remove(self, name: str) -> None:
        """Raises AccountError where there is no such user."""
        self._require(name)
        self._change(lambda users: {key: user for key, user in users.items() if key != name})

    def new_token(self, name: str) -> str:
        """A token for the programs of ``name``, in place of an earlier one; it is not kept and cannot be shown again."""
        self._require(name)
        token = _TOKEN + secrets.token_urlsafe(32)
        self._change(lambda users: users | {name: replace(users[name], token=_digest(token))})
        return token

    def verify(self, name: str, password: str) -> bool:
        """Whether the password is that of ``name``. Takes as long for a name that does not exist."""
        user = self._read().users.get(name)
        expected = user.password if user else ""
        seen = hmac.digest(self._salt, f"{name}\0{password}\0{expected}".encode("utf-8", "replace"), "sha256")
        if seen in self._verified:  # programs send it with each request
            return True
        given = _scrypt(password[:_LONGEST], user.salt if user else "00" * 16)
        right = user is not None and hmac.compare_digest(given, expected)
        if right:
            self._verified = {*list(self._verified)[-1000:], seen}
        return right

    def of_token(self, token: str) -> str | None:
        """The user whose token it is."""
        digest = _digest(token)
        return next(
            (name for name, user in self._read().users.items() if hmac.compare_digest(user.token, digest)), None
        )

    def session(self, name: str) -> str:
        """What a browser shows from now on instead of the password. Ends after 14 days, with a new password, or when
        the user is removed."""
        until = int(self._clock()) + _SESSION
        return base64.urlsafe_b64encode(f"{name}:{until}:{self._sign(name, until)}".encode()).decode()

    def of_session(self, session: str) -> str | None:
        """The user whose session it is, while it lasts."""
        try:
            name, until, signature = base64.urlsafe_b64decode(session.encode()).decode().split(":")
            ends = int(until)
        except ValueError:
            return None
        if name not in self._read().users or ends < self._clock():
            return None
        return name if hmac.compare_digest(signature, self._sign(name, ends)) else None

    def _sign(self, name: str, until: int) -> str:
        book = self._read()
        message = f"{name}:{until}:{book.users[name].password}"
        return hmac.new(bytes.fromhex(book.key), message.encode(), hashlib.sha256).hexdigest()

    def _require(self, name: str) -> None:
        if name not in self._read().users:
            raise AccountError(f"there is no user {name!r}; 'citewell users list' names those there are")

    def _read(self) -> _Book:
        with self._lock:
            try:
                stat = self._file.stat()
            except FileNotFoundError:
                self._stamp, self._book = None, _Book("", {})
                return self._book
            if (stamp := (stat.st_mtime_ns, stat.st_ino)) != self._stamp:
                try:
                    held = json.loads(self._file.read_text(encoding="utf-8"))
                    users = {name: _User(**user) for name, user in held["users"].items()}
                    self._book, self._stamp = _Book(held["key"], users), stamp
                except (OSError, ValueError, TypeError, KeyError) as error:
                    raise AccountError(
                        f"{self._file} cannot be read ({error}); mend it, or remove it and add the users again"
                    ) from error
            return self._book

    def _change(self, changed: Callable[[dict[str, _User]], dict[str, _User]]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{self._file}.lock", mode=0o600):
            book = self._read()
            held = {
                "key": book.key or secrets.token_hex(32),
                "users": {name: asdict(user) for name, user in sorted(changed(book.users).items())},
            }
            fresh = self._file.with_name(f".{self._file.name}.{secrets.token_hex(8)}")
            try:
                with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
                    json.dump(held, out, indent=1)
                    out.flush()
                    os.fsync(out.fileno())
                os.replace(fresh, self._file)
            finally:
                fresh.unlink(missing_ok=True)


def _scrypt(password: str, salt: str) -> str:
    return hashlib.scrypt(
        password.encode("utf-8", "replace"), salt=bytes.fromhex(salt), n=_N, r=_R, p=_P, dklen=32
    ).hex()


def _digest(token: str) -> str:
    """A token is random enough for a quick hash."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
