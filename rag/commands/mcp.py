"""``citewell mcp``: serve the library to an assistant, over MCP on standard input and output."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rag.commands.arguments import add_command, with_library

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    summary = "serve search, ask and get_paper to an assistant, over MCP on standard input and output"
    with_library(add_command(commands, "mcp", run, summary))


def run(args: argparse.Namespace, config: Config) -> int:
    """Serves until standard input ends."""
    from rag.build import open_catalogue
    from serve.tools import serve_tools

    open_catalogue(config).close()
    serve_tools(config)
    return 0
