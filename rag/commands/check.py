"""``citewell check``: tell whether the library bears a sentence out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rag.commands.arguments import add_command, with_json, with_library
from rag.commands.batch import asked, print_each
from rag.commands.output import places, print_json

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "check", run, "tell whether the library bears a sentence out")
    parser.add_argument("sentence", nargs="?", help="the sentence, or use --batch")
    parser.add_argument("--paper", metavar="PAPER_ID", help="hold it against this paper only")
    with_library(parser)
    with_json(parser)
    parser.add_argument(
        "--batch", metavar="FILE.jsonl", help='lines {"id", "sentence", "paper_id"?} (- for stdin); prints JSONL'
    )


def run(args: argparse.Namespace, config: Config) -> int:
    """Checks, and prints the verdict with what it rests on."""
    from rag.build import open_library
    from rag.check import Checker
    from rag.contract import verification_json
    from rag.retrieve import CitewellRetriever

    items = asked(args, "sentence")
    checker = Checker(CitewellRetriever(open_library(config)))
    if args.batch:
        return print_each(
            items,
            lambda item: verification_json(
                checker.check(item["sentence"], paper_id=item.get("paper_id") or args.paper)
            ),
        )
    found = checker.check(items[0]["sentence"], paper_id=args.paper)
    if args.json:
        print_json(verification_json(found))
        return 0
    print(f"{found.verdict} ({found.score:.2f}){': ' + found.reason if found.reason else ''}")
    for citation in found.citations:
        print(f"[{citation.marker}] {citation.label} ({places(citation.sources)}): “{citation.quote}”")
    return 0
