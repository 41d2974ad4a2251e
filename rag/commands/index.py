"""``citewell index``: make the library a copy of files and folders of abstracts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.commands.arguments import add_command, with_json, with_library
from rag.commands.output import print_json

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "index", run, "make the library a copy of files and folders of abstracts")
    parser.add_argument("paths", metavar="PATH", nargs="*", type=Path, help="file or folder; none: the sources it has")
    parser.add_argument("--rebuild", action="store_true", help="read and embed everything anew")
    parser.add_argument("--dry-run", action="store_true", help="tell what would happen, write nothing")
    with_library(parser)
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Indexes, and tells what has come, changed and gone."""
    from rag.build import sync_library
    from rag.contract import report_json

    with _Bar() as progress:
        report = sync_library(config, args.paths, rebuild=args.rebuild, dry_run=args.dry_run, on_progress=progress)
    if args.json:
        print_json(report_json(report))
        return 0
    print(
        f"{report.records} records, {report.papers} papers, {report.duplicates} duplicates "
        f"(added {report.added}, changed {report.changed}, removed {report.removed}, unchanged {report.unchanged}) "
        f"in {report.seconds:.1f} s{' - dry run, nothing written' if args.dry_run else ''}"
    )
    for item in report.skipped:
        print(f"skipped {item.file}{'' if item.row is None else f' row {item.row}'}: {item.reason}", file=sys.stderr)
    return 0


class _Bar:
    """Progress on stderr, where that is a terminal."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage = ""

    def __enter__(self) -> Callable[[str, int, int], None]:
        return self._show

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def _show(self, stage: str, done: int, total: int) -> None:
        from tqdm import tqdm

        if stage != self._stage:
            self.__exit__()
            self._stage = stage
            units = {"read": " files", "embed": " passages"}
            self._bar = tqdm(total=total, desc=stage, unit=units.get(stage, ""), disable=not sys.stderr.isatty())
        self._bar.update(done - self._bar.n)
