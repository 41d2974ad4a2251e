"""``citewell eval answers``: ask every question and score the answers."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from eval.commands.arguments import listed, with_json, with_questions
from eval.commands.output import print_results, write_results
from rag.commands.arguments import add_command

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(
        commands, "answers", run, "ask every question and score the answers; goes on where it was stopped"
    )
    with_questions(parser)
    parser.add_argument("--kinds", metavar="KIND[,KIND…]", type=listed, help="only these kinds of questions")
    parser.add_argument("--limit", metavar="N", type=int, help="only N of them, spread evenly")
    parser.add_argument("--fresh", action="store_true", help="ask anew what was asked before")
    parser.add_argument("--judge-url", metavar="URL", help="also ask a judge: an OpenAI-compatible server")
    parser.add_argument("--judge-model", metavar="MODEL", help="the model to ask there")
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Asks and scores; a judge is asked too where one is named."""
    from eval.answers import measure_answers
    from eval.questions import default_questions
    from eval.summary import print_summary

    judge = None
    if args.judge_url or args.judge_model:
        from eval.judge import Judge

        judge = Judge.at(config, url=args.judge_url or "", model=args.judge_model or "")
    results = measure_answers(
        config,
        args.questions or default_questions(),
        split=args.split,
        kinds=args.kinds,
        limit=args.limit,
        fresh=args.fresh,
        judge=judge,
    )
    write_results(args, results)
    if args.out:
        print(f"written: {args.out}", file=sys.stderr)
    print_results(args, results, lambda found: print_summary(found["summary"]))
    if judge and not args.json:
        from eval.judge import print_judge

        print("\n" + print_judge(results["judge"]))
    return 0
