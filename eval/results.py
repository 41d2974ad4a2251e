"""Files of results: JSON written whole or not at all, and what they were made with."""

from __future__ import annotations

import json
import os
from importlib.metadata import PackageNotFoundError, version
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
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CitewellError(
            f"{path} cannot be read as results ({error}); make them with 'citewell eval {kind} --out {path.name}'"
        ) from error
    if not isinstance(value, dict) or value.get("measured") != kind:
        raise CitewellError(f"{path} holds no results of 'citewell eval {kind}'; make them with its option --out")
    return value


def citewell_version() -> str:
    """The version of Citewell that is installed, "unknown" where it runs from a bare folder."""
    try:
        return version("citewell")
    except PackageNotFoundError:
        return "unknown"
