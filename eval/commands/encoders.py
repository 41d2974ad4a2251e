"""``citewell eval encoders``: rank embedding models for a library, without labels."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from eval.commands.arguments import with_json, with_library, with_out
from eval.commands.output import print_results, write_results
from rag.commands.arguments import add_command

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "encoders", run, "rank embedding models for a library, without labels")
    parser.add_argument("names", metavar="ENCODER", nargs="*", help="as the setting 'embedder' (default: those here)")
    parser.add_argument("--questions", metavar="FILE", type=Path, help="hold it against these questions' labels")
    with_library(parser)
    with_out(parser)
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Ranks the models that are named, else those that need no download."""
    from eval.encoders import measure_encoders, print_encoders

    results = measure_encoders(config, args.names or _here(config), args.questions)
    write_results(args, results)
    print_results(args, results, print_encoders)
    return 0


def _here(config: Config) -> list[str]:
    """The embedding models of the registry that need no download."""
    from rag.models import list_models

    here = [s.name for s in list_models(config.cache) if s.kind == "embedding" and s.present]
    return here or [config.embedder]
