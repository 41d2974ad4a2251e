"""``citewell chat``: serve the chat page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rag.commands.arguments import add_command, with_library
from rag.errors import SourceError

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "chat", run, "serve the chat page")
    with_library(parser)
    parser.add_argument("--host", default="127.0.0.1", help="address to bind (default: 127.0.0.1, this machine only)")
    parser.add_argument("--port", type=int, default=7860, help="port to bind (default: 7860)")
    parser.add_argument(
        "--index", metavar="PATH", nargs="+", type=Path, default=[], help="first make the library a copy of these too"
    )
    parser.add_argument(
        "--accounts",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether one has to sign in (default: yes, unless bound to this machine only)",
    )


def run(args: argparse.Namespace, config: Config) -> int:
    """Serves until it is stopped; the page shows the newest results of ``citewell eval`` that lie about."""
    from ui.chat import run_chat
    from ui.quality_view import Measured

    for path in args.index:
        if not path.exists():
            raise SourceError(f"{path}: no such file or folder; name a file or a folder of abstracts")
    if not args.index:
        from rag.build import open_catalogue

        open_catalogue(config).close()

    def report() -> Measured | None:
        from eval.report import newest_report

        found = newest_report(
            [Path.cwd(), Path.cwd() / "results", Path.cwd() / "eval" / "results", config.data / "results"]
        )
        return Measured(*found) if found is not None else None

    run_chat(config, host=args.host, port=args.port, sources=args.index, sign_in=args.accounts, report=report)
    return 0
