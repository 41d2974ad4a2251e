"""How good the answers are: the newest report of the evaluation, and the answers that readers complained of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from rag.errors import CitewellError
from rag.feedback import Feedback, Opinion
from rag.library import Library
from ui.render import attribute, escape
from ui.wiring import PLAIN, functions


@dataclass(frozen=True, slots=True)
class Measured:
    """Results of the evaluation."""

    name: str
    """Of their file."""
    page: str
    """A whole HTML document that runs no script."""
    index: str
    """The fingerprint of the library they were measured on."""


NO_REPORT = (
    "No results yet: 'citewell eval answers --out results/answers.json' asks the questions and keeps what came of it."
)
NO_CASES = "Nothing yet. A thumb below an answer puts it here, with the reason given for it."
_MOST_CASES = 200


def quality_view(
    report: Callable[[], Measured | None],
    feedback_of: Callable[[str], Feedback | None],
    library_of: Callable[[str], Library | None],
) -> None:
    """Builds the view where it is called, inside the page. Without feedback no opinions are shown: on a shared server
    they are other people's."""

    def shown(asked: dict[str, Any]) -> str:
        try:
            name = str((asked or {}).get("library") or "")
            library, feedback = library_of(name), feedback_of(name)
            return quality_html(
                report(),
                feedback.opinions() if feedback is not None else None,
                index=library.snapshot().fingerprint if library is not None else "",
            )
        except CitewellError as error:
            return f'<div class="cw-form"><p class="cw-error" role="alert">{escape(str(error))}</p></div>'

    functions("quality", shown)
    with gr.Column(elem_id="cw-quality", elem_classes="cw-view"):
        gr.HTML('<h2 class="cw-vh">Quality</h2><div class="cw-measured"></div>', elem_id="cw-quality-page", **PLAIN)


def quality_html(report: Measured | None, opinions: Sequence[Opinion] | None, *, index: str = "") -> str:
    """The report in a frame of its own, without script, and the opinions, those against an answer first.

    ``index`` is the fingerprint of the library shown, "" while it is not open.
    """
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
    frame = (
        f'<iframe class="cw-report-frame" sandbox="" title="Report of {attribute(report.name)}" '
        f'srcdoc="{attribute(report.page)}"></iframe>'
    )
    parts.append(
        f"<section><h2>Measured</h2><p class='cw-note'>From {escape(report.name)}. {_belongs(report.index, index)}</p></section>"
    )
    return f'<div class="cw-form">{"".join(parts)}</div>{frame}'


def _belongs(measured: str, shown: str) -> str:
    """Whether what was measured on one index can be told of another; fingerprints end with that of the papers."""
    if not shown:
        return ""
    if measured == shown:
        return "Measured on the papers of this library as they are now."
    if measured.rpartition("-")[2] == shown.rpartition("-")[2]:
        return "Measured on the papers of this library, but with another embedding model or form of the index."
    return (
        "<strong class='cw-elsewhere'>Measured on other papers than those of this library: how well it answers about these "
        "is not known.</strong>"
    )


def _case(opinion: Opinion) -> str:
    liked = opinion.thumb == "up"
    why = f'<span class="cw-note">{escape(opinion.reason)}</span>' if opinion.reason else ""
    return (
        f'<li><span class="cw-case-{"up" if liked else "down"}">{"Good" if liked else "Not good"}</span> '
        f"{escape(opinion.question)} {why} <span class='cw-note'>{escape(opinion.at[:10])}</span></li>"
    )
