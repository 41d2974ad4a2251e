"""The composition root: settings to a library, a query engine, a synchronisation. The only place that chooses parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rag import models
from rag.catalogue import Catalogue
from rag.config import Config
from rag.errors import ConfigError
from rag.fingerprint import fingerprint
from rag.guarantee import Setup, Standing, code_print, load, sketch, standing

if TYPE_CHECKING:
    from llama_index.core.llms.llm import LLM

    from rag.answer import CitewellQueryEngine
    from rag.embed import Embedder
    from rag.library import Library, Snapshot
    from rag.line import Line
    from rag.records import Paper
    from rag.rerank import Reranker
    from rag.sync import Progress, Report


def library_folder(config: Config) -> Path:
    """Where the library of ``config`` lives."""
    return config.data / "libraries" / config.library


def library_names(config: Config) -> list[str]:
    """The libraries of the data folder that were indexed, sorted."""
    from rag.sync import CATALOGUE

    folder = config.data / "libraries"
    return sorted(path.parent.name for path in folder.glob(f"*/{CATALOGUE}")) if folder.is_dir() else []


def load_embedder(config: Config) -> Embedder:
    """The embedding model, fetched when missing."""
    from rag.embed import Embedder

    return Embedder.load(models.resolve(config.embedder, cache=config.cache))


def load_reranker(config: Config) -> Reranker | None:
    """The cross-encoder that ``config`` names, fetched when missing; None where it names none."""
    if not config.reranker:
        return None
    from rag.rerank import Reranker

    return Reranker.load(models.resolve(config.reranker, cache=config.cache))


def load_llm(config: Config) -> LLM:
    """The language model: the server at ``llm_url`` where one is set, else the embedded engine."""
    if config.llm_url:
        if not config.llm_model:
            raise ConfigError("llm_url is set but llm_model is not; name the model that the server is to use")
        from llama_index.llms.openai_like import OpenAILike

        hosted: LLM = OpenAILike(
            model=config.llm_model,
            api_base=config.llm_url,
            api_key=config.llm_key or "none",
            is_chat_model=True,
            context_window=config.context,
            temperature=0.0,
            max_tokens=400,
            timeout=config.llm_timeout,
            max_retries=1,
        )
        return hosted
    from rag.llms.embedded import EmbeddedLLM

    path = models.resolve(config.llm, cache=config.cache)
    return EmbeddedLLM.load(path, threads=config.threads, context=config.context, slots=config.slots)


def sync_library(
    config: Config,
    paths: Sequence[Path],
    *,
    forget: Sequence[Path] = (),
    rebuild: bool = False,
    dry_run: bool = False,
    on_progress: Progress = lambda stage, done, total: None,
) -> Report:
    """Makes the library of ``config`` a copy of its sources and ``paths``, without ``forget``; see ``rag.sync.sync``."""
    from rag.sync import sync

    folder = models.resolve(config.embedder, cache=config.cache)

    def load() -> Embedder:
        from rag.embed import Embedder

        return Embedder.load(folder)

    return sync(
        library_folder(config),
        paths,
        load,
        embedder_print=fingerprint(folder),
        forget=forget,
        rebuild=rebuild,
        dry_run=dry_run,
        on_progress=on_progress,
    )


def keep_apart(config: Config, place: str, *, apart: bool = True) -> tuple[Report, Paper]:
    """Undoes the merge of the record at ``place`` ("FILE#ROW"), or with ``apart=False`` takes that back.

    Gives the report and the paper the record is in now; see ``rag.sync.decide``.
    """
    from rag.splits import place_of
    from rag.sync import decide, require_index

    source = place_of(place)
    require_index(library_folder(config))
    folder = models.resolve(config.embedder, cache=config.cache)

    def load() -> Embedder:
        from rag.embed import Embedder

        return Embedder.load(folder)

    return decide(library_folder(config), source, load, embedder_print=fingerprint(folder), apart=apart)


def open_library(config: Config, embedder: Embedder | None = None) -> Library:
    """The library of ``config``. Raises IndexStateError where it was not indexed, or with another embedder."""
    from rag.library import Library
    from rag.sync import require_index

    require_index(library_folder(config))
    return Library(library_folder(config), embedder or load_embedder(config), load_reranker(config))


def open_catalogue(config: Config) -> Catalogue:
    """What the library of ``config`` knows, without its models. Raises IndexStateError where it was not indexed."""
    from rag.sync import CATALOGUE, require_finished, require_index

    require_index(library_folder(config))
    catalogue = Catalogue(library_folder(config) / CATALOGUE)
    require_finished(config.library, catalogue.meta())
    return catalogue


def open_engine(
    config: Config,
    *,
    library: Library | None = None,
    llm: Callable[[Config], LLM] = load_llm,
    threshold: float | None = None,
    line: Line | None = None,
) -> CitewellQueryEngine:
    """The query engine over the library of ``config``, opened already or not; ``threshold`` is as in
    ``CitewellQueryEngine``, and so is ``line`` (default: one of its own, with the slots of ``config``)."""
    from rag.answer import CitewellQueryEngine
    from rag.line import Line
    from rag.retrieve import CitewellRetriever

    calibration = load(library_folder(config))

    def stands(snapshot: Snapshot) -> Standing:
        index, _, _ = snapshot.fingerprint.rpartition("-")
        return standing(calibration, setup_of(config, index, snapshot.words.paper_ids))

    return CitewellQueryEngine(
        CitewellRetriever(library or open_library(config)),
        llm(config),
        evidence_tokens=config.evidence_tokens,
        papers=config.papers,
        threshold=threshold,
        line=line or Line(config.slots),
        stands=stands if calibration else None,
    )


def setup_of(config: Config, index: str, paper_ids: Sequence[str]) -> Setup:
    """What a bound on wrong answers holds for: a library's papers and ``index`` (the prints of embedder, chunker and
    words), the models and settings of ``config``, and the code."""
    parts = {
        "embedding model or the form of the index": index,
        "language model": llm_name(config),
        "settings 'context', 'evidence_tokens' or 'papers'": f"{config.context} {config.evidence_tokens} {config.papers}",
        "setting 'reranker'": config.reranker,
        "code of Citewell": code_print(),
    }
    return Setup(parts=parts, papers=len(paper_ids), sketch=sketch(paper_ids))


def llm_name(config: Config) -> str:
    """The language model of ``config`` as results name it."""
    return f"{config.llm_model} at {config.llm_url}" if config.llm_url else config.llm
