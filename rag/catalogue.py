"""What a library knows, in one SQLite file: sources, records, papers, chunks, and which indexes are in force.

Its transaction is the moment at which a new state of the library comes into being; the vectors and the word index
are written before it and cleaned up after it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rag.errors import IndexStateError
from rag.filters import Fields, Filter, families, folded
from rag.records import Chunk, Paper, Printed, Skipped, Source, SourceRecord, Split
from rag.sqlite import transaction

_SCHEMA = (
    """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE roots (path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE files (
    path TEXT PRIMARY KEY, root TEXT NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    sha256 TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE records (path TEXT NOT NULL, ordinal INTEGER NOT NULL, skipped INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (path, ordinal)) WITHOUT ROWID;
CREATE TABLE papers (paper_id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE chunks (chunk_id TEXT PRIMARY KEY, paper_id TEXT NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE INDEX chunks_of_paper ON chunks (paper_id);
CREATE TABLE merges (ordinal INTEGER PRIMARY KEY, body TEXT NOT NULL);
""",
    "CREATE TABLE splits (record_id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;",
    """
CREATE TABLE fields (paper_id TEXT PRIMARY KEY, year INTEGER, venue TEXT NOT NULL, authors TEXT NOT NULL,
    keywords TEXT NOT NULL, files TEXT NOT NULL) WITHOUT ROWID;
""",
    """
CREATE TABLE prints (path TEXT NOT NULL, ordinal INTEGER NOT NULL, print TEXT NOT NULL, place TEXT NOT NULL,
    PRIMARY KEY (path, ordinal)) WITHOUT ROWID;
CREATE TABLE made (paper_id TEXT PRIMARY KEY, made_of TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE known (print TEXT PRIMARY KEY, record_id TEXT NOT NULL, traits BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE strangers (one TEXT NOT NULL, two TEXT NOT NULL, PRIMARY KEY (one, two)) WITHOUT ROWID;
""",
)
"""What each format adds to the one before; an older catalogue is brought up to date when it is opened."""
SORTS = {
    "id": ("paper_id",),
    "year": ("year", "paper_id"),
    "label": ("json_extract(body, '$.label') COLLATE NOCASE", "paper_id"),
    "title": ("json_extract(body, '$.title') COLLATE NOCASE", "paper_id"),
    "venue": ("json_extract(body, '$.venue') COLLATE NOCASE", "year", "paper_id"),
    "file": ("json_extract(body, '$.sources[0].file')", "json_extract(body, '$.sources[0].row')", "paper_id"),
}
"""What papers can be listed by, and by what SQL."""
_BLOCK = 500
_PAGE = 1 << 14
"""Bytes of a page, which several abstracts fit: of SQLite's 4,096 each takes one more of its own, and a search."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file the library was read from, as it was then."""

    path: str
    root: str
    name: str
    size: int
    mtime_ns: int
    sha256: str


class Catalogue:
    """The SQLite file of a library; safe to share between threads, and to read while another process writes."""

    def __init__(self, path: Path) -> None:
        """Opens the catalogue, making it when missing. Raises IndexStateError where that cannot be done."""
        self.path = path
        self._lock = threading.RLock()
        try:
            self._db = sqlite3.connect(path, check_same_thread=False, timeout=30, isolation_level=None)
            self._db.execute(f"PRAGMA page_size={_PAGE}")  # of a new file
            self._db.execute("PRAGMA journal_mode=WAL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version < len(_SCHEMA):
                with self.transaction():
                    version = self._db.execute("PRAGMA user_version").fetchone()[0]  # another process may be faster
                    for statement in ";".join(_SCHEMA[version:]).split(";"):
                        self._db.execute(statement)
                    if 0 < version < len(_SCHEMA):
                        self._write_fields(self.papers())
                    self._db.execute(f"PRAGMA user_version={max(version, len(_SCHEMA))}")
        except sqlite3.Error as error:
            raise IndexStateError(
                f"the catalogue {path} cannot be opened ({error}); if it is damaged, remove its folder and index again"
            ) from error
        if version > len(_SCHEMA):
            raise IndexStateError(
                f"the catalogue {path} was made by a newer Citewell (format {version}); update Citewell"
            )

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside comes into force together, or not at all."""
        with self._lock, transaction(self._db):
            yield

    def _all(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

    def meta(self) -> dict[str, str]:
        """What is in force: fingerprints, collection, word index, generation, counts."""
        return dict(self._all("SELECT key, value FROM meta"))

    def write_meta(self, values: dict[str, str]) -> None:
        with self._lock:
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def roots(self) -> list[str]:
        """The paths the library is a copy of."""
        return [row[0] for row in self._all("SELECT path FROM roots ORDER BY path")]

    def write_roots(self, roots: Iterable[str]) -> None:
        with self._lock:
            self._db.execute("DELETE FROM roots")
            self._db.executemany("INSERT INTO roots VALUES (?)", [(r,) for r in roots])

    def files(self) -> dict[str, SourceFile]:
        """The files read, by absolute path."""
        return {row[0]: SourceFile(*row) for row in self._all("SELECT * FROM files ORDER BY path")}

    def write_file(self, file: SourceFile) -> None:
        with self._lock:
            self._db.execute(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)",
                (file.path, file.root, file.name, file.size, file.mtime_ns, file.sha256),
            )

    def remove_file(self, path: str) -> None:
        with self._lock:
            for table in ("files", "records", "prints"):
                self._db.execute(f"DELETE FROM {table} WHERE path = ?", (path,))

    def records(self, path: str) -> list[Printed | Skipped]:
        """What was read from the file ``path``, in its order; a record of an old catalogue has no print."""
        rows = self._all(
            "SELECT ordinal, print, place, skipped, CASE WHEN skipped OR print IS NULL THEN body END "
            "FROM records LEFT JOIN prints USING (path, ordinal) WHERE path = ? ORDER BY ordinal",
            (path,),
        )
        found: list[Printed | Skipped] = []
        for ordinal, content, place, skipped, body in rows:
            if skipped:
                found.append(_skipped(body))
            elif content is None:
                found.append(Printed.of("", _record(body)))
            else:
                file, _, row = place.rpartition("#")
                found.append(Printed(content, Source(file, int(row)), partial(self._record, path, ordinal)))
        return found

    def _record(self, path: str, ordinal: int) -> SourceRecord:
        return _record(self._all("SELECT body FROM records WHERE path = ? AND ordinal = ?", (path, ordinal))[0][0])

    def write_records(self, path: str, records: Iterable[Printed | Skipped]) -> None:
        """Makes ``records`` what was read from ``path``; those that stand as they were are not written again."""
        with self._lock:
            rows = self._all("SELECT ordinal, print, place FROM prints WHERE path = ?", (path,))
            held = {number: (content, place) for number, content, place in rows}
            number = -1
            for number, one in enumerate(records):
                printed = (one.print, str(one.source)) if isinstance(one, Printed) else None
                if printed and held.get(number) == printed:
                    continue
                body = _dump(one.record if isinstance(one, Printed) else one)
                self._db.execute(
                    "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)", (path, number, printed is None, body)
                )
                self._db.execute("DELETE FROM prints WHERE path = ? AND ordinal = ?", (path, number))
                if printed:
                    self._db.execute("INSERT INTO prints VALUES (?, ?, ?, ?)", (path, number, *printed))
            for table in ("records", "prints"):
                self._db.execute(f"DELETE FROM {table} WHERE path = ? AND ordinal > ?", (path, number))

    def skipped(self) -> list[Skipped]:
        """Everything in the sources that is no paper."""
        rows = self._all("SELECT body FROM records WHERE skipped = 1 ORDER BY path, ordinal")
        return [_skipped(body) for (body,) in rows]

    def __len__(self) -> int:
        """The number of papers."""
        return int(self._all("SELECT count(*) FROM papers")[0][0])

    def papers(self, paper_ids: Sequence[str] | None = None) -> list[Paper]:
        """All papers by id, or those of ``paper_ids`` in that order, unknown ones left out."""
        if paper_ids is None:
            return [_paper(body) for (body,) in self._all("SELECT body FROM papers ORDER BY paper_id")]
        found: dict[str, Paper] = {}
        for at in range(0, len(paper_ids), 500):
            part = paper_ids[at : at + 500]
            marks = ",".join("?" * len(part))
            for paper_id, body in self._all(f"SELECT paper_id, body FROM papers WHERE paper_id IN ({marks})", part):
                found[paper_id] = _paper(body)
        return [found[i] for i in paper_ids if i in found]

    def papers_at(self, source: Source) -> list[Paper]:
        """The papers that were read from ``source``: one, or more where several files have its name."""
        place = _dumps(asdict(source))
        rows = self._all(
            "SELECT body FROM papers WHERE EXISTS (SELECT 1 FROM json_each(body, '$.sources') WHERE value = ?) "
            "ORDER BY paper_id",
            (place,),
        )
        return [_paper(body) for (body,) in rows]

    def made(self) -> dict[str, tuple[str, str]]:
        """By the id of every paper, prints of what it was made of (empty: not known) and of its stored form."""
        rows = self._all(
            "SELECT p.paper_id, m.made_of, m.body, CASE WHEN m.body IS NULL THEN p.body END "
            "FROM papers p LEFT JOIN made m USING (paper_id)"
        )
        return {i: ("", body_print(text)) if body is None else (made_of, body) for i, made_of, body, text in rows}

    def write_made(self, made: Mapping[str, tuple[str, str]], *, remove: Iterable[str]) -> None:
        with self._lock:
            self._db.executemany("DELETE FROM made WHERE paper_id = ?", [(i,) for i in remove])
            self._db.executemany("INSERT OR REPLACE INTO made VALUES (?, ?, ?)", ((i, *two) for i, two in made.items()))

    def known(self) -> dict[str, tuple[str, bytes]]:
        """Record id and traits of records, by their prints, for ``rag.dedupe``."""
        return {p: (i, traits) for p, i, traits in self._all("SELECT print, record_id, traits FROM known")}

    def known_prints(self) -> set[str]:
        """The prints that ``known`` is about."""
        return {p for (p,) in self._all("SELECT print FROM known")}

    def write_known(self, known: Mapping[str, tuple[str, bytes]], *, remove: Iterable[str]) -> None:
        with self._lock:
            self._db.executemany("DELETE FROM known WHERE print = ?", [(p,) for p in remove])
            self._db.executemany(
                "INSERT OR REPLACE INTO known VALUES (?, ?, ?)", ((p, *two) for p, two in known.items())
            )

    def strangers(self) -> set[tuple[str, str]]:
        """Pairs of editions that were judged to be two works, for ``rag.dedupe``."""
        return set(self._all("SELECT one, two FROM strangers"))

    def write_strangers(self, strangers: Iterable[tuple[str, str]], *, remove: Iterable[tuple[str, str]]) -> None:
        with self._lock:
            self._db.executemany("DELETE FROM strangers WHERE one = ? AND two = ?", remove)
            self._db.executemany("INSERT OR IGNORE INTO strangers VALUES (?, ?)", strangers)

    def write_papers(self, papers: Iterable[Paper], *, remove: Iterable[str]) -> None:
        with self._lock:
            papers, gone = list(papers), [(i,) for i in remove]
            for table in ("papers", "fields"):
                self._db.executemany(f"DELETE FROM {table} WHERE paper_id = ?", gone)
            self._db.executemany(
                "INSERT OR REPLACE INTO papers VALUES (?, ?)", ((p.paper_id, body_of(p)) for p in papers)
            )
            self._write_fields(papers)

    def _write_fields(self, papers: Iterable[Paper]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO fields VALUES (?, ?, ?, ?, ?, ?)",
            ((p.paper_id, *astuple(Fields.of(p))) for p in papers),
        )

    def matching(self, where: Filter) -> set[str]:
        """The ids of the papers that ``where`` lets through."""
        lists = (("venue", [folded(v) for v in where.venues]), ("keywords", [folded(k) for k in where.keywords]))
        conditions, values = [], []
        for sign, year in ((">=", where.first), ("<=", where.last)):
            if year is not None:
                conditions.append(f"year {sign} {year:d}")
        for column, wanted in (*lists, ("authors", families(where.authors))):
            if wanted:
                conditions.append(f"({' OR '.join([f'instr({column}, ?)'] * len(wanted))})")
                values += wanted
        looked_at = (
            column if wanted else "''" for column, wanted in (("authors", where.authors), ("files", where.files))
        )
        rows = self._all(
            f"SELECT paper_id, {', '.join(looked_at)} FROM fields WHERE {' AND '.join(conditions) or 'TRUE'}", values
        )
        by_file: dict[str, bool] = {}  # a file of a list is asked about once, not for each of its papers
        found = set()
        for paper_id, authors, files in rows:
            if where.files and files not in by_file:
                by_file[files] = where.has_file(files)
            if (not where.files or by_file[files]) and (not where.authors or where.has_author(authors)):
                found.add(paper_id)
        return found

    def listed(
        self,
        where: Filter,
        *,
        contains: str = "",
        sort: str = "id",
        reverse: bool = False,
        limit: int | None = None,
    ) -> list[Paper]:
        """The papers ``where`` lets through whose label, title or abstract holds ``contains``, whatever its case.

        In the order of ``sort``, one of ``SORTS``, those without such a field last.
        """
        order = ", ".join(f"{key} {'DESC' if reverse else 'ASC'}" for key in SORTS[sort])
        rows = self._all(
            f"SELECT paper_id FROM papers JOIN fields USING (paper_id) ORDER BY {SORTS[sort][0]} IS NULL, {order}"
        )
        within = self.matching(where) if where else None
        ids = [i for (i,) in rows if within is None or i in within]
        needle = " ".join(contains.casefold().split())
        found: list[Paper] = []
        for at in range(0, len(ids), _BLOCK):
            if limit is not None and len(found) >= limit:
                break
            papers = self.papers(ids[at : at + _BLOCK])
            found += [p for p in papers if needle in " ".join(f"{p.label} {p.title} {p.abstract}".casefold().split())]
        return found[:limit]

    def chunks(self) -> dict[str, tuple[str, int, int]]:
        """Paper, start and end of every chunk, by its id."""
        return {c: (p, s, e) for c, p, s, e in self._all("SELECT chunk_id, paper_id, start, end FROM chunks")}

    def count_chunks(self) -> int:
        return int(self._all("SELECT count(*) FROM chunks")[0][0])

    def papers_of_chunks(self) -> dict[str, str]:
        """The paper of every chunk, by the chunk's id."""
        return dict(self._all("SELECT chunk_id, paper_id FROM chunks"))

    def write_chunks(self, chunks: Iterable[Chunk], *, of: Iterable[str]) -> None:
        """Replaces the chunks of the papers ``of`` by ``chunks``."""
        with self._lock:
            self._db.executemany("DELETE FROM chunks WHERE paper_id = ?", [(i,) for i in of])
            self._db.executemany(
                "INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?)",
                ((c.chunk_id, c.paper_id, c.start, c.end) for c in chunks),
            )

    def merges(self) -> list[dict[str, Any]]:
        """The audit of the duplicates, as it is printed."""
        return [json.loads(body) for (body,) in self._all("SELECT body FROM merges ORDER BY ordinal")]

    def write_merges(self, merges: Iterable[dict[str, Any]]) -> None:
        with self._lock:
            self._db.execute("DELETE FROM merges")
            self._db.executemany("INSERT INTO merges (body) VALUES (?)", ((_dumps(m),) for m in merges))

    def splits(self) -> list[Split]:
        """The merges a user undid."""
        rows = self._all("SELECT record_id, body FROM splits ORDER BY record_id")
        return [_split(record_id, json.loads(body)) for record_id, body in rows]

    def write_splits(self, splits: Iterable[Split]) -> None:
        with self._lock:
            self._db.execute("DELETE FROM splits")
            self._db.executemany(
                "INSERT INTO splits VALUES (?, ?)",
                ((s.record_id, _dumps({"others": s.others, "source": asdict(s.source)})) for s in splits),
            )


def body_of(paper: Paper) -> str:
    """The stored form of a paper."""
    return _dump(paper)


def body_print(body: str) -> str:
    """Equal for equal bodies."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _dump(value: SourceRecord | Skipped | Paper) -> str:
    return _dumps({k: v for k in value.__slots__ if (v := getattr(value, k)) not in ("", (), None)})


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=asdict)  # sources, within records


def _tuples(body: dict[str, Any]) -> dict[str, Any]:
    for key in ("authors", "keywords"):
        if key in body:
            body[key] = tuple(body[key])
    return body


def _record(text: str) -> SourceRecord:
    body = _tuples(json.loads(text))
    body["source"] = Source(**body["source"])
    return SourceRecord(**body)


def _skipped(text: str) -> Skipped:
    return Skipped(**{"row": None, **json.loads(text)})


def _split(record_id: str, body: dict[str, Any]) -> Split:
    return Split(record_id, tuple(body["others"]), Source(**body["source"]))


def _paper(text: str) -> Paper:
    body = _tuples(json.loads(text))
    body["sources"] = tuple(Source(**s) for s in body.get("sources", ()))
    return Paper(**body)
