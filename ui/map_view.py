"""The map: the wiring of the picture of the library. Python places the papers, page and canvas draw them."""

from __future__ import annotations

from typing import Any

import gradio as gr

from rag.errors import CitewellError
from ui.atlas import Atlas, atlas_of, payload
from ui.library_view import NOT_OPEN, Keeper
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


def map_view(keeper: Keeper) -> None:
    """Builds the view where it is called, inside the page."""
    drawn: list[Atlas] = []

    def atlas(_: object) -> dict[str, Any]:
        """The picture of the library; takes a minute for the first time with 100,000 papers."""
        library = keeper.library()
        if library is None:
            return {"count": -1, "said": NOT_OPEN}
        try:
            made = atlas_of(library, keeper.pictures)
            drawn[:] = [made]
            return payload(made, library.papers(made.paper_ids))
        except CitewellError as error:
            return {"count": -1, "said": str(error)}

    def named(number: int) -> dict[str, str]:
        """The paper that the picture shows as ``number``."""
        library = keeper.library()
        if library is None or not drawn or not 0 <= int(number) < len(drawn[0].paper_ids):
            return {"id": "", "html": ""}
        found = library.papers([drawn[0].paper_ids[int(number)]])
        return {"id": found[0].paper_id, "html": render_text(found[0].label)} if found else {"id": "", "html": ""}

    def numbers(paper_ids: list[str]) -> list[int]:
        """Where the picture shows the papers, unknown ones left out."""
        wanted = set(map(str, paper_ids))
        return [n for n, paper_id in enumerate(drawn[0].paper_ids) if paper_id in wanted] if drawn else []

    functions("map", atlas, named, numbers)
    with gr.Column(elem_id="cw-map", elem_classes="cw-view"):
        gr.HTML(CANVAS, elem_id="cw-map-sheet", **PLAIN)
