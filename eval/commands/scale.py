"""``citewell eval scale``: measure how indexing and search grow with the number of papers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from eval.commands.arguments import listed, with_out
from eval.commands.output import write_results
from rag.commands.arguments import add_command

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "scale", run, "measure how indexing and search grow with the number of papers")
    parser.add_argument("papers", metavar="FILE", type=Path, help="a file of papers, the more the better")
    parser.add_argument(
        "--sizes",
        metavar="N[,N…]",
        type=_numbers,
        help="libraries of its first N records (default: 1000,10000 and all)",
    )
    parser.add_argument(
        "--queries", metavar="N", type=int, default=10_000, help="searches to watch memory over (default: 10000)"
    )
    with_out(parser)


def _numbers(text: str) -> list[int]:
    numbers = [int(part) for part in listed(text)]
    if not numbers or min(numbers) < 1:
        raise ValueError(text)
    return numbers


def run(args: argparse.Namespace, config: Config) -> int:
    """Indexes and searches libraries of each size, and prints what that took."""
    from eval.scale import SIZES, measure_scale, print_scale

    results = measure_scale(config, args.papers, sizes=args.sizes or SIZES, queries=args.queries)
    write_results(args, results)
    print(print_scale(results))
    return 0
