"""The map: the wiring of the picture of the library. Python places the papers, page and canvas draw them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from rag.errors import CitewellError
from ui.atlas import payload
from ui.job import Job
from ui.library_view import Keeper
from ui.markup import render_text
from ui.pictures import Pictures
from ui.wiring import PLAIN, functions

COLOURS = {"topic": "Topic", "year": "Year", "source": "Source"}
STAGES = {
    "vectors": "Reading what each paper is about",
    "topics": "Looking for topics, and placing the papers by them",
    "papers": "Reading years and files",
    "names": "Finding names for the topics",
}
CHANGED = "The library has changed since this map was drawn. Open the map again."
CANVAS = (
    '<div class="cw-bar"><label class="cw-by">Coloured by <select class="cw-select" id="cw-map-by">'
    + "".join(f'<option value="{name}">{words}</option>' for name, words in COLOURS.items())
    + '</select></label><button type="button" class="cw-tool" data-do="map-whole">Show all</button>'
    '<span class="cw-count" role="status" id="cw-map-said"></span></div>'
    '<div class="cw-sheet"><canvas id="cw-canvas" role="img" aria-label="The papers of the library, placed by meaning. '
    'The table of the library lists the same papers."></canvas><div class="cw-tip" hidden></div>'
    '<div class="cw-making" id="cw-map-making"><p class="cw-status"><span class="cw-dot" aria-hidden="true"></span>'
    '<span class="cw-making-words">Opening the map</span></p><progress max="1" value="0" aria-label="Making the map" hidden>'
    '</progress><p class="cw-note" hidden>Once for this library. You can do something else meanwhile.</p></div></div>'
    '<ul class="cw-key" aria-label="Colours"></ul>'
)


def map_view(keeper_of: Callable[[str], Keeper]) -> None:
    """Builds the view where it is called, inside the page."""
    pictures = Pictures()

    def atlas(asked: dict[str, Any]) -> dict[str, Any]:
        """The picture of the library, or what is being done for it: to be asked for again then."""
        try:
            keeper = keeper_of(_library(asked))
            library = keeper.library()
            if library is None:
                return _waiting(keeper.missing, making=False)
            found = pictures.of(library, keeper.pictures)
        except CitewellError as error:
            return {"count": -1, "said": str(error), "again": False}
        if isinstance(found, Job):
            return _waiting(STAGES.get(found.stage, "Opening the map"), found.done, found.total)
        name, drawn = found
        return {"name": name, **payload(drawn)}

    def named(asked: dict[str, Any]) -> dict[str, str]:
        """The paper that the picture ``name`` shows as ``number``."""
        keeper, number = keeper_of(_library(asked)), int(asked.get("number", -1))
        drawn, library = pictures.named(keeper.pictures, str(asked.get("name"))), keeper.library()
        if library is None or drawn is None:
            return {"id": "", "html": CHANGED}
        found = library.papers(drawn.paper_ids[number : number + 1]) if number >= 0 else []
        return {"id": found[0].paper_id, "html": render_text(found[0].label)} if found else {"id": "", "html": CHANGED}

    def numbers(asked: dict[str, Any]) -> list[int]:
        """Where the picture ``name`` shows the papers ``ids``, unknown ones left out."""
        drawn = pictures.named(keeper_of(_library(asked)).pictures, str(asked.get("name")))
        wanted = set(map(str, asked.get("ids", [])))
        return [n for n, paper_id in enumerate(drawn.paper_ids) if paper_id in wanted] if drawn is not None else []

    functions("map", atlas, named, numbers)
    with gr.Column(elem_id="cw-map", elem_classes="cw-view"):
        gr.HTML(CANVAS, elem_id="cw-map-sheet", **PLAIN)


def _waiting(said: str, done: int = 0, total: int = 0, *, making: bool = True) -> dict[str, Any]:
    return {"count": -1, "said": said, "done": done, "total": total, "making": making, "again": True}


def _library(asked: dict[str, Any]) -> str:
    return str(asked.get("library") or "")
