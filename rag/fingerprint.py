"""Which model made an index: a print over its files, cheap enough to take at every start."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

_KINDS = frozenset({".json", ".txt", ".safetensors", ".bin", ".model"})
_PIECE = 1 << 20


def fingerprint(folder: Path) -> str:
    """Twelve hex digits over an embedding model's configuration, vocabulary and weights.

    Of a file above two pieces of 1 MiB, only the first and the last piece and its size count.
    """
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.suffix in _KINDS and not p.name.startswith(".")):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()}\x1f{size}\x1e".encode())
        with path.open("rb") as file:
            digest.update(file.read(_PIECE))
            if size > _PIECE:
                file.seek(-min(_PIECE, size - _PIECE), os.SEEK_END)
                digest.update(file.read())
    return digest.hexdigest()[:12]
