"""The frame of a report: one HTML page with its style inside, that needs no network and runs no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from eval.results import Json
from eval.statistics import Interval
from eval.tables import percent

_STYLE = """
:root { color-scheme: light dark; --ink: #1b2230; --soft: #5f6b7c; --page: #f6f7f9; --card: #fff; --line: #e3e7ee;
  --tint: #eef2f8; --blue: #2b67b1; --orange: #b45309; --green: #23723b; --red: #b3261e; --violet: #6d4aa8;
  --good: #e3f3e7; --mid: #fbf0d9; --bad: #fbe4e1 }
@media (prefers-color-scheme: dark) { :root { --ink: #e7eaf0; --soft: #9aa5b5; --page: #11151b; --card: #191f28;
  --line: #2a323e; --tint: #222a35; --blue: #7cb0ee; --orange: #e5a455; --green: #74c48a; --red: #ef8a80;
  --violet: #b79bea; --good: #1c3a26; --mid: #3d3219; --bad: #45231f } }
* { box-sizing: border-box }
body { font: 15px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; color: var(--ink); background: var(--page);
  margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 1200px; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.01em }
h2 { font-size: 1.12rem; margin: 0 0 .6rem } h3 { font-size: .95rem; margin: 1.2rem 0 .4rem }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.1rem 1.2rem;
  margin: 1rem 0 }
p { margin: .2rem 0 .7rem } .soft { color: var(--soft) } .small { font-size: 13px }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: .7rem; margin: 1rem 0 }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: .7rem .9rem }
.card strong { display: block; font-size: 1.65rem; line-height: 1.2; font-variant-numeric: tabular-nums; font-weight: 650 }
.card span { color: var(--soft); font-size: 13px; display: block }
.scroll { overflow-x: auto; margin: .3rem -.3rem; padding: 0 .3rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; min-width: 100% }
th, td { padding: .34rem .5rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th { color: var(--soft); font-weight: 600; white-space: normal; vertical-align: bottom; min-width: 4.2rem }
th:first-child, td:first-child { text-align: left; padding-left: .2rem; max-width: 22rem; overflow: hidden;
  text-overflow: ellipsis }
tbody tr:last-child td { border-bottom: 0 } td.good { background: var(--good) } td.mid { background: var(--mid) }
td.bad { background: var(--bad); color: inherit } tr.whole td { font-weight: 650 }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(300px, 100%), 1fr)); gap: 1.2rem }
figure { margin: 0 } figcaption { color: var(--soft); font-size: 13px; max-width: 42rem }
svg { display: block; max-width: 100%; height: auto } svg text { font: 11px system-ui, sans-serif; fill: var(--soft) }
svg .name { fill: var(--ink) } .grid { stroke: var(--line) } .axis { stroke: var(--ink); stroke-width: 1.5 }
.line { fill: none; stroke-width: 2; stroke-linejoin: round } .rule { stroke: var(--red); stroke-dasharray: 4 3 }
.c0 { stroke: var(--blue) } .c1 { stroke: var(--orange) } .c2 { stroke: var(--green) } .c3 { stroke: var(--violet) }
.c4 { stroke: var(--red) } .c5 { stroke: var(--soft) } .dot { fill: var(--blue); opacity: .75; stroke: none }
.bar { fill: var(--blue); opacity: .55 } .track { fill: var(--tint) }
details { border-top: 1px solid var(--line); padding: .45rem 0 } details:last-child { padding-bottom: 0 }
summary { cursor: pointer } summary::marker { color: var(--soft) }
dl { margin: .5rem 0 .3rem; display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .25rem .9rem }
dt { color: var(--soft); font-size: 13px } dd { margin: 0; min-width: 0 }
blockquote { margin: .25rem 0; padding: .1rem 0 .1rem .7rem; border-left: 3px solid var(--blue); color: var(--soft) }
.tag { font-size: 12px; padding: .05rem .45rem; border-radius: 99px; white-space: nowrap; background: var(--tint) }
.tag.good { background: var(--good) } .tag.bad { background: var(--bad) } .bad { color: var(--red) }
.tag.bad { color: inherit } .good { color: var(--green) } .tag.good { color: inherit }
@media (max-width: 560px) { body { padding: 1rem .6rem 3rem } section { padding: .8rem .8rem; border-radius: 10px }
  dl { grid-template-columns: 1fr; gap: .1rem } dd { margin-bottom: .45rem } .card strong { font-size: 1.35rem }
  .cards { grid-template-columns: repeat(2, 1fr) } }
@media print { body { background: none; max-width: none } section, .card { break-inside: avoid } }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """The whole page; ``parts`` are HTML, ``title`` is text."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def section(heading: str, body: str) -> str:
    """A part of the page under a heading; nothing where there is no body."""
    return f"<section><h2>{escape(heading)}</h2>{body}</section>" if body else ""


def cards(items: Iterable[tuple[str, str, str]]) -> str:
    """Figures that are seen first: (figure, what it is, what goes with it)."""
    return (
        '<div class="cards">'
        + "".join(
            f'<div class="card"><strong>{escape(figure)}</strong>{escape(name)}<span>{escape(more)}</span></div>'
            for figure, name, more in items
        )
        + "</div>"
    )


def table_html(heads: Sequence[str], rows: Sequence[Sequence[str | tuple[str, str]]]) -> str:
    """A table that scrolls by itself; a cell may be (text, class). The row "all…" stands out."""
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    body = "".join(
        f"<tr{' class=whole' if str(row[0]).startswith('all') else ''}>{''.join(map(_cell, row))}</tr>" for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def figure(drawn: str, caption: str) -> str:
    """A plot with what it shows; nothing for no plot."""
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>" if drawn else ""


def facts(items: Iterable[tuple[str, str]]) -> str:
    """Names (text) with what is known of each (HTML)."""
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{body}</dd>" for name, body in items) + "</dl>"


def percent_of(value: Json | None) -> str:
    """An interval of the JSON, times 100."""
    return percent(None if value is None else Interval(**value))


def made_from(results: Json) -> list[tuple[str, str]]:
    """What tells results from others, as facts."""
    made = results.get("made_with", {})
    questions = results.get("questions", {})
    about = {
        "questions": f"{questions['file']}, split {questions['split']}" if questions else "",
        "sha-256 of them": questions.get("sha256", ""),
        "language model": results.get("llm", ""),
        "library and index": ", ".join(x for x in (results.get("library", ""), results.get("index", "")) if x),
        "Citewell and its source": ", ".join([results["citewell"], results.get("code") or made.get("code", "")]),
    }
    return [(k, escape(v)) for k, v in about.items() if v.strip(", ")]


def _cell(cell: str | tuple[str, str]) -> str:
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    return f'<td class="{cell[1]}">{escape(cell[0])}</td>'
