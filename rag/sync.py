"""Indexing as synchronisation: the library becomes a copy of its sources, with as little work as that takes.

The order makes it safe to be stopped at any moment. Vectors are written first, under ids made from what they embed;
then the word index, into a folder of its own; then the catalogue, in one transaction, which is when the new state
comes into force; last, what the old state alone needed is removed. A run that was stopped leaves vectors that the
next run finds and does not embed again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from rag import chunk, lexical, readers
from rag.catalogue import Catalogue, SourceFile, body_of
from rag.chunk import chunk_papers, embedded_text
from rag.dedupe import Deduped, dedupe
from rag.errors import IndexStateError, SourceError
from rag.late import TokenStore
from rag.lexical import LexicalIndex
from rag.records import Chunk, Paper, Skipped, Source, SourceRecord, Split
from rag.splits import apart, audit, carried, with_split, without_split

if TYPE_CHECKING:
    from rag.embed import Embedder
    from rag.store import Collection, VectorStore

Progress = Callable[[str, int, int], None]
"""Told the stage ("read", "embed"), how much of it is done and how much there is."""

CATALOGUE = "catalogue.sqlite"
VECTORS = "vectors"
_EMBED_BATCH = 1024


def tokens_of(folder: Path, collection: str) -> Path:
    """Where the token vectors stand that belong to the vectors in ``collection``."""
    return folder / f"tokens-{collection}.sqlite"


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, and the library after it: ``records == papers + duplicates``."""

    records: int
    papers: int
    duplicates: int
    skipped: tuple[Skipped, ...]
    added: int
    changed: int
    removed: int
    unchanged: int
    embedded: int
    """Chunks embedded by this run."""
    seconds: float


@dataclass(frozen=True, slots=True)
class _Read:
    """The state of the sources now: the files, and the records of those that changed."""

    roots: list[str]
    files: list[SourceFile]
    fresh: dict[str, list[SourceRecord | Skipped]]
    gone: list[str]


def sync(
    folder: Path,
    paths: Sequence[Path],
    load_embedder: Callable[[], Embedder],
    *,
    embedder_print: str,
    rebuild: bool = False,
    dry_run: bool = False,
    on_progress: Progress = lambda stage, done, total: None,
) -> Report:
    """Makes the library in ``folder`` a copy of its sources and ``paths``.

    ``paths`` are added to the sources the library already has; a source whose file or folder was deleted goes.
    ``load_embedder`` is called only when something may have to be embedded, ``embedder_print`` is the fingerprint of
    what it loads. ``rebuild`` reads and embeds everything anew.
    ``dry_run`` writes nothing. Raises SourceError for a path that is not there or when no paper would remain,
    IndexStateError when another process is indexing the same library or the disk refuses.
    """
    started = time.monotonic()
    for path in paths:
        if not path.exists():
            raise SourceError(f"{path}: no such file or folder; name a file or a folder of abstracts")
        if _storable(str(path)) != str(path):
            raise SourceError(f"{_storable(str(path))}: the name is not written in UTF-8; rename it")
    if dry_run and not (folder / CATALOGUE).is_file():
        nothing = Catalogue(Path(":memory:"))
        return _Sync(folder, nothing, load_embedder, embedder_print, on_progress, started).run(paths, rebuild, dry_run)
    with _opened(folder) as catalogue:
        return _Sync(folder, catalogue, load_embedder, embedder_print, on_progress, started).run(
            paths, rebuild, dry_run
        )


def decide(
    folder: Path,
    source: Source,
    load_embedder: Callable[[], Embedder],
    *,
    embedder_print: str,
    apart: bool,
    on_progress: Progress = lambda stage, done, total: None,
) -> tuple[Report, Paper]:
    """Undoes the merge of the record at ``source`` (``apart``), or takes that back; the library changes at once.

    The sources are not read again. The decision holds for every later run. Gives the report and the paper the record
    is in now. Raises QuestionError where there is nothing to undo or to take back, IndexStateError as ``sync`` does.
    """
    started = time.monotonic()
    require_index(folder)
    with _opened(folder) as catalogue:
        splits = (with_split if apart else without_split)(catalogue, source)
        report = _Sync(folder, catalogue, load_embedder, embedder_print, on_progress, started).decide(splits)
        return report, catalogue.papers_at(source)[0]


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[Catalogue]:
    """The catalogue for one writer. Raises IndexStateError where another has it, or the disk refuses."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _exclusive(folder), contextlib.closing(Catalogue(folder / CATALOGUE)) as catalogue:
            yield catalogue
    except (OSError, sqlite3.OperationalError) as error:
        full = getattr(error, "errno", None) == errno.ENOSPC or "full" in str(error)
        step = "free some space" if full else "check that the folder can be written"
        raise IndexStateError(
            f"the library in {folder} could not be written ({error}); {step}; nothing was lost"
        ) from error


def require_index(folder: Path) -> None:
    """Raises IndexStateError where no library was ever indexed in ``folder``; cheap, before any model is loaded."""
    if not (folder / CATALOGUE).is_file():
        raise IndexStateError(
            f"the library {folder.name!r} has not been indexed (nothing in {folder}); run 'citewell index PATH' first"
        )


def require_finished(name: str, meta: dict[str, str]) -> None:
    """Raises IndexStateError where the catalogue of the library ``name``, with ``meta``, never came into force."""
    if "lexical" not in meta:
        raise IndexStateError(f"indexing the library {name!r} did not finish; run 'citewell index PATH' again")


@contextlib.contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    lock = FileLock(folder / "indexing.lock")
    try:
        lock.acquire(timeout=1)
    except Timeout as error:
        raise IndexStateError(
            f"the library in {folder} is being indexed by another process; wait for it to end, then run this again"
        ) from error
    try:
        yield
    finally:
        lock.release()


class _Sync:
    """One run."""

    def __init__(
        self,
        folder: Path,
        catalogue: Catalogue,
        load_embedder: Callable[[], Embedder],
        embedder_print: str,
        on_progress: Progress,
        started: float,
    ) -> None:
        self._folder = folder
        self._catalogue = catalogue
        self._load_embedder = load_embedder
        self._embedder_print = embedder_print
        self._on_progress = on_progress
        self._started = started

    def run(self, paths: Sequence[Path], rebuild: bool, dry_run: bool) -> Report:
        meta = self._catalogue.meta()
        read = self._read(paths, rebuild)
        in_force = (meta.get("embedder"), meta.get("chunker"), meta.get("words"))
        wanted = (self._embedder_print, chunk.VERSION, lexical.VERSION)
        if not rebuild and in_force == wanted and not read.fresh and not read.gone and self._complete(meta):
            if not dry_run and read.roots != self._catalogue.roots():
                with self._catalogue.transaction():
                    self._catalogue.write_roots(read.roots)
            papers = len(self._catalogue)
            return self._report(papers, int(meta["duplicates"]), self._catalogue.skipped(), 0, 0, 0, papers, 0)
        return self._bring(read, meta, self._carried(read), rebuild=rebuild, dry_run=dry_run)

    def decide(self, splits: list[Split]) -> Report:
        """The library as its records are, under other decisions of its user."""
        meta = self._catalogue.meta()
        require_finished(self._folder.name, meta)
        read = _Read(self._catalogue.roots(), list(self._catalogue.files().values()), {}, [])
        return self._bring(read, meta, splits)

    def _carried(self, read: _Read) -> list[Split]:
        """The user's decisions, also for the records that were edited."""
        splits = self._catalogue.splits()
        if not splits:
            return []
        old = [r for path in (*read.fresh, *read.gone) for r in self._catalogue.records(path)]
        new = [r for rows in read.fresh.values() for r in rows]
        return carried(splits, *([r for r in rows if isinstance(r, SourceRecord)] for rows in (old, new)))

    def _bring(
        self,
        read: _Read,
        meta: dict[str, str],
        splits: list[Split],
        *,
        rebuild: bool = False,
        dry_run: bool = False,
    ) -> Report:
        """Brings the library to the state of ``read`` and ``splits``."""
        wanted = (self._embedder_print, chunk.VERSION, lexical.VERSION)
        in_force = (meta.get("embedder"), meta.get("chunker"), meta.get("words"))
        old = self._catalogue.paper_bodies()
        complete = self._complete(meta)
        entries = {f.path: read.fresh.get(f.path) or self._catalogue.records(f.path) for f in read.files}
        records = [r for rows in entries.values() for r in rows if isinstance(r, SourceRecord)]
        skipped = [r for rows in entries.values() for r in rows if isinstance(r, Skipped)]
        if not records:
            reasons = "; ".join(f"{s.file}: {s.reason}" for s in skipped[:3]) or "no files"
            raise SourceError(
                f"no paper in {', '.join(read.roots) or 'the sources'} ({reasons}); "
                "name a file or folder that holds abstracts"
            )
        unique = dedupe(records, apart=apart(splits))
        new = {p.paper_id: p for p in unique.papers}
        bodies = {i: body_of(p) for i, p in new.items()}
        gone = old.keys() - new.keys()
        fresh = [p for i, p in new.items() if i not in old]
        altered = [p for i, p in new.items() if i in old and old[i] != bodies[i]]
        added, changed, removed = _pair_up(fresh, self._catalogue.papers(sorted(gone)))
        changed += len(altered)
        counts = (len(new), len(unique.duplicates), skipped, added, changed, removed, len(new) - added - changed)
        if dry_run:
            return self._report(*counts, 0)

        from rag.store import VectorStore  # chromadb is slow to import, and not needed when nothing changed

        embedder = self._load_embedder()
        generation = str(int(meta.get("generation", "0")) + 1)
        name = f"chunks-{embedder.fingerprint}-{chunk.VERSION}"
        if rebuild:  # beside the vectors in force, which answer until the new ones are whole
            name = f"{name}-{generation}"
        elif (held := meta.get("collection", "")).startswith(f"{name}-"):
            name = held
        again = rebuild or in_force[:2] != wanted[:2] or not complete
        to_chunk = list(new.values()) if again else [*fresh, *altered]
        chunks = list(
            chunk_papers(
                to_chunk,
                window=embedder.window,
                count_tokens=embedder.count_tokens,
                token_offsets=embedder.token_offsets,
            )
        )
        try:
            store = VectorStore(self._folder / VECTORS)
        except IndexStateError:
            if not rebuild:
                raise
            shutil.rmtree(self._folder / VECTORS)
            store = VectorStore(self._folder / VECTORS)
        if rebuild:
            store.drop(name)
        collection = store.collection(name)
        with contextlib.closing(TokenStore(tokens_of(self._folder, name))) as tokens:
            embedded = self._embed(embedder, collection, tokens, chunks)
        words = self._write_words(list(new.values()), bodies, meta, generation if rebuild else "")
        with self._catalogue.transaction():
            for path in read.gone:
                self._catalogue.remove_file(path)
            for file in read.files:
                self._catalogue.write_file(file)
            for path, rows in read.fresh.items():
                self._catalogue.write_records(path, rows)
            self._catalogue.write_roots(read.roots)
            self._catalogue.write_papers([*fresh, *altered], remove=gone)
            self._catalogue.write_chunks(chunks, of=[*gone, *(p.paper_id for p in to_chunk)])
            self._catalogue.write_splits(splits)
            self._catalogue.write_merges([*_audit(unique), *audit(splits, unique)])
            self._catalogue.write_meta(
                {
                    "embedder": embedder.fingerprint,
                    "embedder_name": embedder.model_name,
                    "chunker": chunk.VERSION,
                    "words": lexical.VERSION,
                    "collection": name,
                    "lexical": words,
                    "corpus": _print(bodies),
                    "generation": generation,
                    "duplicates": str(len(unique.duplicates)),
                }
            )
        self._clean(store, name, words)
        return self._report(*counts, embedded)

    def _complete(self, meta: dict[str, str]) -> bool:
        return (
            "lexical" in meta
            and (self._folder / meta["lexical"]).is_dir()
            and (self._folder / VECTORS).is_dir()
            and tokens_of(self._folder, meta["collection"]).is_file()
        )

    def _read(self, paths: Sequence[Path], rebuild: bool) -> _Read:
        known_files = self._catalogue.files()
        roots = {str(p.absolute()): p.absolute() for p in paths}
        for root in self._catalogue.roots():
            path = Path(root)
            # a source that was deleted goes; one whose whole disk is away stays as it was read
            if path.exists() or not path.parent.exists():
                roots.setdefault(root, path)
        found: dict[str, SourceFile] = {}
        fresh: dict[str, list[SourceRecord | Skipped]] = {}
        listed = []
        for root, path in sorted(roots.items()):
            if path.exists():
                listed += [(root, file, _storable(name)) for file, name in readers.files(path)]
            else:
                found.update({f.path: f for f in known_files.values() if f.root == root})
        for at, (root, file, name) in enumerate(listed):
            self._on_progress("read", at, len(listed))
            key = _storable(str(file))
            if key in found:
                continue  # a file named by itself and through its folder is one file
            stat = file.stat()
            known = known_files.get(key)
            if (
                not rebuild
                and known
                and (known.size, known.mtime_ns, known.name) == (stat.st_size, stat.st_mtime_ns, name)
            ):
                found[key] = known
                continue
            sha = _sha256(file)
            found[key] = SourceFile(key, root, name, stat.st_size, stat.st_mtime_ns, sha)
            if rebuild or not known or known.sha256 != sha or known.name != name:
                fresh[key] = list(readers.read_file(file, name))
        self._on_progress("read", len(listed), len(listed))
        gone = [path for path in known_files if path not in found]
        return _Read(sorted(roots), [found[key] for key in sorted(found)], fresh, gone)

    def _embed(self, embedder: Embedder, collection: Collection, tokens: TokenStore, chunks: Sequence[Chunk]) -> int:
        held = collection.ids() & tokens.ids()
        todo = [c for c in chunks if c.chunk_id not in held]
        for at in range(0, len(todo), _EMBED_BATCH):
            part = todo[at : at + _EMBED_BATCH]
            done = at
            vectors, token_vectors = embedder.read(
                [embedded_text(c) for c in part],
                on_batch=lambda n, done=done: self._on_progress("embed", done + n, len(todo)),  # type: ignore[misc]
            )
            tokens.write([c.chunk_id for c in part], token_vectors)
            collection.upsert([c.chunk_id for c in part], vectors, [c.text for c in part], [c.paper_id for c in part])
        return len(todo)

    def _write_words(self, papers: list[Paper], bodies: dict[str, str], meta: dict[str, str], suffix: str) -> str:
        name = f"words-{lexical.VERSION}-{_print(bodies)}"
        if suffix:  # beside the index in force, which may be the damaged one
            name = f"{name}-{suffix}"
        elif (held := meta.get("lexical", "")).startswith(f"{name}-"):
            name = held
        if not (self._folder / name).is_dir():
            LexicalIndex.build(papers).save(self._folder / name)
        return name

    def _clean(self, store: VectorStore, collection: str, words: str) -> None:
        """Removes what no state in force needs. Vectors without a chunk stay until they are a fifth of all."""
        for name in store.collections():
            if name != collection:
                store.drop(name)
        for path in self._folder.glob("words-*"):
            if path.name != words:
                shutil.rmtree(path, ignore_errors=True)
        tokens = tokens_of(self._folder, collection)
        for path in self._folder.glob("tokens-*"):
            if not path.name.startswith(tokens.name):
                with contextlib.suppress(OSError):  # another process may be reading it still
                    path.unlink()
        held = store.collection(collection)
        known = self._catalogue.papers_of_chunks()
        if len(held) > 1.2 * len(known):
            gone = held.ids() - known.keys()
            held.delete(gone)
            with contextlib.closing(TokenStore(tokens)) as store_of_tokens:
                store_of_tokens.delete(gone)

    def _report(
        self,
        papers: int,
        duplicates: int,
        skipped: Sequence[Skipped],
        added: int,
        changed: int,
        removed: int,
        unchanged: int,
        embedded: int,
    ) -> Report:
        return Report(
            records=papers + duplicates,
            papers=papers,
            duplicates=duplicates,
            skipped=tuple(skipped),
            added=added,
            changed=changed,
            removed=removed,
            unchanged=unchanged,
            embedded=embedded,
            seconds=round(time.monotonic() - self._started, 3),
        )


def _audit(unique: Deduped) -> list[dict[str, object]]:
    """Each record that was merged into a paper, and each pair of papers that share an abstract, with the reasons."""
    merges: list[dict[str, object]] = [{"kind": "merge", **asdict(d)} for d in unique.duplicates]
    return merges + [{"kind": "flag", **asdict(f)} for f in unique.flags]


def _pair_up(fresh: Sequence[Paper], gone: Sequence[Paper]) -> tuple[int, int, int]:
    """Numbers added, changed, removed: a new paper at the place, or with the title, of one that went is a change."""
    marks: dict[object, set[str]] = {}
    for paper in gone:
        for mark in _marks(paper):
            marks.setdefault(mark, set()).add(paper.paper_id)
    used: set[str] = set()
    for paper in fresh:
        candidates = {i for mark in _marks(paper) for i in marks.get(mark, ())} - used
        if candidates:
            used.add(min(candidates))
    return len(fresh) - len(used), len(used), len(gone) - len(used)


def _marks(paper: Paper) -> list[object]:
    titled: list[object] = [paper.title.casefold()] if paper.title else []
    keyed: list[object] = [("key", paper.key)] if paper.key else []
    return [*paper.sources, *titled, *keyed]


def _print(bodies: dict[str, str]) -> str:
    digest = hashlib.sha256()
    for paper_id in sorted(bodies):
        digest.update(f"{paper_id}\x1f{bodies[paper_id]}\x1e".encode())
    return digest.hexdigest()[:12]


def _storable(name: str) -> str:
    r"""A file name that is not UTF-8, from an old archive perhaps, with ``\udcXX`` for its bytes."""
    return name.encode("utf-8", "backslashreplace").decode()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
