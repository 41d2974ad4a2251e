"""What more than one measurement declares on its command line."""

from __future__ import annotations

import argparse
from pathlib import Path


def with_questions(parser: argparse.ArgumentParser) -> None:
    """Adds ``--questions``, ``--split``, ``--library`` and ``--out``."""
    parser.add_argument("--questions", metavar="FILE", type=Path, help="JSONL (default: questions about the seeds)")
    parser.add_argument(
        "--split",
        choices=("tune", "calibrate", "test", "all"),
        default="all",
        help="which split of them (default: all)",
    )
    with_library(parser)
    with_out(parser)


def with_library(parser: argparse.ArgumentParser, what: str = "the library to use") -> None:
    """Adds ``--library``; ``what`` it is, for the help."""
    # suppressed: a default here would hide what was said before the subcommand
    parser.add_argument("--library", metavar="NAME", default=argparse.SUPPRESS, help=what)


def with_out(parser: argparse.ArgumentParser) -> None:
    """Adds ``--out``, a file for the results."""
    parser.add_argument("--out", metavar="FILE.json", type=Path, help="write everything measured, as JSON")


def with_json(parser: argparse.ArgumentParser) -> None:
    """Adds ``--json``."""
    parser.add_argument("--json", action="store_true", help="print one JSON object, and nothing else")


def listed(text: str) -> list[str]:
    """The parts of a list with commas: the ``type`` of an argument."""
    return [part.strip() for part in text.split(",") if part.strip()]
