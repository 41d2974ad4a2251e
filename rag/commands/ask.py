"""``citewell ask``: answer a question, every sentence cited."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rag.commands.arguments import add_command, chosen_filter, with_filter, with_json, with_library
from rag.commands.batch import asked, print_each
from rag.commands.output import Json, places, print_json

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config
    from rag.records import Answer, Turn


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "ask", run, "answer a question, every sentence cited")
    parser.add_argument("question", nargs="?", help="the question, or use --batch")
    with_filter(parser)
    with_library(parser)
    with_json(parser)
    parser.add_argument(
        "--batch",
        metavar="FILE.jsonl",
        help='lines {"id", "question", "conversation"?, "where"?, "language"?} (- for stdin); prints JSONL',
    )


def run(args: argparse.Namespace, config: Config) -> int:
    """Asks, and prints the answer with its citations."""
    from rag.build import open_engine
    from rag.contract import answer_json, where_of
    from rag.records import Turn

    items = asked(args, "question")
    where = chosen_filter(args)
    engine = open_engine(config)
    if not args.batch:
        answer = engine.ask(items[0]["question"], where=where)
        print_json(answer_json(answer)) if args.json else _print_answer(answer)
        return 0
    turns: dict[str, list[Turn]] = {}

    def ask(item: Json) -> Json:
        history = turns.setdefault(str(item["conversation"]), []) if item.get("conversation") is not None else []
        narrowed = where_of(item["where"]) if "where" in item else where
        answer = engine.ask(item["question"], history=history, where=narrowed, language=str(item.get("language") or ""))
        papers = tuple(dict.fromkeys(c.paper_id for c in answer.citations))
        history.append(Turn(answer.resolved_question, answer.text, papers))
        return answer_json(answer)

    return print_each(items, ask)


def _print_answer(answer: Answer) -> None:
    if answer.resolved_question != answer.question:
        print(f"(understood as: {answer.resolved_question})", file=sys.stderr)
    print(answer.text)
    if answer.citations:
        print()
    for citation in answer.citations:
        print(f"[{citation.marker}] {citation.label} ({places(citation.sources)}): “{citation.quote}”")
    if answer.status == "abstained" and answer.nearest:
        print("\nNearest papers:")
        for hit in answer.nearest:
            print(f"  {hit.paper.label} ({places(hit.paper.sources)})")
    if answer.guarantee:
        print(f"\n{answer.guarantee}", file=sys.stderr)
