"""``citewell chat``: the page at once, and behind it whatever it takes until questions can be answered."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rag import models
from rag.answer import CitewellQueryEngine
from rag.build import keep_apart, library_folder, load_llm, open_library, sync_library
from rag.config import Config
from rag.errors import CitewellError, IndexStateError, NotReadyError
from rag.feedback import Feedback
from rag.library import Library
from rag.line import Line
from rag.retrieve import CitewellRetriever
from rag.sync import Progress, Report
from serve.api import build_api
from serve.gate import access_of
from serve.service import Service
from ui.app import build_page, serve
from ui.examples import examples_of
from ui.history import FILE, History


class Preparation:
    """Fetches the models, indexes the sources, loads the engine: once, in a thread of its own."""

    def __init__(self, config: Config, sources: Sequence[Path]) -> None:
        self._config = config
        self._sources = sources
        self._done = threading.Event()
        self._words = "Starting"
        self._engine: CitewellQueryEngine | None = None
        self._library: Library | None = None
        self._llm = ""
        self._fault: Exception | None = None

    def start(self) -> None:
        threading.Thread(target=self._run, name="citewell-preparation", daemon=True).start()

    def status(self) -> str:
        """What is going on, in one line."""
        if self._library is not None and self._engine is not None:
            return f"{len(self._library):,} papers · {self._llm}"
        return self._words

    @property
    def uploads(self) -> Path:
        """Where uploaded files are kept, a folder a library."""
        return self._config.data / "uploads" / self._config.library

    @property
    def pictures(self) -> Path:
        """Where the map of the library is kept, which can be made again."""
        return library_folder(self._config)

    def library(self) -> Library | None:
        """The library, once it is open."""
        return self._library

    def change(self, paths: Sequence[Path], *, forget: Sequence[Path], on_progress: Progress) -> Report:
        """Makes the library a copy of its sources, of ``paths`` and no more of ``forget``; it is opened when it is new."""
        report = sync_library(self._config, paths, forget=forget, on_progress=on_progress)
        if self._library is None and self._done.is_set():
            self._fault = None
            self._done.clear()
            self.start()
        return report

    def decide(self, place: str, *, apart: bool) -> Report:
        """Undoes the merge of the record at ``place``, or takes that back."""
        return keep_apart(self._config, place, apart=apart)[0]

    def examples(self) -> list[str]:
        """Questions that this library answers; none before it is open."""
        return examples_of(self._library.papers()) if self._library is not None else []

    def engine(self) -> CitewellQueryEngine:
        """The engine, as soon as it is there. Raises CitewellError when it will not be."""
        self._done.wait()
        if self._engine is None:
            raise (
                self._fault
                if isinstance(self._fault, CitewellError)
                else IndexStateError(f"could not start: {self._fault}")
            )
        return self._engine

    def service(self) -> Service:
        """For programs, which are told to come back instead of being made to wait."""
        return Service(library=self._ready_library, engine=self._ready_engine, status=self.status)

    def _ready_library(self) -> Library:
        if self._library is None:
            raise self._not_ready("the library is not open yet")
        return self._library

    def _ready_engine(self) -> CitewellQueryEngine:
        if self._engine is None:
            raise self._not_ready("the language model is not ready yet")
        return self._engine

    def _not_ready(self, what: str) -> Exception:
        return self._fault or NotReadyError(f"{what} ({self._words}); try again in a few seconds")

    def _run(self) -> None:
        try:
            self._prepare()
        except Exception as error:  # told on the page and on the terminal; the page stays up to say so
            self._fault = error
            self._words = str(error)
            print(f"citewell: {error}", file=sys.stderr)
        finally:
            self._done.set()

    def _prepare(self) -> None:
        config = self._config
        for name in (config.embedder, *(() if config.llm_url else (config.llm,))):
            self._words = f"Looking for the model {name}"
            models.resolve(name, cache=config.cache, on_progress=partial(self._fetching, name))
        if self._sources:
            self._words = "Reading the papers"
            sync_library(config, self._sources, on_progress=self._indexing)
        self._words = "Opening the library"
        library = self._library = open_library(config)
        self._words = f"{len(library)} papers · loading the language model"
        llm = load_llm(config)
        self._llm = llm.metadata.model_name
        self._engine = CitewellQueryEngine(
            CitewellRetriever(library),
            llm,
            evidence_tokens=config.evidence_tokens,
            papers=config.papers,
            line=Line(config.slots),
        )

    def _fetching(self, name: str, done: int, total: int) -> None:
        share = f" of {total / 1e6:,.0f} MB" if total else " MB"
        self._words = f"Fetching {name}: {done / 1e6:,.0f}{share} (once)"

    def _indexing(self, stage: str, done: int, total: int) -> None:
        verb = {"read": "Reading files", "embed": "Embedding passages"}.get(stage, stage)
        self._words = f"{verb}: {done:,} of {total:,}"


def run_chat(config: Config, *, host: str, port: int, sources: Sequence[Path], sign_in: bool | None = None) -> None:
    """Serves the page until interrupted; ``sign_in``: as in ``access_of``.

    Raises ServeError when it cannot be served, AccountError when nobody could sign in.
    """
    access = access_of(config, host=host, sign_in=sign_in)
    preparation = Preparation(config, sources)
    page = build_page(
        preparation.engine,
        examples=preparation.examples,
        status=preparation.status,
        history=History(config.data / FILE, library=config.library),
        keeper=preparation,
        feedback=Feedback(library_folder(config)),
    )

    def ready(url: str) -> None:
        print(f"Citewell is at {url} (Ctrl-C ends it)", file=sys.stderr, flush=True)
        preparation.start()

    serve(
        page,
        host=host,
        port=port,
        api=build_api(preparation.service()),
        access=access,
        upload_mb=config.upload_mb,
        ready=ready,
    )
