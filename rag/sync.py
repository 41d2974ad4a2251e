"""Indexing as synchronisation: the library becomes a copy of its sources, with as little work as that takes.

The order makes it safe to be stopped at any moment. Vectors are written first, under ids made from what they embed;
then the word index, into a folder of its own; then the catalogue, in one transaction, which is when the new state
comes into force; last, what the old state alone needed is removed. A run that was stopped leaves vectors that the
next run finds and does not embed again.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from rag import chunk, lexical
from rag.catalogue import Catalogue
from rag.changes import Changes, changes
from rag.chunk import chunk_papers
from rag.embeddings import Embeddings, embed
from rag.errors import IndexStateError, SourceError
from rag.lexical import LexicalIndex
from rag.records import Paper, Printed, Skipped, Source, Split
from rag.sources import Sources, look, storable
from rag.splits import carried, with_split, without_split

if TYPE_CHECKING:
    from rag.embed import Embedder
    from rag.store import VectorStore

Progress = Callable[[str, int, int], None]
"""Told the stage ("read", "compare", "embed"), how much of it is done and how much there is."""

CATALOGUE = "catalogue.sqlite"
VECTORS = "vectors"


def embeddings_of(folder: Path, collection: str) -> Path:
    """Where what is in Chroma's ``collection`` is kept as the embedder gave it."""
    return folder / f"embeddings-{collection}.sqlite"


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


def sync(
    folder: Path,
    paths: Sequence[Path],
    load_embedder: Callable[[], Embedder],
    *,
    embedder_print: str,
    forget: Sequence[Path] = (),
    rebuild: bool = False,
    dry_run: bool = False,
    on_progress: Progress = lambda stage, done, total: None,
) -> Report:
    """Makes the library in ``folder`` a copy of its sources and ``paths``.

    ``paths`` are added to the sources the library already has; a source whose file or folder was deleted goes, and so
    do those named in ``forget``, whose files stay where they are.
    ``load_embedder`` is called only when something may have to be embedded, ``embedder_print`` is the fingerprint of
    what it loads. ``rebuild`` reads and embeds everything anew.
    ``dry_run`` writes nothing. Raises SourceError for a path that is not there or when no paper would remain,
    IndexStateError when another process is indexing the same library or the disk refuses.
    """
    started = time.monotonic()
    for path in paths:
        if not path.exists():
            raise SourceError(f"{path}: no such file or folder; name a file or a folder of abstracts")
        if storable(str(path)) != str(path):
            raise SourceError(f"{storable(str(path))}: the name is not written in UTF-8; rename it")
    if dry_run and not (folder / CATALOGUE).is_file():
        nothing = Catalogue(Path(":memory:"))
        return _Sync(folder, nothing, load_embedder, embedder_print, on_progress, started).run(
            paths, forget, rebuild, dry_run
        )
    with _opened(folder) as catalogue:
        return _Sync(folder, catalogue, load_embedder, embedder_print, on_progress, started).run(
            paths, forget, rebuild, dry_run
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
        with exclusive(folder), contextlib.closing(Catalogue(folder / CATALOGUE)) as catalogue:
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
def exclusive(folder: Path, *, patience: float = 1) -> Iterator[None]:
    """For one writer of the library at a time; who comes while another writes waits ``patience`` seconds.

    Raises IndexStateError where that is not enough.
    """
    lock = FileLock(folder / "indexing.lock")
    try:
        lock.acquire(timeout=patience)
    except Timeout as error:
        raise IndexStateError(
            f"the library in {folder} is being indexed by another process; wait for it to end, then run this again"
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Keeps Python's cycle collector off what makes no cycles: it would walk all records again and again, which is half
    the time that reading them takes."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


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

    def run(self, paths: Sequence[Path], forget: Sequence[Path], rebuild: bool, dry_run: bool) -> Report:
        meta = self._catalogue.meta()
        with _uncollected():
            read = look(self._catalogue, paths, forget=forget, rebuild=rebuild, on_progress=self._on_progress)
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
        read = Sources(self._catalogue.roots(), list(self._catalogue.files().values()), {}, [])
        return self._bring(read, meta, splits)

    def _carried(self, read: Sources) -> list[Split]:
        """The user's decisions, also for the records that were edited."""
        splits = self._catalogue.splits()
        if not splits:
            return []
        old = [r for path in (*read.fresh, *read.gone) for r in self._catalogue.records(path)]
        new = [r for rows in read.fresh.values() for r in rows]
        return carried(splits, *([one for one in rows if isinstance(one, Printed)] for rows in (old, new)))

    def _bring(
        self,
        read: Sources,
        meta: dict[str, str],
        splits: list[Split],
        *,
        rebuild: bool = False,
        dry_run: bool = False,
    ) -> Report:
        """Brings the library to the state of ``read`` and ``splits``."""
        wanted = (self._embedder_print, chunk.VERSION, lexical.VERSION)
        in_force = (meta.get("embedder"), meta.get("chunker"), meta.get("words"))
        complete = self._complete(meta)
        with _uncollected():
            entries = read.records(self._catalogue)
            records = [one for one in entries if isinstance(one, Printed)]
            skipped = [one for one in entries if isinstance(one, Skipped)]
        if not records:
            reasons = "; ".join(f"{s.file}: {s.reason}" for s in skipped[:3]) or "no files"
            raise SourceError(
                f"no paper in {', '.join(read.roots) or 'the sources'} ({reasons}); "
                "name a file or folder that holds abstracts"
            )
        self._on_progress("compare", 0, 0)
        with _uncollected():
            found = changes(self._catalogue, records, splits, rebuild=rebuild)
        unchanged = found.count - found.added - found.changed
        counts = (found.count, found.duplicates, skipped, found.added, found.changed, found.removed, unchanged)
        if dry_run:
            return self._report(*counts, 0)

        from rag.mend import mended  # chromadb is slow to import, and not needed when nothing changed

        embedder = self._load_embedder()
        generation = str(int(meta.get("generation", "0")) + 1)
        name = f"chunks-{embedder.fingerprint}-{chunk.VERSION}"
        if rebuild:  # beside the vectors in force, which answer until the new ones are whole
            name = f"{name}-{generation}"
        elif (held := meta.get("collection", "")).startswith(f"{name}-"):
            name = held
        again = rebuild or in_force[:2] != wanted[:2] or not complete
        to_chunk = self._all(found) if again else [*found.fresh, *found.reworded]
        chunks = list(
            chunk_papers(
                to_chunk,
                window=embedder.window,
                count_tokens=embedder.count_tokens,
                token_offsets=embedder.token_offsets,
            )
        )
        if rebuild:
            self._forget_embeddings(lambda file: file.startswith(embeddings_of(self._folder, name).name))
        with contextlib.closing(Embeddings(embeddings_of(self._folder, name))) as kept:
            store, indexed = mended(self._folder / VECTORS, name, kept, self._catalogue)
            if rebuild:
                store.drop(name)
                indexed = store.collection(name)
            embedded = embed(embedder, kept, indexed, chunks, on_progress=partial(self._on_progress, "embed"))
        words = self._write_words(found, meta, generation if rebuild else "")
        with self._catalogue.transaction():
            for path in read.gone:
                self._catalogue.remove_file(path)
            for file in read.files:
                self._catalogue.write_file(file)
            for path, rows in read.fresh.items():
                self._catalogue.write_records(path, rows)
            self._catalogue.write_roots(read.roots)
            found.write(self._catalogue)
            self._catalogue.write_chunks(chunks, of=[*found.gone, *(p.paper_id for p in to_chunk)])
            self._catalogue.write_splits(splits)
            self._catalogue.write_meta(
                {
                    "embedder": embedder.fingerprint,
                    "embedder_name": embedder.model_name,
                    "chunker": chunk.VERSION,
                    "words": lexical.VERSION,
                    "collection": name,
                    "lexical": words,
                    "corpus": found.corpus,
                    "generation": generation,
                    "duplicates": str(found.duplicates),
                }
            )
        self._clean(store, name, words)
        return self._report(*counts, embedded)

    def _all(self, found: Changes) -> list[Paper]:
        return [*found.papers.values(), *self._catalogue.papers(found.rest)]

    def _complete(self, meta: dict[str, str]) -> bool:
        return (
            "lexical" in meta
            and (self._folder / meta["lexical"]).is_dir()
            and (self._folder / VECTORS).is_dir()
            and embeddings_of(self._folder, meta["collection"]).is_file()
        )

    def _write_words(self, found: Changes, meta: dict[str, str], suffix: str) -> str:
        name = f"words-{lexical.VERSION}-{found.corpus}"
        if suffix:  # beside the index in force, which may be the damaged one
            name = f"{name}-{suffix}"
        elif (held := meta.get("lexical", "")).startswith(f"{name}-"):
            name = held
        if not (self._folder / name).is_dir():
            self._words(found, meta, anew=bool(suffix)).save(self._folder / name)
        return name

    def _words(self, found: Changes, meta: dict[str, str], *, anew: bool) -> LexicalIndex:
        """The word index of all papers: the one in force with what changed, where there is one."""
        if not anew and meta.get("words") == lexical.VERSION:
            written = [*found.fresh, *found.reworded]
            with contextlib.suppress(IndexStateError):
                held = LexicalIndex.load(self._folder / meta["lexical"])
                return held.updated(without={*found.gone, *(p.paper_id for p in written)}, papers=written)
        return LexicalIndex.build(self._all(found))

    def _clean(self, store: VectorStore, collection: str, words: str) -> None:
        """Removes what no state in force needs. Vectors without a chunk stay until they are a fifth of all."""
        for name in store.collections():
            if name != collection:
                store.drop(name)
        for path in self._folder.glob("words-*"):
            if path.name != words:
                shutil.rmtree(path, ignore_errors=True)
        kept = embeddings_of(self._folder, collection)
        self._forget_embeddings(lambda file: not file.startswith(kept.name))
        held = store.collection(collection)
        if len(held) > 1.2 * self._catalogue.count_chunks():
            gone = held.ids() - self._catalogue.papers_of_chunks().keys()
            held.delete(gone)
            with contextlib.closing(Embeddings(kept)) as embeddings:
                embeddings.delete(gone)

    def _forget_embeddings(self, old: Callable[[str], bool]) -> None:
        """Removes the files of embeddings, by name, that are ``old``; also those of a format before."""
        for path in (*self._folder.glob("embeddings-*"), *self._folder.glob("tokens-*")):
            if old(path.name):
                with contextlib.suppress(OSError):  # another process may be reading it still
                    path.unlink()

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
