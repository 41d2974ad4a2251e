"""``citewell eval verify``: measure how well sentences are checked."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.commands.arguments import with_library, with_out
from eval.commands.output import write_results
from rag.commands.arguments import add_command
from rag.errors import CitewellError

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "verify", run, "measure how well sentences are checked")
    parser.add_argument("--scifact", metavar="FOLDER", type=Path, help="SciFact's corpus and claims, with gold papers")
    parser.add_argument("--claims", metavar="SPLIT", default="dev", help="which claims of it (default: dev)")
    parser.add_argument("--answers", metavar="RESULTS.json", type=Path, help="falsify the sentences of these answers")
    with_library(parser, "the library of the answers")
    with_out(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Checks the claims, the falsified sentences, or both."""
    from eval.verify import measure_answers_falsified, measure_claims, print_verify

    if not (args.scifact or args.answers):
        raise CitewellError("nothing to measure; give --scifact FOLDER or --answers RESULTS.json or both")
    results: dict[str, Any] = {"measured": "verify"}
    if args.scifact:
        from rag.build import load_embedder

        results["claims"] = measure_claims(args.scifact, args.claims, load_embedder(config))
    if args.answers:
        from eval.answers import read_answers
        from rag.build import open_library

        records = read_answers(args.answers)["records"]
        results["falsified"] = measure_answers_falsified(records, open_library(config))
    write_results(args, results)
    print(print_verify(results))
    return 0
