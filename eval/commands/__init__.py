"""The commands under ``citewell eval``, a module each, named as the command is; made as those of ``rag.commands``."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from eval.commands import (
    answers,
    bench,
    cases,
    encoders,
    fit,
    fusion,
    gain,
    gate,
    guarantee,
    leaks,
    make,
    peers,
    report,
    retrieval,
    review,
    scale,
    table,
    verify,
)

COMMANDS = (
    *(retrieval, answers, leaks, gain, gate, encoders, fusion, make, peers),
    *(review, cases, table, report, fit, guarantee, verify, bench, scale),
)
"""In the order of the help."""


def add_commands(parser: argparse.ArgumentParser, *, serve_review: Callable[..., None]) -> None:
    """Adds the commands to the parser of ``citewell eval``.

    ``serve_review`` (review, port) serves the page of ``eval review``: the evaluation does not know the pages.
    """
    parser.set_defaults(serve_review=serve_review)
    commands = parser.add_subparsers(title="measurements", metavar="MEASUREMENT", required=True)
    for command in COMMANDS:
        command.add(commands)
