"""Checking a sentence of one's own against the library: the wiring, and what came of it as HTML."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence

import gradio as gr

from rag.check import Checker, Verification
from rag.errors import CitewellError
from rag.records import Paper
from rag.retrieve import CitewellRetriever
from ui.chat_view import TOO_MANY
from ui.library_view import Keeper
from ui.render import citations_by_paper, escape, working_html
from ui.sources import as_cited, card
from ui.wiring import PLAIN, QUIET, asker_of, wanted, way

FORM = (
    '<div class="cw-form"><section><h2>Check a sentence of yours</h2><p class="cw-note">A sentence from a draft, say, or '
    "from another program. It is held against your papers, without a language model.</p>"
    '<textarea id="cw-sentence" class="cw-find" rows="3" maxlength="4000" aria-label="The sentence to check" '
    'placeholder="Paste one sentence"></textarea><div class="cw-actions">'
    '<button type="button" class="cw-button" data-do="check-sentence">Check</button></div></section></div>'
)
_VERDICTS = {
    "supported": ("Your papers bear it out.", "good"),
    "contradicted": ("Your papers contradict it.", "bad"),
    "unsupported": ("Your papers do not speak of it.", "none"),
}


def check_view(keeper_of: Callable[[str], Keeper], *, wait: Callable[[str], float]) -> None:
    """Builds the view where it is called, inside the page; ``wait`` is as in ``chat_view``."""

    async def check(event: gr.EventData, request: gr.Request) -> AsyncIterator[str]:
        told = wanted(event)
        sentence, keeper = str(told.get("text") or "").strip(), keeper_of(str(told.get("library") or ""))
        opened = keeper.library()
        if not sentence:
            yield fault_html("Paste a sentence first.")
        elif opened is None:
            yield fault_html(keeper.missing)
        elif seconds := wait(asker_of(request)):
            yield fault_html(TOO_MANY.format(seconds=math.ceil(seconds)))
        else:
            yield working_html("Looking through your papers")
            try:
                found = await asyncio.to_thread(Checker(CitewellRetriever(opened)).check, sentence)
                papers = opened.papers([c.paper_id for c in found.citations])
            except CitewellError as error:
                yield fault_html(str(error))
            else:
                yield verification_html(found, papers)

    action = way("check")
    with gr.Column(elem_id="cw-check", elem_classes="cw-view"):
        gr.HTML(FORM, elem_id="cw-check-form", **PLAIN)
        result = gr.HTML("", elem_id="cw-checked", **PLAIN)
    action.input(check, None, result, trigger_mode="multiple", concurrency_limit=2, **QUIET)


def verification_html(found: Verification, papers: Sequence[Paper]) -> str:
    """The verdict on a sentence, why, and the words it rests on."""
    words, kind = _VERDICTS[found.verdict]
    held = {paper.paper_id: paper for paper in papers}
    cards = "".join(
        card(*as_cited(held.get(paper_id), citations), -1, kind="checked", anchored=False)
        for paper_id, citations in citations_by_paper(found.citations).items()
    )
    reason = found.reason[:1].upper() + found.reason[1:]
    why = f'<p class="cw-note">{escape(reason)}.</p>' if reason else ""
    return (
        f'<div class="cw-verdict cw-verdict-{kind}" role="status"><p class="cw-checked-sentence">{escape(found.sentence)}</p>'
        f'<p class="cw-ruling">{words}</p>{why}</div><div class="cw-cards">{cards}</div>'
    )


def fault_html(message: str) -> str:
    """Why a sentence could not be checked."""
    return f'<p class="cw-error" role="alert">{escape(message)}</p>'
