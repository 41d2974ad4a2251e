"""``citewell eval table``: print, paper by paper, whether it is found, answered and rightly cited."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rag.commands.arguments import add_command

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(
        commands, "table", run, "print, paper by paper, whether it is found, answered and rightly cited"
    )
    parser.add_argument("results", metavar="RESULTS.json", type=Path, help="what 'citewell eval answers --out' wrote")


def run(args: argparse.Namespace, config: Config) -> int:
    """Prints the table."""
    from eval.answers import paper_table, read_answers

    print(paper_table(read_answers(args.results)))
    return 0
