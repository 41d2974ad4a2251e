"""``citewell chat``: the page at once, and behind it whatever it takes until questions can be answered."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms.llm import LLM

from rag import models
from rag.answer import CitewellQueryEngine
from rag.build import (
    keep_apart,
    library_folder,
    library_names,
    llm_name,
    load_llm,
    open_engine,
    open_library,
    sync_library,
)
from rag.config import Config, check_library_name, save_settings, set_by_environment, settings_file
from rag.errors import CitewellError, ConfigError, IndexStateError, ModelError, NotReadyError
from rag.feedback import Feedback
from rag.library import Library, Snapshot
from rag.line import Line
from rag.records import Paper
from rag.sync import Progress, Report
from serve.api import build_api
from serve.gate import access_of
from serve.run import Engine
from serve.service import Service
from ui.app import build_page, serve
from ui.early import Early
from ui.examples import examples_of
from ui.history import FILE, History
from ui.library_view import EMPTY, NOT_OPEN, STAGES
from ui.pace import Pace
from ui.papers import counted
from ui.quality_view import Measured

_TRIAL = 20.0
"""Seconds that a language model on trial may take to answer."""
_BLOCK = 100
"""Papers read at a time where most need not be."""


class Preparation:
    """Fetches the models, indexes the sources, loads the engine: once, in a thread of its own.

    With ``first`` it takes embedder, language model and line over from there, where one library has them already.
    """

    def __init__(self, config: Config, sources: Sequence[Path], *, first: Preparation | None = None) -> None:
        self._config = config
        self._first = first
        self._line: Line = first._line if first is not None else Line(config.slots)
        self._sources = sources
        self._done = threading.Event()
        self._words = "Starting"
        self._pace = Pace()
        self._engine: CitewellQueryEngine | None = None
        self._library: Library | None = None
        self._model: LLM | None = None
        self._llm = ""
        self._fault: Exception | None = None
        self._examples: tuple[str, list[str]] = ("", [])
        self.on_model: Callable[[], None] = lambda: None
        """Called when another language model answers, or with other settings."""

    def start(self) -> None:
        self._words = "Starting"
        threading.Thread(target=self._run, name="citewell-preparation", daemon=True).start()

    def status(self) -> str:
        """What is going on, in one line."""
        if self._library is not None and self._engine is not None:
            return f"{counted(len(self._library))} · {self._llm}"
        return self._words

    @property
    def config(self) -> Config:
        """The settings in force."""
        return self._config

    @property
    def outside(self) -> frozenset[str]:
        """Names of the settings that the environment decides."""
        return set_by_environment()

    def choose(self, changes: dict[str, Any]) -> str:
        """Keeps the settings and puts them in force; a question that is being answered ends as it began."""
        config = replace(self._config, **changes)
        if config.llm_url and not config.llm_model:
            raise ConfigError("name the model that the server is to use")
        save_settings(changes, settings_file())
        other = llm_name(config) != llm_name(self._config) or config.llm_key != self._config.llm_key
        self._config = config
        if self._library is None or not self._done.is_set():
            return "Saved. It is used as soon as the library is open."
        if not other and self._engine is not None:
            self._engine = self._assistant(self._library, self._model)
            self.on_model()
            return "Saved. Used from the next question on."
        threading.Thread(target=self._take_model, name="citewell-model", daemon=True).start()
        return "Saved. The language model is being changed; the line at the top says when it is there."

    def try_llm(self, changes: dict[str, Any]) -> str:
        """Asks the language model of other settings for a word."""
        config = replace(self._config, **changes, llm_timeout=_TRIAL)
        if not config.llm_url:
            return "The model that comes with Citewell needs no test: it is checked when it is loaded."
        llm, started = load_llm(config), time.monotonic()
        try:
            said = llm.chat([ChatMessage(role=MessageRole.USER, content="Say OK.")]).message.content or ""
        except Exception as error:  # each client library raises its own
            words = " ".join(str(error).split())
            raise ModelError(f"No answer from {config.llm_url}: {words or type(error).__name__}") from error
        return f"It answers: “{' '.join(said.split())[:40]}”, after {time.monotonic() - started:.1f} s."

    @property
    def uploads(self) -> Path:
        """Where uploaded files are kept, a folder a library."""
        return self._config.data / "uploads" / self._config.library

    @property
    def missing(self) -> str:
        """Why there is no library yet."""
        return EMPTY if self._first is not None and self._done.is_set() else NOT_OPEN

    @property
    def feedback(self) -> Feedback:
        """What readers think of the answers from the library."""
        return Feedback(library_folder(self._config))

    def wait_for_papers(self) -> None:
        """There is nothing to open before the first file is added."""
        self._words = EMPTY
        self._fault = IndexStateError(EMPTY)
        self._done.set()

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
        library = self._library
        if library is None:
            return []
        snapshot = library.snapshot()
        if self._examples[0] != snapshot.generation:  # they are asked for every few seconds
            self._examples = (snapshot.generation, examples_of(_in_order(library, snapshot)))
        return self._examples[1]

    def engine(self) -> Engine:
        """What answers: the engine, or what stands in for it until it is there. Raises CitewellError when it will not be."""
        if self._done.is_set():
            return self.wait()
        return Early(self._done, self.wait, opened=self.library, status=self.status, papers=self._config.papers)

    def wait(self) -> CitewellQueryEngine:
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
        if self._first is not None:
            self._first.wait()
            assert self._first._library is not None, "an engine has a library"
            self._library = open_library(config, self._first._library.embedder)
            self._model, self._llm = self._first._model, self._first._llm
            self._engine = self._assistant(self._library, self._model)
            return
        for name in (config.embedder, *(() if config.llm_url else (config.llm,))):
            self._words = f"Looking for the model {name}"
            models.resolve(name, cache=config.cache, on_progress=partial(self._fetching, name))
        if self._sources:
            self._words = "Reading the papers"
            sync_library(config, self._sources, on_progress=self._indexing)
        self._words = "Opening the library"
        library = self._library = open_library(config)
        self._words = f"{counted(len(library))} · loading the language model"
        self._take_model()

    def _take_model(self) -> None:
        """Loads the language model of the settings and answers with it from then on."""
        assert self._library is not None, "the library is opened first"
        try:
            model = load_llm(self._config)
            self._engine = self._assistant(self._library, model)
        except CitewellError as error:
            if self._engine is None:
                raise
            self._llm = f"{self._llm} (kept, since the other one failed: {error})"
        else:
            self._model = model
            self._llm = model.metadata.model_name
            self.on_model()

    def _assistant(self, library: Library, model: LLM | None) -> CitewellQueryEngine:
        assert model is not None, "the language model is loaded first"
        return open_engine(self._config, library=library, llm=lambda _: model, line=self._line)

    def adopt(self) -> None:
        """Answers as the first library does from now on: with its language model and its settings."""
        if self._first is None:
            return
        self._config = replace(self._first._config, library=self._config.library)
        if self._library is None:
            return  # it takes the model when it is opened
        self._model, self._llm = self._first._model, self._first._llm
        self._engine = self._assistant(self._library, self._model)

    def _fetching(self, name: str, done: int, total: int) -> None:
        share = f" of {total / 1e6:,.0f} MB" if total else " MB"
        left = self._pace.left(name, done, total) or "once"
        self._words = f"Fetching {name}: {done / 1e6:,.0f}{share} ({left})"

    def _indexing(self, stage: str, done: int, total: int) -> None:
        left = self._pace.left(stage, done, total)
        count = f": {done:,} of {total:,}{f' ({left})' if left else ''}" if total else ""
        self._words = f"{STAGES.get(stage, stage)}{count}"


def _in_order(library: Library, snapshot: Snapshot) -> Iterator[Paper]:
    """The papers by their ids, read as they are looked at."""
    ids = sorted(snapshot.words.paper_ids)
    for at in range(0, len(ids), _BLOCK):
        yield from library.papers(ids[at : at + _BLOCK])


class Preparations:
    """The libraries of the data folder, each opened when it is first looked at."""

    def __init__(self, first: Preparation) -> None:
        self._first = first
        self._others: dict[str, Preparation] = {}
        self._lock = threading.Lock()
        first.on_model = self._adopt

    @property
    def first(self) -> str:
        """The library that the page is served for."""
        return self._first.config.library

    def names(self) -> list[str]:
        """All of them, sorted."""
        return sorted({self.first, *self._others, *library_names(self._first.config)})

    def of(self, name: str) -> Preparation:
        """The library ``name``. Raises IndexStateError for one there is not."""
        if name == self.first:
            return self._first
        with self._lock:
            if name not in self._others:
                if name not in library_names(self._first.config):
                    raise IndexStateError(f"there is no library {name!r} any more; choose another")
                self._others[name] = self._made(name)
                self._others[name].start()
            return self._others[name]

    def create(self, name: str) -> None:
        """Makes an empty library. Raises ConfigError for a name that cannot be used, or is taken."""
        check_library_name(name)
        with self._lock:
            if name.casefold() in {known.casefold() for known in self.names()}:
                raise ConfigError(f"there is a library {name!r} already; choose it, or take another name")
            self._others[name] = self._made(name)
            self._others[name].wait_for_papers()

    def _made(self, name: str) -> Preparation:
        return Preparation(replace(self._first.config, library=name), [], first=self._first)

    def _adopt(self) -> None:
        for other in list(self._others.values()):
            other.adopt()


def run_chat(
    config: Config,
    *,
    host: str,
    port: int,
    sources: Sequence[Path],
    sign_in: bool | None = None,
    report: Callable[[], Measured | None] | None = None,
) -> None:
    """Serves the page until interrupted; ``sign_in``: as in ``access_of``; ``report``: as in ``build_page``.

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
        chooser=preparation,
        libraries=None if access.shared else Preparations(preparation),
        report=report,
        access=access,
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
