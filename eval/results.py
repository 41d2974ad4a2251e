"""Files of results: JSON written whole or not at all, and what they were made with."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from rag.errors import CitewellError

Json = dict[str, Any]


def write_text(path: Path, text: str) -> None:
    """Writes ``text`` to ``path``, whole or not at all. Raises CitewellError where the disk refuses."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise CitewellError(f"{path} cannot be written ({error}); give another file or free some space") from error


def write_json(path: Path, value: Json) -> None:
    """Writes ``value`` as readable JSON; NaN is refused, since no reader of JSON takes it."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def read_json(path: Path, *, kind: str) -> Json:
    """Results that ``citewell eval KIND --out`` wrote. Raises CitewellError for any other file."""
    return read_results(path, (kind,))


def read_results(path: Path, kinds: Sequence[str]) -> Json:
    """Results of one of ``kinds``, as ``--out`` wrote them. Raises CitewellError for any other file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CitewellError(
            f"{path} cannot be read as results ({error}); make them with 'citewell eval {kinds[0]} --out {path.name}'"
        ) from error
    if not isinstance(value, dict) or value.get("measured") not in kinds:
        raise CitewellError(f"{path} holds no results of 'citewell eval {kinds[0]}'; make them with its option --out")
    return value


def citewell_version() -> str:
    """The version of Citewell that is installed, "unknown" where it runs from a bare folder."""
    try:
        return version("citewell")
    except PackageNotFoundError:
        return "unknown"


def code_print() -> str:
    """Twelve hex digits over the source and the fitted models of ``rag``, as they are on disk now."""
    root = Path(str(files("rag")))
    digest = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.suffix in (".py", ".json") and "__pycache__" not in p.parts):
        digest.update(f"{path.relative_to(root).as_posix()}\x1f".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def made_with() -> Json:
    """What results say of the program that made them: its version, and the print of its source."""
    return {"citewell": citewell_version(), "code": code_print()}
