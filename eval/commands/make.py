"""``citewell eval make``: write questions about a library with the language model, and drop the bad ones."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from eval.commands.arguments import listed, with_library
from eval.commands.output import print_results
from rag.commands.arguments import add_command, with_json

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(
        commands, "make", run, "write questions about a library with the language model, and drop the bad ones"
    )
    with_library(parser)
    parser.add_argument("--out", metavar="FILE.jsonl", type=Path, help="where to (default: questions-LIBRARY.jsonl)")
    parser.add_argument("--count", metavar="N", type=int, default=40, help="how many, all kinds together (default: 40)")
    parser.add_argument(
        "--kinds", metavar="KIND[,KIND…]", type=listed, help="single, paraphrase, two-paper, unanswerable"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another seed, other questions (default: 0)")
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Writes the questions, and prints how many were kept and dropped."""
    from eval.make import make_questions, print_made

    path = args.out or Path(f"questions-{config.library}.jsonl")
    results = make_questions(config, path, count=args.count, kinds=args.kinds, seed=args.seed)
    print_results(args, results, print_made)
    return 0
