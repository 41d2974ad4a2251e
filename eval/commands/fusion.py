"""``citewell eval fusion``: compare ways to fuse the retriever's legs, by nested cross-validation."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from eval.commands.arguments import with_json, with_out
from eval.commands.output import print_results, write_results
from rag.commands.arguments import add_command

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(
        commands, "fusion", run, "compare ways to fuse the retriever's legs, by nested cross-validation"
    )
    parser.add_argument("beir", metavar="FOLDER", type=Path, help="a collection in BEIR's form, or Cranfield's")
    parser.add_argument("--qrels", metavar="SPLIT", default="train", help="judgements of it (default: train)")
    with_out(parser)
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Fits and compares, and prints the measures of each."""
    from eval.fusion import measure_fusion, print_fusion

    results = measure_fusion(config, args.beir, split=args.qrels)
    write_results(args, results)
    print_results(args, results, print_fusion)
    return 0
