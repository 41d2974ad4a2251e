"""``citewell models``: list, fetch or verify the models."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rag.commands.arguments import add_command, with_json
from rag.commands.output import print_json

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(commands, "models", run, "list, fetch or verify the models")
    parser.add_argument("action", choices=["list", "pull", "verify"])
    parser.add_argument(
        "name", nargs="?", help="one model of the list (default: those in use for pull, all for verify)"
    )
    with_json(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Does what is asked for; exit code 1 where a file is not what it should be."""
    if args.action == "list":
        return _list(args, config)
    if args.action == "verify":
        return _verify(args, config)
    return _pull(args, config)


def _list(args: argparse.Namespace, config: Config) -> int:
    from rag import models

    states = models.list_models(config.cache)
    if args.json:
        print_json({"models": [models.state_json(s) for s in states]})
        return 0
    for state in states:
        present = "present" if state.present else "not fetched"
        print(f"{state.name:30} {state.kind:10} {state.size / 1e6:7.0f} MB  {state.licence:12} {present}  {state.note}")
    return 0


def _verify(args: argparse.Namespace, config: Config) -> int:
    from rag import models

    checks = models.verify(args.name, config.cache)
    if args.json:
        print_json({"files": [{"model": c.model, "file": str(c.file), "ok": c.ok} for c in checks]})
    else:
        for check in checks:
            print(f"{'ok ' if check.ok else 'BAD'} {check.model}/{check.file}")
    models.require_ok(checks)
    return 0


def _pull(args: argparse.Namespace, config: Config) -> int:
    from rag import models

    wanted = [args.name] if args.name else [config.embedder] + ([] if config.llm_url else [config.llm])
    for name in wanted:
        path = (
            models.pull(name, cache=config.cache)
            if models.is_registered(name)
            else models.resolve(name, cache=config.cache)
        )
        if not args.json:
            print(f"{name}: {path}")
    if args.json:
        print_json({"pulled": wanted})
    return 0
