"""``citewell eval guarantee``: put the bound on wrong answers to the test over random halvings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from eval.commands.arguments import with_out
from eval.commands.output import write_results
from rag.commands.arguments import add_command

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "guarantee", run, "put the bound on wrong answers to the test over random halvings")
    parser.add_argument("results", metavar="RESULTS.json", type=Path, help="what 'citewell eval answers --out' wrote")
    with_out(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Halves and bounds, and prints how often the bound held."""
    from eval.answers import read_answers
    from eval.calibrate import measure_guarantee, print_guarantee

    results = measure_guarantee(read_answers(args.results)["records"], alphas=(0.05, 0.1, 0.2, 0.3), delta=0.05)
    write_results(args, results)
    print(print_guarantee(results))
    return 0
