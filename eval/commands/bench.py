"""``citewell eval bench``: time search and answers, warm."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from eval.commands.arguments import with_questions
from eval.commands.output import write_results
from rag.commands.arguments import add_command

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "bench", run, "time search and answers, warm")
    with_questions(parser)
    parser.add_argument("--limit", metavar="N", type=int, default=20, help="how many questions to answer (default: 20)")


def run(args: argparse.Namespace, config: Config) -> int:
    """Asks, and prints the times."""
    from eval.bench import measure_times, print_times
    from eval.questions import default_questions

    results = measure_times(config, args.questions or default_questions(), split=args.split, limit=args.limit)
    write_results(args, results)
    print(print_times(results))
    return 0
