"""The command line: parse, run the command, turn what goes wrong into an exit code.

Results on stdout, everything else on stderr. Exit codes: 0 done, 1 a fault said in one line, 2 bad usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress

from rag.commands import ask, calibrate, chat, check, doctor, duplicates, index, mcp, models, papers, search, users
from rag.commands import eval as measurements
from rag.config import load_config
from rag.errors import CitewellError

COMMANDS = (
    *(index, search, ask, check, chat, users, mcp),
    *(papers, duplicates, models, calibrate, measurements, doctor),
)
"""In the order of the help."""


def main(argv: list[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    args = _parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        config = load_config({"library": args.library})
        _stay_quiet()
        return int(args.run(args, config))
    except CitewellError as error:
        print(f"citewell: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("citewell: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="citewell",
        description="Answers questions about a collection of paper abstracts, every sentence footnoted to the exact words.",
    )
    parser.set_defaults(library=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return parser


def _stay_quiet() -> None:
    """The libraries below neither phone home nor draw bars of their own."""
    for name, value in (
        ("ANONYMIZED_TELEMETRY", "False"),
        ("GRADIO_ANALYTICS_ENABLED", "False"),
        ("HF_HUB_DISABLE_TELEMETRY", "1"),
        ("HF_HUB_DISABLE_PROGRESS_BARS", "1"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("TRANSFORMERS_VERBOSITY", "error"),
        ("TQDM_DISABLE", os.environ.get("TQDM_DISABLE", "")),
    ):
        if value:
            os.environ.setdefault(name, value)
