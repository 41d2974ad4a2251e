"""What Citewell needs to run, looked at piece by piece."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from dataclasses import dataclass
from importlib import metadata

from rag import guarantee, models
from rag.build import library_folder, open_catalogue, setup_of
from rag.config import Config
from rag.errors import CitewellError

_NEEDED_FREE = 3_000_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One piece: whether it is in order, and what was seen or is to be done."""

    subject: str
    ok: bool
    text: str


def examine(config: Config) -> list[Finding]:
    """Everything that a first question needs, in the order in which it needs it. Fetches nothing."""
    return [_python(), _packages(), _sqlite(), _space(config), *_models(config), _library(config), *_guarantee(config)]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", sys.version_info >= (3, 11), f"{version} (3.11 or newer is needed)")


def _packages() -> Finding:
    wanted = ("chromadb", "gradio", "llama-index-core", "sentence-transformers", "torch", "xllamacpp", "bm25s")
    missing, found = [], []
    for name in wanted:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    return Finding("packages", not missing, f"missing: {', '.join(missing)}" if missing else ", ".join(found))


def _sqlite() -> Finding:
    ok = sqlite3.sqlite_version_info >= (3, 35)
    return Finding("SQLite", ok, f"{sqlite3.sqlite_version} (3.35 or newer is needed)")


def _space(config: Config) -> Finding:
    folder = config.cache
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    return Finding(
        "disk", free > _NEEDED_FREE, f"{free / 1e9:.1f} GB free at {folder} (3 GB are needed for the models)"
    )


def _models(config: Config) -> list[Finding]:
    present = {s.name.lower(): s for s in models.list_models(config.cache)}
    findings = []
    for name in (config.embedder, *(() if config.llm_url else (config.llm,))):
        state = present.get(name.lower())
        if state is None:
            findings.append(Finding(f"model {name}", True, "not of the registry; looked at when it is used"))
        else:
            text = str(state.path) if state.present else f"not fetched; run 'citewell models pull {name}'"
            findings.append(Finding(f"model {name}", state.present, text))
    if config.llm_url:
        findings.append(Finding("language model", bool(config.llm_model), f"{config.llm_model} at {config.llm_url}"))
    return findings


def _library(config: Config) -> Finding:
    try:
        meta = open_catalogue(config).meta()
    except CitewellError as error:
        return Finding(f"library {config.library}", False, str(error))
    text = f"made by {meta.get('embedder_name', 'an unfinished run')}, in {library_folder(config)}"
    return Finding(f"library {config.library}", "lexical" in meta, text)


def _guarantee(config: Config) -> list[Finding]:
    """Of a calibrated library, whether the bound on wrong answers holds: one that does not is told, and no fault."""
    try:
        calibration = guarantee.load(library_folder(config))
        if calibration is None:
            return []
        catalogue = open_catalogue(config)
        meta, papers = catalogue.meta(), [p.paper_id for p in catalogue.papers()]
        catalogue.close()
    except CitewellError as error:
        return [Finding("guarantee", False, str(error))]
    found = guarantee.standing(
        calibration, setup_of(config, f"{meta['embedder']}-{meta['chunker']}.{meta['words']}", papers)
    )
    return [Finding("guarantee", True, found.text)]
