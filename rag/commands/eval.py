"""``citewell eval``: measure retrieval and answers. The measurements are in ``eval.commands``, a module each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.commands.arguments import Commands


def add(commands: Commands) -> None:
    """Declares the command, which is nothing but its own commands."""
    from eval.commands import add_commands

    summary = "measure retrieval and answers"
    add_commands(commands.add_parser("eval", help=summary, description=summary), serve_review=_serve_review)


def _serve_review(review: Any, *, port: int) -> None:
    from ui.review import serve_review

    serve_review(review, port=port)
