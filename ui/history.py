"""The conversations that are kept, in one SQLite file; each belongs to an owner and to the library it was held with."""

from __future__ import annotations

import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from rag.errors import HistoryError
from rag.filters import EVERYTHING
from rag.sqlite import transaction
from ui.conversation import Conversation, Exchange

FILE = "conversations.sqlite"
MOST_LISTED = 200
_TITLE = 80
_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE talks (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, library TEXT NOT NULL, title TEXT NOT NULL, changed REAL NOT NULL,
    version INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX talks_of ON talks (owner, library, changed);
CREATE TABLE exchanges (
    key TEXT NOT NULL REFERENCES talks (key) ON DELETE CASCADE, turn INTEGER NOT NULL, said TEXT NOT NULL,
    body TEXT NOT NULL, PRIMARY KEY (key, turn)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A conversation in the list; ``changed`` is in seconds since 1970."""

    key: str
    title: str
    changed: float


class History:
    """The file of conversations; safe to share between threads, and with other processes."""

    def __init__(self, path: Path | None = None, *, library: str = "", clock: Any = time.time) -> None:
        """Opens the file, making it when missing; without ``path`` nothing outlives the process.

        Raises HistoryError where it cannot be opened or a newer Citewell made it.
        """
        self._path = path
        self._library = library
        self._clock = clock
        self._lock = threading.RLock()
        with self._said("cannot be opened"):
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path or ":memory:", check_same_thread=False, timeout=30, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA foreign_keys=ON")
            # SQLite's lower() knows ASCII alone
            self._db.create_function("folded", 1, str.casefold, deterministic=True)
            with self._lock, transaction(self._db):
                version = self._db.execute("PRAGMA user_version").fetchone()[0]
                if version == 0:
                    for statement in _SCHEMA.split(";"):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
        if version > _SCHEMA_VERSION:
            raise HistoryError(f"{path} was made by a newer Citewell (format {version}); update Citewell")

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def keep(self, owner: str, talk: Conversation) -> Conversation:
        """The conversation as it is kept now: ``talk`` with a key, under which it is found again.

        Only its last exchange is written where the rest is what was kept. A conversation that went on elsewhere in the
        meantime, or was deleted, is kept a second time, so that nobody's words are lost.
        """
        with self._said("could not be written"), self._lock, transaction(self._db):
            row = self._db.execute(
                "SELECT version FROM talks WHERE key = ? AND owner = ?", (talk.key, owner)
            ).fetchone()
            if row is not None and row[0] == talk.version:
                first = len(talk) - 1
                self._db.execute("DELETE FROM exchanges WHERE key = ? AND turn >= ?", (talk.key, first))
                self._db.execute(
                    "UPDATE talks SET changed = ?, version = version + 1 WHERE key = ?", (self._clock(), talk.key)
                )
            else:
                first = 0
                title = talk.title or title_of(talk.exchanges[0].question)
                talk = replace(talk, key=secrets.token_urlsafe(9), version=0, title=title)
                self._db.execute(
                    "INSERT INTO talks VALUES (?, ?, ?, ?, ?, 1)",
                    (talk.key, owner, talk.library or self._library, title, self._clock()),
                )
            self._db.executemany(
                "INSERT INTO exchanges VALUES (?, ?, ?, ?)",
                (
                    (talk.key, turn, _said(exchange), _form().dump_json(exchange).decode())
                    for turn, exchange in enumerate(talk.exchanges[first:], first)
                ),
            )
            return replace(talk, version=talk.version + 1)

    def amend(self, owner: str, talk: Conversation, turn: int) -> None:
        """Writes what the reader has added to the exchange numbered ``turn`` of a kept conversation."""
        body = _form().dump_json(talk.exchanges[turn]).decode()
        with self._said("could not be written"), self._lock, transaction(self._db):
            self._db.execute(
                "UPDATE exchanges SET body = ? WHERE key = ? AND turn = ? AND EXISTS"
                " (SELECT 1 FROM talks WHERE key = exchanges.key AND owner = ? AND version = ?)",
                (body, talk.key, turn, owner, talk.version),
            )

    def entries(self, owner: str, search: str = "", *, library: str = "") -> list[Entry]:
        """The conversations of ``owner`` with ``library`` ("" is as in ``Conversation``), newest first, at most
        MOST_LISTED; ``search``: those that hold all its words in their title, their questions or their answers."""
        query = "SELECT key, title, changed FROM talks WHERE owner = ? AND library = ?"
        values: list[object] = [owner, library or self._library]
        for word in search.casefold().split():
            like = "%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
            query += (
                " AND (folded(title) LIKE ? ESCAPE '\\' OR EXISTS (SELECT 1 FROM exchanges"
                " WHERE exchanges.key = talks.key AND said LIKE ? ESCAPE '\\'))"
            )
            values += [like, like]
        query += " ORDER BY changed DESC, key LIMIT ?"
        with self._said("cannot be read"), self._lock:
            return [Entry(*row) for row in self._db.execute(query, (*values, MOST_LISTED))]

    def open(self, owner: str, key: str) -> Conversation | None:
        """A conversation of ``owner``; None where there is none under ``key``."""
        with self._said("cannot be read"), self._lock:
            row = self._db.execute(
                "SELECT title, version, library FROM talks WHERE key = ? AND owner = ?", (key, owner)
            ).fetchone()
            if row is None:
                return None
            bodies = self._db.execute("SELECT body FROM exchanges WHERE key = ? ORDER BY turn", (key,)).fetchall()
            exchanges = tuple(_form().validate_json(body) for (body,) in bodies)
            where = exchanges[-1].where if exchanges else EVERYTHING
            library = "" if row[2] == self._library else row[2]
            return Conversation(exchanges, key=key, title=row[0], version=row[1], where=where, library=library)

    def rename(self, owner: str, key: str, title: str) -> str:
        """Gives a conversation another title and returns it, trimmed; an empty one changes nothing."""
        title = title_of(title)
        if title:
            with self._said("could not be written"), self._lock, transaction(self._db):
                self._db.execute("UPDATE talks SET title = ? WHERE key = ? AND owner = ?", (title, key, owner))
        return title

    def delete(self, owner: str, key: str) -> None:
        """Removes a conversation for good; one that is not there is no fault."""
        with self._said("could not be written"), self._lock, transaction(self._db):
            self._db.execute("DELETE FROM talks WHERE key = ? AND owner = ?", (key, owner))

    @contextmanager
    def _said(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            raise HistoryError(
                f"the conversations in {self._path} {what} ({' '.join(str(error).split())}); "
                "check the disk, or move the file away to begin anew"
            ) from error


@cache
def _form() -> TypeAdapter[Exchange]:
    return TypeAdapter(Exchange)


def title_of(text: str) -> str:
    """A title from a question: one line of at most 80 characters."""
    text = " ".join(text.split())
    return text if len(text) <= _TITLE else text[: _TITLE - 1].rstrip() + "…"


def _said(exchange: Exchange) -> str:
    """What is searched."""
    parts: Sequence[str] = (exchange.question, exchange.answer.text if exchange.answer else exchange.draft)
    return "\n".join(parts).casefold()
