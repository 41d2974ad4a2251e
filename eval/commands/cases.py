"""``citewell eval cases``: list the thumbs given on the page, and write them as questions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from eval.commands.arguments import with_library
from eval.commands.output import print_results
from rag.commands.arguments import add_command, with_json

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "cases", run, "list the thumbs given on the page, and write them as questions")
    with_library(parser)
    parser.add_argument("--out", metavar="FILE.jsonl", type=Path, help="write them as a questions file")
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Lists them, and what cannot be a question."""
    from eval.cases import cases_json, cases_of, print_cases
    from eval.questions import as_line
    from eval.results import write_text

    questions, left = cases_of(config)
    written = ""
    if args.out and questions:
        write_text(args.out, "".join(as_line(q) + "\n" for q in questions))
        written = str(args.out)
        print(f"written: {written}", file=sys.stderr)
    print_results(args, cases_json(questions, left, written), lambda _: print_cases(questions, left))
    return 0
