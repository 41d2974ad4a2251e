"""``citewell eval peers``: ask other systems the same questions."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from eval.commands.arguments import listed, with_questions
from eval.commands.output import print_results, write_results
from rag.commands.arguments import add_command, with_json

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(
        commands, "peers", run, "ask other systems the same questions, with the same models and the same scorer"
    )
    with_questions(parser)
    parser.add_argument("--kinds", metavar="KIND[,KIND…]", type=listed, help="only these kinds of questions")
    parser.add_argument("--limit", metavar="N", type=int, help="only N of them, spread evenly")
    parser.add_argument("--peers", metavar="NAME[,NAME…]", type=listed, help="citewell, citation-engine, paperqa")
    parser.add_argument(
        "--patience", metavar="S", type=float, default=600.0, help="seconds PaperQA2 may take a question (default: 600)"
    )
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Asks and scores, and prints the systems beside each other."""
    from eval.peers import measure_peers, print_peers
    from eval.questions import default_questions

    results = measure_peers(
        config,
        args.questions or default_questions(),
        split=args.split,
        kinds=args.kinds,
        limit=args.limit,
        peers=args.peers,
        patience=args.patience,
    )
    write_results(args, results)
    print_results(args, results, print_peers)
    return 0
