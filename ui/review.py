"""The page on which made questions are accepted, edited or dropped, each beside its abstract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import gradio as gr

from rag.errors import CitewellError
from ui.app import serve
from ui.markup import Mark, render_text
from ui.render import escape

_KEYS = """
document.addEventListener('keydown', (event) => {
  const writing = event.target.matches('input, textarea');
  if (event.altKey || event.metaKey) return;
  const keys = event.ctrlKey ? {Enter: 'accept'}
    : writing ? {} : {a: 'accept', d: 'drop', e: 'edit', ArrowRight: 'next', ArrowLeft: 'back'};
  if (event.key === 'Escape' && writing) { event.target.blur(); return; }
  const wanted = keys[event.key];
  if (!wanted) return;
  event.preventDefault();
  if (wanted === 'edit') { document.querySelector('#rv-question textarea').focus(); return; }
  if (writing) { event.target.blur(); }
  // what was typed reaches the server with a change event, which comes before the click
  setTimeout(() => document.querySelector('#rv-' + wanted).click(), writing ? 150 : 0);
});
"""
HELP = "Keys: a accept, d drop, e edit (Ctrl+Enter accepts what you wrote, Esc leaves the box), ← → other questions."


class Shown(Protocol):
    """A paper beside a question; see ``eval.review.Shown``."""

    label: str
    abstract: str
    quotes: Sequence[tuple[int, int]]


class Card(Protocol):
    """A question to be judged; see ``eval.review.Card``."""

    id: str
    heading: str
    question: str
    facts: str
    note: str
    papers: Sequence[Shown]
    decision: str


class Review(Protocol):
    """What the page needs of ``eval.review.Review``."""

    def __len__(self) -> int: ...

    def card(self, place: int) -> Any: ...

    def undecided(self, after: int = -1) -> int | None: ...

    def counts(self) -> dict[str, int]: ...

    def decide(self, place: int, decision: Any, *, question: str, facts: str) -> None: ...


def card_html(card: Card, place: int, total: int) -> str:
    """What is known of a question: where it stands, what was decided, its note and its abstracts, quotes marked."""
    decided = f' <strong class="rv-decided">{escape(card.decision)}ed</strong>' if card.decision == "accept" else ""
    if card.decision == "drop":
        decided = ' <strong class="rv-decided">dropped</strong>'
    note = f"<p>{escape(card.note)}</p>" if card.note else ""
    papers = "".join(
        f'<article class="cw-card"><header><h3>{render_text(paper.label)}</h3></header><div class="cw-abstract"><p>'
        f"{render_text(paper.abstract, marks=[Mark(a, b, n) for n, (a, b) in enumerate(paper.quotes, 1)])}</p></div></article>"
        for paper in card.papers
    )
    return (
        f'<section data-question="{escape(card.id)}"><p>{place + 1} of {total} · {escape(card.heading)}{decided}</p>'
        f"{note}{papers or '<p>It is about no paper of the library.</p>'}</section>"
    )


def counts_html(counts: dict[str, int], words: str = "") -> str:
    """How far the review is, and what went wrong."""
    told = " · ".join(f"{n} {name}" for name, n in counts.items())
    return f'<p role="status">{escape(told)}{" — " + escape(words) if words else ""}</p>'


def build_review(review: Review) -> gr.Blocks:
    """The page over ``review``; whoever opens it sees the first question that is not decided yet."""

    def show(place: int, words: str = "") -> tuple[Any, ...]:
        card = review.card(place)
        return (
            place,
            card_html(card, place, len(review)),
            card.question,
            card.facts,
            counts_html(review.counts(), words),
        )

    def decide(place: int, decision: str, question: str, facts: str) -> tuple[Any, ...]:
        try:
            review.decide(place, decision, question=question, facts=facts)
        except CitewellError as error:
            return gr.skip(), gr.skip(), gr.skip(), gr.skip(), counts_html(review.counts(), str(error))
        following = review.undecided(place)
        return show(place if following is None else following, "" if following is not None else "all are decided")

    page: gr.Blocks
    with gr.Blocks(title="Citewell: questions", fill_width=True, analytics_enabled=False) as page:
        place = gr.State(0)
        gr.HTML("", visible="hidden", js_on_load=_KEYS)
        status = gr.HTML("", elem_id="rv-status")
        with gr.Row():
            with gr.Column():
                question = gr.Textbox(label="Question", elem_id="rv-question", lines=3)
                facts = gr.Textbox(
                    label="Facts a right answer holds, one a line, alternatives parted by ||",
                    elem_id="rv-facts",
                    lines=3,
                )
                with gr.Row():
                    accept = gr.Button("Accept", elem_id="rv-accept", variant="primary")
                    drop = gr.Button("Drop", elem_id="rv-drop", variant="stop")
                    back = gr.Button("Back", elem_id="rv-back")
                    following = gr.Button("Next", elem_id="rv-next")
                gr.HTML(f"<p>{escape(HELP)}</p>")
            with gr.Column():
                card = gr.HTML("", elem_id="rv-card")
        shown = [place, card, question, facts, status]
        quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "queue": False}
        accept.click(lambda p, q, f: decide(p, "accept", q, f), [place, question, facts], shown, **quiet)
        drop.click(lambda p, q, f: decide(p, "drop", q, f), [place, question, facts], shown, **quiet)
        back.click(lambda p: show((p - 1) % len(review)), place, shown, **quiet)
        following.click(lambda p: show((p + 1) % len(review)), place, shown, **quiet)
        page.load(lambda: show(review.undecided() or 0), None, shown, **quiet)
    return page


def serve_review(review: Review, *, port: int) -> None:
    """Serves the page on this machine until interrupted. Raises ServeError where it cannot be served."""
    serve(build_review(review), port=port, ready=_told)


def _told(url: str) -> None:
    import sys

    sys.stderr.write(f"the questions are at {url} (Ctrl-C ends it)\n")
