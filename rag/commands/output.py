"""What more than one command prints. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from rag.records import Source

Json = dict[str, Any]


def print_json(value: Json) -> None:
    """Prints ``value`` as one line of JSON."""
    print(json.dumps(value, ensure_ascii=False), flush=True)


def places(sources: tuple[Source, ...]) -> str:
    """Where a paper stands: its files and rows."""
    return ", ".join(map(str, sources))


def bad_usage(message: str) -> NoReturn:
    """Ends the program as argparse does, for what argparse cannot tell."""
    print(f"citewell: {message}; see 'citewell --help'", file=sys.stderr)
    raise SystemExit(2)
