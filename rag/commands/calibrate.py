"""``citewell calibrate``: bound how often answers are wrong, for this library and language model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rag.commands.arguments import add_command, with_json, with_library
from rag.commands.output import print_json

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(
        commands, "calibrate", run, "bound how often answers are wrong, for this library and language model"
    )
    parser.add_argument("--questions", metavar="FILE", type=Path, help="JSONL of questions with their right answers")
    parser.add_argument(
        "--split", choices=["tune", "calibrate", "test", "all"], help="which of them (default: calibrate)"
    )
    parser.add_argument(
        "--alpha", type=float, default=0.05, help="share of wrong answers to stay below (default: 0.05)"
    )
    parser.add_argument("--delta", type=float, default=0.05, help="how often the bound may fail (default: 0.05)")
    with_library(parser)
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Asks the questions, keeps the bound beside the library and prints it."""
    from dataclasses import asdict

    from eval.calibrate import calibrate
    from eval.questions import default_questions

    found = calibrate(
        config,
        args.questions or default_questions(),
        split=args.split or "calibrate",
        alpha=args.alpha,
        delta=args.delta,
    )
    if args.json:
        print_json(asdict(found) | {"statement": found.statement})
        return 0
    for tested in found.tested:
        print(
            f"{tested.threshold:.2f}: {tested.wrong:3} of {tested.answered:3} wrong, p = {tested.p:.3g}",
            file=sys.stderr,
        )
    print(f"{found.statement[0].upper()}{found.statement[1:]}.")
    for assumption in found.assumptions if found.threshold is not None else ():
        print(f"- assumed: {assumption}")
    return 0
