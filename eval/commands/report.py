"""``citewell eval report``: make one HTML page of results that opens without a network."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from eval.commands.arguments import with_json
from eval.commands.output import print_results
from rag.commands.arguments import add_command

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "report", run, "make one HTML page of results that opens without a network")
    parser.add_argument(
        "results", metavar="RESULTS.json", type=Path, help="what 'answers' or 'retrieval' wrote by --out"
    )
    parser.add_argument("-o", "--out", metavar="FILE.html", type=Path, default=Path("report.html"), help="the page")
    parser.add_argument("--against", metavar="EARLIER.json", type=Path, help="compare with an earlier run")
    parser.add_argument("--system", metavar="NAME", help="compare this system of it (default: the first)")
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Writes the page; prints what has changed where there is an earlier run."""
    from eval.against import compare_runs, print_change
    from eval.outcomes import read_outcomes
    from eval.report import report_html
    from eval.results import write_text

    results, _ = read_outcomes(args.results)
    change = compare_runs(results, read_outcomes(args.against)[0], system=args.system) if args.against else None
    write_text(args.out, report_html(results, change))
    print(f"written: {args.out}", file=sys.stderr)
    if change:
        print_results(args, change, print_change)
    elif args.json:
        print_results(args, {"measured": "report", "of": results["measured"], "page": str(args.out)}, str)
    return 0
