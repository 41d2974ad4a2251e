"""What more than one command declares on its command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag.config import Config
    from rag.filters import Filter

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_command(
    commands: Commands, name: str, run: Callable[[argparse.Namespace, Config], int], summary: str
) -> argparse.ArgumentParser:
    """Adds a command, which ``run`` does and whose exit code it returns; the parser for its own arguments."""
    parser = commands.add_parser(name, help=summary, description=summary)
    parser.set_defaults(run=run)
    return parser


def with_library(parser: argparse.ArgumentParser) -> None:
    """Adds ``--library``."""
    parser.add_argument("--library", metavar="NAME", help="the library to use (default: 'default')")


def with_json(parser: argparse.ArgumentParser) -> None:
    """Adds ``--json``."""
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def with_filter(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose papers; ``chosen_filter`` reads them."""
    chosen = parser.add_argument_group("filter", "only papers that fit all of these; of one given again, any")
    chosen.add_argument("--year", metavar="YEAR", help="2019, 2019..2021, 2019.. or ..2021")
    chosen.add_argument("--venue", action="append", default=[], help="words of the venue's name")
    chosen.add_argument("--author", metavar="NAME", action="append", default=[], help="Bengio, Y. Bengio, …")
    chosen.add_argument("--keyword", action="append", default=[], help="words of a keyword")
    chosen.add_argument("--file", action="append", default=[], help="a source file, its folder, or a pattern with *")


def chosen_filter(args: argparse.Namespace) -> Filter:
    """The filter that the options of ``with_filter`` tell."""
    from rag.filters import Filter

    return Filter.parse(
        year=args.year or "", venue=args.venue, author=args.author, keyword=args.keyword, file=args.file
    )
