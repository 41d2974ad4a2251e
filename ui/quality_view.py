"""How good the answers are: the newest report of the evaluation, and the answers that readers complained of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import gradio as gr

from rag.errors import CitewellError
from rag.feedback import Feedback, Opinion
from ui.render import attribute, escape
from ui.wiring import PLAIN, functions

Report = tuple[str, str]
"""The name of a file of results, and the page made of it: a whole HTML document that runs no script."""

NO_REPORT = (
    "No results yet: 'citewell eval answers --out results/answers.json' asks the questions and keeps what came of it."
)
NO_CASES = "Nothing yet. A thumb below an answer puts it here, with the reason given for it."
_MOST_CASES = 200


def quality_view(report: Callable[[], Report | None], feedback: Feedback | None) -> None:
    """Builds the view where it is called, inside the page. Without ``feedback`` no opinions are shown: on a shared
    server they are other people's."""

    def shown(_: object) -> str:
        try:
            return quality_html(report(), feedback.opinions() if feedback is not None else None)
        except CitewellError as error:
            return f'<div class="cw-form"><p class="cw-error" role="alert">{escape(str(error))}</p></div>'

    functions("quality", shown)
    with gr.Column(elem_id="cw-quality", elem_classes="cw-view"):
        gr.HTML('<h2 class="cw-vh">Quality</h2><div class="cw-measured"></div>', elem_id="cw-quality-page", **PLAIN)


def quality_html(report: Report | None, opinions: Sequence[Opinion] | None) -> str:
    """The report in a frame of its own, without script, and the opinions, those against an answer first."""
    parts = []
    if opinions is not None:
        ordered = sorted(opinions, key=lambda opinion: opinion.thumb != "down")[:_MOST_CASES]
        items = "".join(map(_case, ordered)) or f'<li class="cw-hint">{NO_CASES}</li>'
        parts.append(
            "<section><h2>What readers said</h2><p class='cw-note'>Each is a question that the next version must answer at "
            f"least as well; 'citewell eval cases' writes them to a file.</p><ul class='cw-list cw-cases'>{items}</ul></section>"
        )
    if report is None:
        parts.append(f"<section><h2>Measured</h2><p class='cw-note'>{NO_REPORT}</p></section>")
        return f'<div class="cw-form">{"".join(parts)}</div>'
    name, page = report
    frame = f'<iframe class="cw-report-frame" sandbox="" title="Report of {attribute(name)}" srcdoc="{attribute(page)}"></iframe>'
    parts.append(f"<section><h2>Measured</h2><p class='cw-note'>From {escape(name)}.</p></section>")
    return f'<div class="cw-form">{"".join(parts)}</div>{frame}'


def _case(opinion: Opinion) -> str:
    liked = opinion.thumb == "up"
    why = f'<span class="cw-note">{escape(opinion.reason)}</span>' if opinion.reason else ""
    return (
        f'<li><span class="cw-case-{"up" if liked else "down"}">{"Good" if liked else "Not good"}</span> '
        f"{escape(opinion.question)} {why} <span class='cw-note'>{escape(opinion.at[:10])}</span></li>"
    )
