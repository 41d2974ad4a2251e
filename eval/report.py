"""Results of answers as one HTML page that opens without a network: no script, no font, no link out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from eval.plots import bars, reliability_diagram, risk_coverage
from eval.results import Json
from eval.statistics import Interval
from eval.summary import COLUMNS
from eval.tables import percent

WORST = 80
"""How many questions are shown in full."""
_ORDER = ("error", "wrongly answered", "wrong", "wrongly refused", "right", "rightly refused")
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #667; --paper: #fff; --tint: #f2f4f8; --blue: #2f6fb0;
  --red: #b3372f; --green: #2d7d46 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa4b2; --paper: #14181e; --tint: #1e242d;
  --blue: #6fa8dc; --red: #e0766e; --green: #6fbf86 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1100px;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--tint); white-space: nowrap }
th:first-child, td:first-child { text-align: left } th { color: var(--soft); font-weight: 600; white-space: normal }
.plots { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start }
figure { margin: 0 } figcaption { color: var(--soft); font-size: 13px; max-width: 300px }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft) }
.frame { fill: none; stroke: var(--soft); opacity: .5 } .axis { stroke: var(--ink); stroke-width: 1.5 }
.line { fill: none; stroke: var(--blue); stroke-width: 2 } .rule { stroke: var(--red); stroke-dasharray: 4 3 }
.dot { fill: var(--blue); opacity: .75 } .bar { fill: var(--blue); opacity: .7 }
details { background: var(--tint); border-radius: 6px; padding: .5rem .8rem; margin: .4rem 0 }
summary { cursor: pointer }
blockquote { margin: .2rem 0 .2rem 1rem; padding-left: .6rem; border-left: 3px solid var(--blue) }
.tag { font-size: 12px; padding: 0 .4rem; border-radius: 4px; border: 1px solid var(--soft) }
.bad { color: var(--red) } .good { color: var(--green) } .soft { color: var(--soft) } dt { color: var(--soft) }
dd { margin: 0 0 .4rem 1rem; overflow-wrap: anywhere }
"""


def report_html(results: Json) -> str:
    """The page for results of ``citewell eval answers``. All text of questions, answers and papers is escaped."""
    summary = results["summary"]
    parts = [
        _head(results),
        "<h2>Answerable questions</h2>" + _answerable(summary["answerable"]) if summary["answerable"] else "",
        "<h2>Unanswerable questions</h2>" + _refused(summary["refused"]) if summary["refused"] else "",
        "<h2>Confidence</h2>" + _confidence(summary["selective"]) if summary["selective"] else "",
        "<h2>Time</h2>" + _times(summary["latency_ms"]),
        _worst(results),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Citewell: answers measured</title><style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _head(results: Json) -> str:
    summary = results["summary"]
    made = results["made_with"]
    counts = "".join(f"<li>{n} {escape(v)}</li>" for v, n in summary["verdicts"].items())
    faults = "".join(
        f'<li class="{"bad" if n else "good"}">{n} {escape(name)}</li>' for name, n in summary["faults"].items()
    )
    about = {
        "questions": f"{summary['questions']} of {results['questions']['file']}, split {results['questions']['split']}",
        "sha-256 of the questions": results["questions"]["sha256"],
        "language model": results["llm"],
        "library and index": f"{results['library']}, {results['index']}",
        "Citewell and its source": f"{results['citewell']}, {made['code']}",
    }
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(str(v))}</dd>" for k, v in about.items())
    return f"<h1>Citewell: answers measured</h1><dl>{rows}</dl><ul>{counts}</ul><ul>{faults}</ul>"


def _answerable(rows: Json) -> str:
    body = [[kind, str(row["n"]), *(_percent(row[key]) for key in COLUMNS)] for kind, row in rows.items()]
    drawn = bars([(kind, *_three(row["right"])) for kind, row in rows.items()])
    return (
        "<p class=soft>In percent, with 95% intervals; questions that share a paper are drawn together.</p>"
        + _table(["kind", "n", *COLUMNS.values()], body)
        + f"<figure>{drawn}<figcaption>right, of all asked</figcaption></figure>"
    )


def _refused(rows: Json) -> str:
    return bars([(f"{name} ({row['n']})", *_three(row)) for name, row in rows.items()])


def _confidence(found: Json) -> str:
    only = found["answered_only"]
    rows = [
        [
            name,
            f"{found[key]['mean']:.3f} ({found[key]['low']:.3f}-{found[key]['high']:.3f})",
            f"{only[key]:.3f}" if only else "-",
        ]
        for key, name in (
            ("aurc", "AURC (lower is better)"),
            ("augrc", "AUGRC (lower is better)"),
            ("coverage_at_5", "C@5"),
        )
    ]
    curve = risk_coverage([(c, r) for c, r in found["curve"]])
    diagram = reliability_diagram([(b["confidence"], b["right"], b["n"]) for b in found["reliability"]])
    return (
        _table(["", "all questions", "the answered ones"], rows)
        + f'<div class="plots"><figure>{curve}<figcaption>Risk and coverage over all questions; those refused '
        f"come last and count as wrong.</figcaption></figure><figure>{diagram}<figcaption>Reliability of the "
        "confidence, over the answered ones.</figcaption></figure></div>"
    )


def _times(times: Json) -> str:
    rows = [
        [f"{name} ({which})", f"{row['median'] / 1000:.2f}", f"{row['p95'] / 1000:.2f}", str(row["n"])]
        for which, found in times.items()
        for name, row in found.items()
    ]
    return _table(["seconds", "median", "p95", "n"], rows)


def _worst(results: Json) -> str:
    records = [r for r in results["records"] if not _flawless(r)]
    shown = sorted(records, key=lambda r: (_ORDER.index(r["verdict"]), -r["confidence"], r["id"]))[:WORST]
    return f"<h2>The worst {len(shown)} of {len(records)} questions with a flaw</h2>" + "".join(
        _question(r, results["labels"]) for r in shown
    )


def _flawless(record: Json) -> bool:
    faults = record["bad_quotes"] or record["bad_markers"] or record["unknown_numbers"]
    return not faults and (record["verdict"] == "rightly refused" or record["right_and_cited"])


def _question(record: Json, labels: dict[str, str]) -> str:
    def named(paper: str) -> str:
        return f"{labels.get(paper, '?')} ({paper})"

    facts: list[tuple[str, str]] = []
    for earlier in record["history"]:
        facts.append(("asked before", escape(earlier)))
    if record["resolved_question"] != record["question"]:
        facts.append(("understood as", escape(record["resolved_question"])))
    for key in ("english", "note", "reason", "error"):
        if record.get(key):
            facts.append((key, escape(record[key])))
    facts.append(("answer", escape(record["answer"]) or "-"))
    for i, sentence in enumerate(record["sentences"]):
        facts.append(("sentence", _sentence(record, sentence, i, named)))
    if record["missing_facts"]:
        missing = "; ".join(" or ".join(alternatives) for alternatives in record["missing_facts"])
        facts.append(("missing", f'<span class="bad">{escape(missing)}</span>'))
    for key, name in (
        ("unknown_numbers", "numbers that no cited source holds"),
        ("bad_markers", "markers to nothing"),
        ("bad_quotes", "quotes that are not in the abstract"),
    ):
        if record[key]:
            facts.append((name, f'<span class="bad">{escape(str(record[key]))}</span>'))
    for paper in record["papers"] or record["near"]:
        rank = record["gold_ranks"].get(paper)
        place = "" if not record["papers"] else f", found {'nowhere' if rank is None else f'at {rank}'}"
        facts.append(("paper that answers" if record["papers"] else "paper near to it", escape(named(paper) + place)))
    facts += [("words that answer", f"<blockquote>{escape(words)}</blockquote>") for words in record["evidence"]]
    nearest = "; ".join(f"{h['rank']}. {h['label']} {h['score']:.3f}" for h in record["nearest"])
    facts.append(("found", escape(nearest) or "-"))
    colour = "good" if record["verdict"].startswith("right") else "bad"
    body = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts)
    return (
        f'<details><summary><span class="tag {colour}">{escape(record["verdict"])}</span> '
        f"<span class=soft>{escape(record['id'])} {escape(record['kind'])} {escape(record['class'])} "
        f"{record['confidence']:.2f}</span> {escape(record['question'])}</summary><dl>{body}</dl></details>"
    )


def _sentence(record: Json, sentence: Json, place: int, named: Callable[[str], str]) -> str:
    by_marker = {c["marker"]: c for c in record["citations"]}
    match = record["matches"][place] if place < len(record["matches"]) else None
    verdict = sentence["verdict"] + (f": {sentence['reason']}" if sentence["reason"] else "")
    told = ""
    if match:
        state = "fully cited" if match["fully_cited"] else "not fully cited"
        told = f"; {state}, {100 * match['coverage']:.0f}% covered {', '.join(match['disagreements'])}"
    quotes = "".join(
        f"<blockquote>[{n}] {escape(named(by_marker[n]['paper_id']))}: {escape(by_marker[n]['quote'])}</blockquote>"
        for n in sentence["citations"]
        if n in by_marker
    )
    return f"{escape(sentence['text'])} <span class=soft>({escape(verdict)}{escape(told)})</span>{quotes}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _percent(value: Json | None) -> str:
    return percent(None if value is None else Interval(**value))


def _three(value: Json) -> tuple[float, float, float]:
    return value["mean"], value["low"], value["high"]
