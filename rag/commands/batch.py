"""``--batch``: many questions or sentences from a file of JSON lines, one line of JSON out for each."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

from rag.commands.output import Json, bad_usage, print_json
from rag.errors import CitewellError, SourceError


def asked(args: argparse.Namespace, key: str) -> list[Json]:
    """What is asked: the lines of the batch file, or the one argument. All of it is read before any work starts."""
    single = getattr(args, key)
    if (single is None) == (args.batch is None):
        bad_usage(f"give either a {key} or --batch FILE.jsonl")
    if args.batch is None:
        return [{key: single}]
    try:
        with _opened(args.batch) as file:
            return list(_lines(file, args.batch, key))
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{args.batch} cannot be read ({error}); give a JSONL file in UTF-8") from error


def _opened(name: str) -> TextIO:
    return sys.stdin if name == "-" else open(name, encoding="utf-8-sig")


def _lines(file: TextIO, name: str, key: str) -> Iterator[Json]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except ValueError as error:
            raise SourceError(f"{name} line {number} is not JSON ({error}); each line must be an object") from error
        if not isinstance(item, dict) or not isinstance(item.get(key), str) or "id" not in item:
            raise SourceError(f'{name} line {number} lacks "id" or a text "{key}": {line.strip()[:80]}')
        yield item


def print_each(items: list[Json], work: Callable[[Json], Json]) -> int:
    """Prints one line an item, in order; an item that cannot be worked on gets a line with its error. The exit code."""
    failed = 0
    for item in items:
        try:
            result = work(item)
        except CitewellError as error:
            failed += 1
            result = {"error": str(error)}
        print_json({"id": item["id"], **result})
    if failed:
        print(f'citewell: {failed} of {len(items)} lines failed; see their "error"', file=sys.stderr)
    return 1 if failed else 0
