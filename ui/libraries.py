"""Several libraries on one page: choosing one, and making a new one. Each conversation is held with one of them."""

from __future__ import annotations

from typing import Any, Protocol

from rag.errors import CitewellError
from rag.feedback import Feedback
from serve.run import Engine
from ui.library_view import Keeper
from ui.wiring import functions

PICKER = (
    '<select id="cw-pick" class="cw-select" aria-label="Library" hidden></select>'  # filled and shown by libraries.js
)


class Desk(Keeper, Protocol):
    """A library with all that the page needs of it."""

    @property
    def feedback(self) -> Feedback:
        """What readers think of its answers."""

    def engine(self) -> Engine:
        """What answers from it. Raises CitewellError when nothing will."""

    def examples(self) -> list[str]:
        """Questions to begin with."""

    def status(self) -> str:
        """What is going on, in one line."""


class Libraries(Protocol):
    """The libraries of a data folder."""

    @property
    def first(self) -> str:
        """The one that the page is served for."""

    def names(self) -> list[str]:
        """All of them, sorted."""

    def of(self, name: str) -> Desk:
        """The library ``name``, which is opened where it is not yet. Raises CitewellError for one there is not."""

    def create(self, name: str) -> None:
        """Makes an empty one. Raises CitewellError for a name that cannot be used, or is taken."""


def library_picker(libraries: Libraries) -> None:
    """Gives libraries.js what there is to choose between; to be called inside the page."""

    def names(_: object) -> list[dict[str, str]]:
        """Each with the value that stands for it: "" for the first."""
        return [{"name": name, "value": "" if name == libraries.first else name} for name in libraries.names()]

    def create(asked: dict[str, Any]) -> str:
        """What is wrong with the name, or "" when the library is there."""
        try:
            libraries.create(str(asked.get("name") or "").strip())
        except CitewellError as error:
            return str(error)
        return ""

    functions("libraries", names, create)
