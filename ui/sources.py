"""The sources beside an answer as HTML: a card a paper, its whole abstract with every quote highlighted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rag.records import Citation, Hit, Paper
from ui.conversation import Exchange
from ui.markup import Mark, render_text
from ui.render import attribute, citations_by_paper, escape, name_of, place

LONG = 360
"""Characters from which an abstract is folded."""


def empty_html() -> str:
    """Before the first question."""
    return _panel(
        "Sources",
        "",
        '<p class="cw-hint">The papers an answer rests on appear here, with the exact words highlighted. '
        "Click a marker such as <span class='cw-ref'>[1]</span> in an answer to see its words.</p>",
        turn=-1,
    )


def found_html(hits: Sequence[Hit], turn: int) -> str:
    """The papers found, before a word has been written."""
    cards = "".join(card(hit.paper, (), turn, kind="found") for hit in hits)
    words = "Found these; reading them now" if hits else "No paper comes near this question"
    return _panel("Sources", words, f'<div class="cw-cards">{cards}</div>', turn=turn, busy=bool(hits))


def sources_html(exchange: Exchange, turn: int) -> str:
    """The sources of an exchange that is over: cited papers by number, then those only looked at."""
    answer = exchange.answer
    asked = f"For “{_short(exchange.question)}”"
    if answer is None:
        cards = "".join(card(hit.paper, (), turn, kind="found") for hit in exchange.hits)
        return _panel("Papers found", asked, f'<div class="cw-cards">{cards}</div>', turn=turn)
    if answer.status == "abstained":
        near = "".join(card(hit.paper, (), turn, kind="near") for hit in answer.nearest)
        hint = "" if near else '<p class="cw-hint">No paper comes near this question.</p>'
        return _panel(
            "Nearest papers",
            f"{asked}: none of them answers it",
            f'<div class="cw-cards">{near}</div>{hint}',
            turn=turn,
        )
    cited = citations_by_paper(answer.citations)
    papers = {hit.paper.paper_id: hit.paper for hit in (*answer.nearest, *exchange.hits)} | exchange.papers
    cards = "".join(
        card(*as_cited(papers.get(paper_id), citations), turn, kind="cited") for paper_id, citations in cited.items()
    )
    body = f'<div class="cw-cards">{cards}</div>'
    others = [hit.paper for hit in exchange.hits if hit.paper.paper_id not in cited]
    if others:
        rest = "".join(card(paper, (), turn, kind="other") for paper in others)
        body += f'<h3 class="cw-also">Also looked at</h3><div class="cw-cards">{rest}</div>'
    return _panel("Sources", asked, body, turn=turn)


def _panel(title: str, words: str, body: str, *, turn: int, busy: bool = False) -> str:
    dot = '<span class="cw-dot" aria-hidden="true"></span>' if busy else ""
    said = f'<p class="cw-for">{dot}{escape(words)}</p>' if words else ""
    return (
        f'<section class="cw-sources" aria-label="{title}" data-turn="{turn}"{" aria-busy=true" if busy else ""}>'
        f"<h2>{title}</h2>{said}{body}</section>"
    )


def card(paper: Paper, citations: Sequence[Citation], turn: int, *, kind: str, anchored: bool = True) -> str:
    """A paper with its quotes marked; ``anchored``: the address of a marker leads to it."""
    numbers = "".join(f'<span class="cw-num">{citation.marker}</span>' for citation in citations)
    refs = " ".join(str(citation.marker) for citation in citations)
    said = f'<span class="cw-vh">Source {refs.replace(" ", ", ")}: </span>' if refs else ""
    marks = [Mark(citation.start, citation.end, citation.marker) for citation in citations]
    body = render_text(paper.abstract, marks=marks, links=True)
    folded = len(paper.abstract) > LONG
    more = (
        '<button type="button" class="cw-more" data-do="more" aria-expanded="false">Whole abstract</button>'
        if folded
        else ""
    )
    anchor = f' id="cw-source-{citations[0].marker}"' if citations and anchored else ""
    return (
        f'<article class="cw-card cw-{kind}"{anchor} tabindex="-1" data-refs="{refs}" '
        f'data-paper="{attribute(paper.paper_id)}">'
        f"<header>{numbers}<h3>{said}{render_text(name_of(paper)[0])}</h3></header>{_about(paper)}"
        f'<div class="cw-abstract{" cw-folded" if folded else ""}"><p>{body}</p></div>'
        f'<footer>{_places(paper)}<span class="cw-ends">{more}'
        f'<button type="button" class="cw-more cw-back" data-do="back" data-turn="{turn}">Back to the answer</button>'
        "</span></footer></article>"
    )


def _about(paper: Paper) -> str:
    _, named = name_of(paper)
    authors = ", ".join(paper.authors[:3]) + (" et al." if len(paper.authors) > 3 else "")
    rest = " · ".join(escape(x) for x in (authors, paper.venue, str(paper.year or "")) if x)
    title = f'<span class="cw-title">{render_text(named)}</span>' if named else ""
    return f'<p class="cw-about">{title}{" " if title and rest else ""}{rest}</p>' if title or rest else ""


def _places(paper: Paper) -> str:
    shown = "".join(f"<li>{escape(place(source))}</li>" for source in paper.sources)
    return f'<ul class="cw-places" aria-label="Where it was read from">{shown}</ul>'


def as_cited(paper: Paper | None, citations: Sequence[Citation]) -> tuple[Paper, Sequence[Citation]]:
    """The paper with its citations; where it left the library or changed since, its quotes alone stand for it."""
    if paper is not None and all(paper.abstract[c.start : c.end] == c.quote for c in citations):
        return paper, citations
    abstract, moved = "", []
    for citation in citations:
        abstract += " … " if abstract else ""
        moved.append(replace(citation, start=len(abstract), end=len(abstract) + len(citation.quote)))
        abstract += citation.quote
    first = citations[0]
    return Paper(first.paper_id, first.label, abstract, sources=first.sources), moved


def _short(text: str, most: int = 90) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
