"""Where results go: to the file of ``--out``, and to stdout as text or as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eval.results import Json


def write_results(args: argparse.Namespace, results: Json) -> None:
    """Writes the results to the file of ``--out``, if one is named."""
    from eval.results import write_json

    if args.out:
        write_json(args.out, results)


def print_results(args: argparse.Namespace, results: Json, text: Callable[[Json], str]) -> None:
    """Prints the results: as one JSON object where that was asked for, else as text."""
    print(json.dumps(results, ensure_ascii=False, allow_nan=False) if args.json else text(results))
