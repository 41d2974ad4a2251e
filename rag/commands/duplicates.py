"""``citewell duplicates``: list what was merged, or shares an abstract, and why; undo a merge."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rag.commands.arguments import add_command, with_json, with_library
from rag.commands.output import places, print_json

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(
        commands, "duplicates", run, "list what was merged, or shares an abstract, and why; undo a merge"
    )
    decision = parser.add_mutually_exclusive_group()
    decision.add_argument("--split", metavar="FILE#ROW", help="make this record a paper of its own, now and later")
    decision.add_argument("--join", metavar="FILE#ROW", help="take the --split of this record back")
    with_library(parser)
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Prints a line for every decision about a record; or takes one."""
    from rag.build import open_catalogue

    if args.split or args.join:
        return _decide(args, config)
    found = open_catalogue(config).merges()
    if args.json:
        print_json({"duplicates": found})
        return 0
    for item in found:
        at = f"{item['source']['file']}#{item['source']['row']}" if "source" in item else ""
        if item["kind"] == "merge":
            print(f"{at} merged into {item['paper_id']}: {', '.join(item['reasons'])}")
        elif item["kind"] == "flag":
            print(f"{item['paper_id']} and {item['other_id']} kept apart: {item['reason']}")
        elif item["paper_id"]:
            print(
                f"{at} split off as {item['paper_id']}, apart from {', '.join(item['apart_from']) or 'none held now'}"
            )
        else:
            print(f"{at} split off; not in the sources now")
    return 0


def _decide(args: argparse.Namespace, config: Config) -> int:
    from rag.build import keep_apart
    from rag.contract import paper_json, report_json

    place = args.split or args.join
    report, paper = keep_apart(config, place, apart=bool(args.split))
    if args.json:
        print_json({"place": place, "paper": paper_json(paper), **report_json(report)})
        return 0
    others = f", with {places(rest)}" if (rest := tuple(s for s in paper.sources if str(s) != place)) else ""
    print(
        f"{place} is {'now' if args.split else 'again'} {paper.paper_id}, {paper.label}{others}; {report.papers} papers"
    )
    return 0
