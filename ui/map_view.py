"""The map: the wiring of the picture of the library. Python places the papers, page and canvas draw them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from rag.errors import CitewellError
from ui.atlas import Atlas, atlas_of, payload
from ui.library_view import Keeper
from ui.markup import render_text
from ui.wiring import PLAIN, functions

COLOURS = {"topic": "Topic", "year": "Year", "source": "Source"}
CANVAS = (
    '<div class="cw-bar"><label class="cw-by">Coloured by <select class="cw-select" id="cw-map-by">'
    + "".join(f'<option value="{name}">{words}</option>' for name, words in COLOURS.items())
    + '</select></label><button type="button" class="cw-tool" data-do="map-whole">Show all</button>'
    '<span class="cw-count" role="status" id="cw-map-said">Placing the papers</span></div>'
    '<div class="cw-sheet"><canvas id="cw-canvas" role="img" aria-label="The papers of the library, placed by meaning. '
    'The table of the library lists the same papers."></canvas><div class="cw-tip" hidden></div></div>'
    '<ul class="cw-key" aria-label="Colours"></ul>'
)


def map_view(keeper_of: Callable[[str], Keeper]) -> None:
    """Builds the view where it is called, inside the page."""
    drawn: dict[str, Atlas] = {}

    def atlas(asked: dict[str, Any]) -> dict[str, Any]:
        """The picture of the library; takes a minute for the first time with 100,000 papers."""
        try:
            keeper = keeper_of(_library(asked))
            library = keeper.library()
            if library is None:
                return {"count": -1, "said": keeper.missing}
            made = drawn[_library(asked)] = atlas_of(library, keeper.pictures)
            return payload(made, library.papers(made.paper_ids))
        except CitewellError as error:
            return {"count": -1, "said": str(error)}

    def named(asked: dict[str, Any]) -> dict[str, str]:
        """The paper that the picture shows as ``number``."""
        made, number = drawn.get(_library(asked)), int(asked.get("number", -1))
        library = keeper_of(_library(asked)).library() if made is not None else None
        if library is None or made is None or not 0 <= number < len(made.paper_ids):
            return {"id": "", "html": ""}
        found = library.papers([made.paper_ids[number]])
        return {"id": found[0].paper_id, "html": render_text(found[0].label)} if found else {"id": "", "html": ""}

    def numbers(asked: dict[str, Any]) -> list[int]:
        """Where the picture shows the papers ``ids``, unknown ones left out."""
        made, wanted = drawn.get(_library(asked)), set(map(str, asked.get("ids", [])))
        return [n for n, paper_id in enumerate(made.paper_ids) if paper_id in wanted] if made is not None else []

    functions("map", atlas, named, numbers)
    with gr.Column(elem_id="cw-map", elem_classes="cw-view"):
        gr.HTML(CANVAS, elem_id="cw-map-sheet", **PLAIN)


def _library(asked: dict[str, Any]) -> str:
    return str(asked.get("library") or "")
