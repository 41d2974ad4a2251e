"""``citewell eval gate``: hold the quick retrieval figures on the seeds against the committed baseline."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from eval.commands.arguments import with_json, with_library
from eval.commands.output import print_results
from rag.commands.arguments import add_command

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(
        commands, "gate", run, "hold the quick retrieval figures on the seeds against the committed baseline"
    )
    with_library(parser, "the library that holds the seeds")
    parser.add_argument("--renew", action="store_true", help="make what is measured now the baseline")
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Measures, and prints both; raises CitewellError, hence exit code 1, where a figure has fallen."""
    from eval import gate
    from eval.questions import default_questions
    from rag.build import open_library

    library = open_library(config)
    now = gate.quick_figures(library, default_questions())
    library.close()
    if args.renew:
        gate.renew(gate.baseline_path(), now)
        print(f"written: {gate.baseline_path()}", file=sys.stderr)
    baseline = gate.read_baseline(gate.baseline_path())
    print_results(
        args,
        {"measured": "gate", "figures": gate.held_against(now, baseline)},
        lambda _: gate.print_gate(now, baseline),
    )
    gate.require_no_fall(now, baseline)
    return 0
