"""``citewell eval retrieval``: measure what is found, over questions or a collection of others."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from eval.commands.arguments import with_json, with_questions
from eval.commands.output import print_results, write_results
from rag.commands.arguments import add_command
from rag.errors import CitewellError

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "retrieval", run, "measure what is found, over questions or a collection of others")
    with_questions(parser)
    # not "run", which is the command's own
    parser.add_argument(
        "--run",
        metavar="FILE",
        dest="run_file",
        type=Path,
        help="write rankings in TREC's form (--systems: to a folder)",
    )
    parser.add_argument("--llm", action="store_true", help="resolve Chinese and follow-up questions by the LLM")
    parser.add_argument(
        "--beir",
        metavar="PATH",
        type=Path,
        help="measure over BEIR's or Cranfield's files, or a file of records with summaries",
    )
    parser.add_argument(
        "--qrels",
        metavar="SPLIT",
        default="test",
        help="judgements of --beir (default: test); of records: summary, summary-train or title",
    )
    parser.add_argument("--systems", metavar="FILE.toml", type=Path, help="compare several systems, a table each")
    parser.add_argument("--baseline", metavar="NAME", help="compare all systems with this one, not all pairs")
    parser.add_argument("--trec", metavar="QRELS", type=Path, help="judgements in TREC's form, for --systems with runs")
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Measures this library's retriever, or the systems of --systems."""
    from eval.questions import default_questions
    from eval.retrieval import measure_collection, measure_questions, print_retrieval

    if args.systems:
        return _systems(args, config)
    if args.trec or args.baseline:
        raise CitewellError("--trec and --baseline are for several systems; name their file with --systems")
    if args.beir:
        results, ranked = measure_collection(config, args.beir, split=args.qrels)
    else:
        path = args.questions or default_questions()
        results, ranked = measure_questions(config, path, split=args.split, with_llm=args.llm)
    if args.run_file:
        from eval.collections import write_run

        write_run(args.run_file, ranked, "citewell")
    write_results(args, results)
    print_results(args, results, print_retrieval)
    return 0


def _systems(args: argparse.Namespace, config: Config) -> int:
    from eval.collections import write_run
    from eval.contest import measure_systems, over_collection, over_qrels, over_questions, print_systems
    from eval.questions import default_questions

    if args.llm:
        raise CitewellError(
            "--llm cannot go with --systems: what the language model makes of a question is Citewell's own"
        )
    if args.trec:
        task, papers = over_qrels(args.trec), None
    elif args.beir:
        task, papers = over_collection(config, args.beir, split=args.qrels)
    else:
        task, papers = over_questions(config, args.questions or default_questions(), split=args.split)
    results, runs = measure_systems(args.systems, task, papers, baseline=args.baseline)
    if papers:
        papers.close()
    for name, ranked in runs.items() if args.run_file else ():
        write_run(args.run_file / f"{name}.run", ranked, name)
    write_results(args, results)
    print_results(args, results, print_systems)
    return 0
