"""``citewell eval leaks``: find what the splits of a questions file share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from eval.commands.arguments import with_json
from eval.commands.output import print_results, write_results
from rag.commands.arguments import add_command

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(
        commands, "leaks", run, "find what the splits of a questions file share: near-duplicates, papers, passages"
    )
    parser.add_argument("--questions", metavar="FILE", type=Path, help="JSONL (default: questions about the seeds)")
    parser.add_argument("--words-only", action="store_true", help="do without the embedding model")
    parser.add_argument("--out", metavar="FILE.json", type=Path, help="write everything found, as JSON")
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Looks, and prints what it found."""
    from eval.leaks import find_leaks, print_leaks
    from eval.questions import default_questions, load_questions
    from rag.build import load_embedder

    questions = load_questions(args.questions or default_questions())
    found = find_leaks(questions, None if args.words_only else load_embedder(config).encode)
    write_results(args, found)
    print_results(args, found, print_leaks)
    return 0
