"""The files a library is a copy of: which there are now, and what was read from those that changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from rag import readers
from rag.catalogue import Catalogue, SourceFile
from rag.dedupe import printed
from rag.records import Printed, Skipped


@dataclass(frozen=True, slots=True)
class Sources:
    """The state of the sources now: the files, and the records of those that changed."""

    roots: list[str]
    files: list[SourceFile]
    fresh: dict[str, list[Printed | Skipped]]
    gone: list[str]

    def records(self, catalogue: Catalogue) -> list[Printed | Skipped]:
        """What all files hold, read now or earlier."""
        found: list[Printed | Skipped] = []
        for file in self.files:
            found += self.fresh[file.path] if file.path in self.fresh else map(_named, catalogue.records(file.path))
        return found


def look(
    catalogue: Catalogue,
    paths: Sequence[Path],
    *,
    forget: Sequence[Path] = (),
    rebuild: bool,
    on_progress: Callable[[str, int, int], None],
) -> Sources:
    """The sources that ``catalogue`` has and ``paths``, but for ``forget``, as they are now.

    With ``rebuild`` every file is read anew.
    """
    known_files = catalogue.files()
    roots = {str(p.absolute()): p.absolute() for p in paths}
    left = {str(p.absolute()) for p in forget}
    for root in catalogue.roots():
        path = Path(root)
        if root in left:
            continue
        # a source that was deleted goes; one whose whole disk is away stays as it was read
        if path.exists() or not path.parent.exists():
            roots.setdefault(root, path)
    found: dict[str, SourceFile] = {}
    fresh: dict[str, list[Printed | Skipped]] = {}
    prints: set[str] | None = set() if rebuild else None
    listed = []
    for root, path in sorted(roots.items()):
        if path.exists():
            listed += [(root, file, storable(name)) for file, name in readers.files(path)]
        else:
            found.update({f.path: f for f in known_files.values() if f.root == root})
    for at, (root, file, name) in enumerate(listed):
        on_progress("read", at, len(listed))
        key = storable(str(file))
        if key in found:
            continue  # a file named by itself and through its folder is one file
        stat = file.stat()
        known = known_files.get(key)
        if not rebuild and known and (known.size, known.mtime_ns, known.name) == (stat.st_size, stat.st_mtime_ns, name):
            found[key] = known
            continue
        sha = _sha256(file)
        found[key] = SourceFile(key, root, name, stat.st_size, stat.st_mtime_ns, sha)
        if rebuild or not known or known.sha256 != sha or known.name != name:
            prints = catalogue.known_prints() if prints is None else prints
            fresh[key] = list(_read(file, name, prints))
    on_progress("read", len(listed), len(listed))
    gone = [path for path in known_files if path not in found]
    return Sources(sorted(roots), [found[key] for key in sorted(found)], fresh, gone)


def _read(file: Path, name: str, known: Set[str]) -> Iterator[Printed | Skipped]:
    """What a file holds. Of the prints ``known`` a record was made before, and is made again only when asked for."""
    for raw in readers.read_raw(file, name):
        content = "" if isinstance(raw, Skipped) else raw.print()
        if isinstance(raw, readers.Raw) and content in known:
            yield Printed(content, raw.source, raw.record)
        elif isinstance(made := readers.made(raw), Skipped):
            yield made
        else:
            yield Printed.of(content, made)


def _named(one: Printed | Skipped) -> Printed | Skipped:
    """With a print, where an older catalogue gave it none."""
    return one if isinstance(one, Skipped) or one.print else printed(one.record)


def storable(name: str) -> str:
    r"""A file name that is not UTF-8, from an old archive perhaps, with ``\udcXX`` for its bytes."""
    return name.encode("utf-8", "backslashreplace").decode()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
