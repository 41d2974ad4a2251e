"""``citewell papers``: list the papers of the library."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rag.commands.arguments import add_command, chosen_filter, with_filter, with_json, with_library
from rag.commands.output import places, print_json
from rag.errors import QuestionError

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "papers", run, "list the papers of the library")
    with_filter(parser)
    parser.add_argument("--contains", metavar="TEXT", default="", help="only papers whose title or abstract holds this")
    parser.add_argument("--sort", choices=["year", "label", "title", "venue", "file"], default="id", help="the order")
    parser.add_argument("--reverse", action="store_true", help="the other way round")
    parser.add_argument("--limit", type=int, metavar="N", help="at most so many")
    with_library(parser)
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Prints a line a paper."""
    from rag.build import open_catalogue
    from rag.contract import paper_json

    if args.limit is not None and args.limit < 0:
        raise QuestionError(f"--limit is {args.limit}; it must not be below 0")
    where = chosen_filter(args)
    papers = open_catalogue(config).listed(
        where, contains=args.contains, sort=args.sort, reverse=args.reverse, limit=args.limit
    )
    if args.json:
        print_json({"papers": [paper_json(p) for p in papers]})
        return 0
    width = min(24, max((len(p.venue) for p in papers), default=0))
    known = width or any(p.year for p in papers)
    for paper in papers:
        facts = f"{paper.year or '':4}  {paper.venue[:width]:{width}}  " if known else ""
        print(f"{paper.paper_id}  {facts}{paper.label}  ({places(paper.sources)})")
    if not papers:
        print("no paper fits", file=sys.stderr)
    return 0
