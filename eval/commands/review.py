"""``citewell eval review``: read made questions in the browser."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from eval.commands.arguments import with_library
from rag.commands.arguments import add_command

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "review", run, "read made questions in the browser: accept, edit or drop each")
    parser.add_argument("file", metavar="FILE.jsonl", type=Path, help="what 'citewell eval make' wrote")
    with_library(parser, "the library they are about")
    parser.add_argument("--port", type=int, default=7861, help="port to bind, on this machine only (default: 7861)")


def run(args: argparse.Namespace, config: Config) -> int:
    """Serves the page until it is stopped, by ``args.serve_review``."""
    from eval.review import Review
    from rag.build import open_catalogue

    catalogue = open_catalogue(config)
    papers = {p.paper_id: p for p in catalogue.papers()}
    catalogue.close()
    review = Review(args.file, papers)
    args.serve_review(review, port=args.port)
    print(f"{review.accepted_path}: {review.counts()['accepted']} accepted", file=sys.stderr)
    return 0
