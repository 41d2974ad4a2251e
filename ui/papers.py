"""The library as HTML: the rows of its table, the page of a paper, its sources and what a change brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag.catalogue import SourceFile
from rag.fold import plain
from rag.records import Paper, Source
from rag.sync import Report
from ui.markup import render_text
from ui.render import attribute, escape, name_of, place
from ui.shelf import Shelf

MOST_OPTIONS = 200
MOST_SKIPPED = 200
_COLUMNS = (("label", "Paper"), ("authors", "Authors"), ("year", "Year"), ("place", "Where"))
_OPENING = 220

TABLE = (
    '<div class="cw-bar"><input type="search" class="cw-find" id="cw-find-papers" aria-label="Search the papers" '
    'placeholder="Search names, words, authors, files" autocomplete="off">'
    '<span class="cw-filters"></span><span class="cw-count" role="status"></span></div>'
    '<div class="cw-table" role="table" aria-label="Papers"><div role="rowgroup"><div class="cw-row cw-thead" role="row">'
    + "".join(
        f'<span role="columnheader" class="cw-{name}"><button type="button" class="cw-sort" data-do="sort" '
        f'data-text="{name}">{words}</button></span>'
        for name, words in _COLUMNS
    )
    + '</div></div><div class="cw-scroll" role="rowgroup" tabindex="0" aria-label="Rows"><div class="cw-room">'
    '<div class="cw-window"></div></div></div></div>'
)
FORMATS = (
    '<p class="cw-note cw-formats">Plain text, JSON, CSV and TSV, BibTeX, RIS, PubMed and MEDLINE, arXiv Atom, Markdown; '
    "also packed as .gz or .zip.</p>"
)
SOURCES = '<div class="cw-source-list"></div>'
ANOTHER = (
    '<div class="cw-new-library" hidden><h2>Another library</h2><div class="cw-actions"><input id="cw-library-name" '
    'class="cw-find" maxlength="60" autocomplete="off" aria-label="Name of a new library" placeholder="Its name">'
    '<button type="button" class="cw-quiet" data-do="new-library">Create</button><span class="cw-told" role="status">'
    "</span></div></div>"
)
NO_PAPER = '<p class="cw-hint">Choose a paper to read its abstract, see where it was found and what comes near it.</p>'


def counted(papers: int) -> str:
    """So many papers, in words."""
    return "1 paper" if papers == 1 else f"{papers:,} papers"


def rows_html(papers: Sequence[Paper], first: int) -> str:
    """Rows of the table, the first of which is number ``first`` from 0."""
    return "".join(_row(paper, number) for number, paper in enumerate(papers, first))


def _row(paper: Paper, number: int) -> str:
    name, title = name_of(paper)
    opening = title or paper.abstract[:_OPENING]
    authors = ", ".join(paper.authors[:2]) + (" et al." if len(paper.authors) > 2 else "")
    first = paper.sources[0] if paper.sources else None
    more = f" and {len(paper.sources) - 1} more" if len(paper.sources) > 1 else ""
    where = f"{escape(first.file)}, <span>row {first.row}{more}</span>" if first else ""
    return (
        f'<div class="cw-row" role="row" aria-rowindex="{number + 2}" data-key="{attribute(paper.paper_id)}">'
        f'<span role="cell" class="cw-label"><a href="#paper/{attribute(paper.paper_id)}">{render_text(name)}</a>'
        f'<span class="cw-opening">{render_text(opening)}</span></span>'
        f'<span role="cell" class="cw-authors">{escape(authors)}</span>'
        f'<span role="cell" class="cw-year">{paper.year or ""}</span>'
        f'<span role="cell" class="cw-place">{where}</span></div>'
    )


def filters_html(shelf: Shelf) -> str:
    """What the table may be narrowed down to."""
    return _select("source", "From any file", [(name, name, n) for name, n in shelf.sources]) + _select(
        "year", "Of any year", [(str(year), str(year), n) for year, n in shelf.years]
    )


def _select(name: str, every: str, options: Sequence[tuple[str, str, int]]) -> str:
    if len(options) < 2:
        return ""
    shown = "".join(
        f'<option value="{attribute(value)}">{escape(words)} ({count:,})</option>'
        for value, words, count in options[:MOST_OPTIONS]
    )
    return (
        f'<select class="cw-select" data-filter="{name}" aria-label="{every}"><option value="">{every}</option>'
        f"{shown}</select>"
    )


def paper_html(paper: Paper, near: Sequence[Paper], merges: Sequence[Mapping[str, Any]]) -> str:
    """The page of a paper; ``merges`` is what the audit says of it."""
    name, title = name_of(paper)
    about = " · ".join(escape(x) for x in (", ".join(paper.authors), paper.venue, str(paper.year or "")) if x)
    parts = [
        f'<article class="cw-paper" data-key="{attribute(paper.paper_id)}">',
        '<button type="button" class="cw-more cw-to-table" data-do="to-table">Back to the table</button>',
        f'<h2 tabindex="-1">{render_text(name)}</h2>',
        f'<p class="cw-full-title">{render_text(title)}</p>' if title else "",
        f'<p class="cw-about">{about}</p>' if about else "",
        f'<div class="cw-abstract"><p>{render_text(paper.abstract, links=True)}</p></div>',
        '<div class="cw-tools"><button type="button" class="cw-button" data-do="ask-about" '
        f'data-text="{attribute(_question(paper))}">Ask about this paper</button>{_links(paper)}</div>',
        "<h3>Where it was read</h3>",
        f'<ul class="cw-list">{"".join(f"<li>{escape(place(s))}</li>" for s in paper.sources)}</ul>',
    ]
    merged = [m for m in merges if m["kind"] in ("merge", "split") and m["paper_id"] == paper.paper_id]
    if merged:
        parts.append(f'<h3>Duplicates</h3><ul class="cw-list">{"".join(map(_merge, merged))}</ul>')
    doubts = [m for m in merges if m["kind"] == "flag" and paper.paper_id in (m["paper_id"], m["other_id"])]
    for doubt in doubts:
        other = doubt["other_id"] if doubt["paper_id"] == paper.paper_id else doubt["paper_id"]
        parts.append(
            f'<p class="cw-note">{escape(doubt["reason"]).capitalize()}: '
            f'<a href="#paper/{attribute(other)}">the other paper</a></p>'
        )
    if near:
        shown = "".join(
            f'<li><a href="#paper/{attribute(p.paper_id)}">{render_text(name)}</a>'
            f'<span class="cw-opening">{render_text(title or p.abstract[:_OPENING])}</span></li>'
            for p in near
            for name, title in (name_of(p),)
        )
        parts.append(f'<h3>Similar papers</h3><ul class="cw-list cw-near-list">{shown}</ul>')
    parts.append("</article>")
    return "".join(parts)


def _question(paper: Paper) -> str:
    return f"What does {plain(name_of(paper)[0])} do, and how well does it work?"


def _links(paper: Paper) -> str:
    ways = []
    if paper.doi:
        ways.append(("DOI", f"https://doi.org/{paper.doi}"))
    if paper.arxiv:
        ways.append(("arXiv", f"https://arxiv.org/abs/{paper.arxiv}"))
    if paper.url.startswith(("http://", "https://")):
        ways.append(("Its page", paper.url))
    return "".join(
        f'<a class="cw-tool" href="{attribute(to)}" target="_blank" rel="noopener noreferrer nofollow">{words}</a>'
        for words, to in ways
    )


def _merge(merge: Mapping[str, Any]) -> str:
    """A record that is in the paper, or one that a user made a paper of its own, and the way back from either."""
    source = Source(**merge["source"])
    apart = merge["kind"] == "split"
    why = "taken apart by hand" if apart else ", ".join(merge["reasons"])
    words, label = ("Merge again", "Merge it again") if apart else ("Undo", "Undo the merge of")
    return (
        f'<li>{escape(place(source))} <span class="cw-note">{escape(why)}</span> '
        f'<button type="button" class="cw-tool" data-do="{"join" if apart else "split"}" '
        f'data-text="{attribute(str(source))}" aria-label="{label} {attribute(place(source))}">{words}</button></li>'
    )


def sources_list_html(roots: Sequence[str], files: Sequence[SourceFile], uploads: Path) -> str:
    """What the library is a copy of, each with a way to remove it; uploaded files one by one."""
    items = []
    for root in roots:
        held = [file for file in files if file.root == root]
        if Path(root) == uploads:
            items += [_source(file.path, file.name, "uploaded") for file in held]
        else:
            items.append(_source(root, root, "1 file" if len(held) == 1 else f"{len(held):,} files"))
    if not items:
        return '<p class="cw-hint">Nothing yet. Drop files of abstracts above.</p>'
    return f'<ul class="cw-list">{"".join(items)}</ul>'


def _source(path: str, name: str, words: str) -> str:
    return (
        f'<li>{escape(name)} <span class="cw-note">{words}</span> <button type="button" class="cw-tool" '
        f'data-do="remove-source" data-text="{attribute(path)}" aria-label="Remove {attribute(name)}">Remove</button></li>'
    )


def progress_html(words: str, done: int, total: int, left: str = "") -> str:
    """A change on its way; ``left`` says how long it still takes."""
    bar = f'<progress max="{total}" value="{done}" aria-label="{attribute(words)}"></progress>' if total else ""
    count = f": {done:,} of {total:,}{f', {left}' if left else ''}" if total else ""
    return (
        f'<div class="cw-report" aria-busy="true"><p class="cw-status" role="status">'
        f'<span class="cw-dot" aria-hidden="true"></span>{escape(words)}{count}</p>{bar}</div>'
    )


def report_html(report: Report, number: int) -> str:
    """What a change brought; ``number`` tells it from the one before."""
    counts = [
        (report.papers, "paper now" if report.papers == 1 else "papers now"),
        (report.added, "new"),
        (report.changed, "changed"),
        (report.removed, "removed"),
        (report.duplicates, "merged in all"),
        (len(report.skipped), "skipped in all"),
    ]
    facts = " · ".join(f"{count:,} {words}" for count, words in counts if count)
    skipped = "".join(
        f"<li>{escape(s.file)}{f', row {s.row}' if s.row is not None else ''}: {escape(s.reason)}</li>"
        for s in report.skipped[:MOST_SKIPPED]
    )
    more = len(report.skipped) - MOST_SKIPPED
    if more > 0:
        skipped += f"<li>and {more:,} more</li>"
    why = f'<details class="cw-skipped"><summary>What was skipped, and why</summary><ul class="cw-list">{skipped}</ul></details>'
    return (
        f'<div class="cw-report" data-number="{number}"><p role="status">{facts}</p>'
        f"{why if report.skipped else ''}</div>"
    )


def failed_html(message: str, number: int) -> str:
    """A change that came to nothing; the library is as it was."""
    return f'<div class="cw-report cw-error" data-number="{number}" role="alert"><p>{escape(message)}</p></div>'
