"""``citewell search``: find the papers that bear on a question."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rag.commands.arguments import add_command, chosen_filter, with_filter, with_json, with_library
from rag.commands.batch import asked, print_each
from rag.commands.output import places, print_json
from rag.errors import CitewellError, QuestionError

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config
    from rag.records import Hit
    from rag.retrieve import CitewellRetriever

_TOGETHER = 64
"""Questions of a batch that are searched for at a time."""


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "search", run, "find the papers that bear on a question")
    parser.add_argument("question", nargs="?", help="the question, or use --batch")
    parser.add_argument("-k", type=int, default=10, help="how many papers (default: 10)")
    with_filter(parser)
    with_library(parser)
    with_json(parser)
    parser.add_argument("--batch", metavar="FILE.jsonl", help='lines {"id", "question"} (- for stdin); prints JSONL')


def run(args: argparse.Namespace, config: Config) -> int:
    """Searches, and prints the papers by rank."""
    from rag.build import open_library
    from rag.contract import search_json
    from rag.retrieve import CitewellRetriever

    if args.k < 1:
        raise QuestionError(f"-k is {args.k}; it must be at least 1")
    items = asked(args, "question")
    where = chosen_filter(args)
    retriever = CitewellRetriever(open_library(config), k=args.k, where=where)

    def fitting(found: list[Hit] | CitewellError) -> list[Hit]:
        if isinstance(found, CitewellError):
            raise found
        return where.fitting(found)

    if args.batch:
        answers = _together(retriever, [item["question"] for item in items])
        return print_each(items, lambda item: search_json(item["question"], fitting(next(answers))))
    hits = fitting(retriever.search(items[0]["question"]))
    if args.json:
        print_json(search_json(args.question, hits))
        return 0
    for hit in hits:
        print(f"{hit.rank:3}. {hit.score:.3f}  {hit.paper.label}  ({places(hit.paper.sources)}, {hit.paper.paper_id})")
        print(f"     {' '.join(hit.paper.abstract.split())[:160]}…")
    return 0


def _together(retriever: CitewellRetriever, questions: list[str]) -> Iterator[list[Hit] | CitewellError]:
    """What is found for each question, looked up many at a time; the error of one that cannot be asked."""
    from rag.retrieve import check_question

    for at in range(0, len(questions), _TOGETHER):
        part = questions[at : at + _TOGETHER]
        faults: dict[int, CitewellError] = {}
        for i, question in enumerate(part):
            try:
                check_question(question)
            except CitewellError as error:
                faults[i] = error
        found = iter(retriever.search_many([q for i, q in enumerate(part) if i not in faults]))
        for i in range(len(part)):
            yield faults[i] if i in faults else next(found)
