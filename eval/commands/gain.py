"""``citewell eval gain``: tell what more splits of the questions buy, and after how many they buy no more."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from eval.commands.arguments import with_json
from eval.commands.output import print_results
from rag.commands.arguments import add_command

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(
        commands, "gain", run, "tell what more splits of the questions buy, and after how many they buy no more"
    )
    parser.add_argument(
        "results", metavar="RESULTS.json", type=Path, nargs="+", help="what --out wrote; several: each is a split"
    )
    parser.add_argument("--measure", metavar="NAME", help="of which measure (default: right, or nDCG@10)")
    parser.add_argument("--system", metavar="NAME", help="of which system, where there are several")
    parser.add_argument("--less", metavar="NAME", help="of its difference to this system")
    parser.add_argument("--splits", metavar="N", type=int, default=50, help="splits to draw (default: 50)")
    parser.add_argument("--share", metavar="SHARE", type=float, default=0.3, help="test part of each (default: 0.3)")
    parser.add_argument(
        "--enough", metavar="SHARE", type=float, default=0.05, help="stop below this gain (default: 0.05)"
    )
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Draws the splits, and prints the gain."""
    from eval.gain import measure_gain, print_gain

    found = measure_gain(
        args.results,
        measure=args.measure,
        system=args.system,
        less=args.less,
        splits=args.splits,
        share=args.share,
        enough=args.enough,
    )
    print_results(args, found, print_gain)
    return 0
