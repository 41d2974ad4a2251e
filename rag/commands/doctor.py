"""``citewell doctor``: check that everything needed is there."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rag.commands.arguments import add_command

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    add_command(commands, "doctor", run, "check that everything needed is there")


def run(args: argparse.Namespace, config: Config) -> int:
    """Prints a line a finding; exit code 1 where something is missing."""
    from rag.doctor import examine

    findings = examine(config)
    for finding in findings:
        print(f"{'ok ' if finding.ok else 'BAD'} {finding.subject}: {finding.text}")
    return 0 if all(f.ok for f in findings) else 1
