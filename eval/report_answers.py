"""The report of answers: what was right, what it was sure of, how long it took, and the questions that went wrong."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from eval.answers import paper_rows
from eval.curves import of_answers
from eval.judge import ASKED, kappa_of
from eval.page import cards, facts, figure, made_from, percent_of, section, table_html
from eval.plots import bars, precision_recall, reliability_diagram, risk_coverage, times
from eval.results import Json
from eval.summary import COLUMNS, untimed

WORST = 80
"""How many questions are shown in full."""
_ORDER = ("error", "wrongly answered", "wrong", "wrongly refused", "right", "rightly refused")


def answers_parts(results: Json) -> list[str]:
    """The parts of the page, the head first."""
    summary = results["summary"]
    return [
        _head(results),
        section("Answerable questions", _answerable(summary["answerable"])),
        section("Unanswerable questions", _refused(summary["refused"])),
        section("Confidence", _confidence(results) if summary["selective"] else ""),
        section("Judge", _judge(results["judge"]) if "judge" in results else ""),
        section("Time and tokens", _spent(results)),
        section("Paper by paper", _papers(results)),
        _worst(results),
    ]


def _head(results: Json) -> str:
    summary = results["summary"]
    seen: list[tuple[str, str, str]] = []
    if rows := summary["answerable"]:
        whole = list(rows.values())[-1]
        for key, name in (("right", "right"), ("right_of_answered", "right of the answered")):
            seen.append(_card(whole[key], name))
        for key, name in (("citation_precision", "citation precision"), ("citation_recall", "citation recall")):
            seen.append(_card(whole[key], name))
    if summary["refused"]:
        seen.append(_card(summary["refused"]["all unanswerable"], "of the unanswerable refused"))
    faults = sum(summary["faults"].values())
    told = "; ".join(f"{n} {name}" for name, n in summary["faults"].items())
    seen.append((str(faults), "faults of form", told))
    verdicts = ", ".join(f"{n} {v}" for v, n in summary["verdicts"].items())
    about = facts([("asked", f"{summary['questions']}: {escape(verdicts)}"), *made_from(results)])
    return f"{cards(seen)}<section>{about}</section>"


def _card(value: Json | None, name: str) -> tuple[str, str, str]:
    if value is None:
        return "-", name, ""
    return (
        f"{100 * value['mean']:.1f}%",
        name,
        f"{100 * value['low']:.0f} to {100 * value['high']:.0f}, n = {value['n']}",
    )


def _answerable(rows: Json) -> str:
    if not rows:
        return ""
    body = [[kind, str(row["n"]), *(percent_of(row[key]) for key in COLUMNS)] for kind, row in rows.items()]
    drawn = bars([(kind, *_three(row["right"])) for kind, row in rows.items()])
    return (
        figure(drawn, "Right, in percent of all asked, by kind of question; with 95% intervals.")
        + "<h3>Every figure</h3><p class='soft small'>In percent, with 95% intervals; questions that share a paper are drawn "
        "together.</p>" + table_html(["kind", "n", *COLUMNS.values()], body)
    )


def _refused(rows: Json) -> str:
    drawn = bars([(f"{name} ({row['n']})", *_three(row)) for name, row in rows.items()])
    return figure(drawn, "Refused, in percent, by class (and how many); with 95% intervals.")


def _confidence(results: Json) -> str:
    found = results["summary"]["selective"]
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
            ("coverage_at_5", "C@5 (higher is better)"),
        )
    ]
    curve = risk_coverage([(c, r) for c, r in found["curve"]])
    diagram = reliability_diagram([(b["confidence"], b["right"], b["n"]) for b in found["reliability"]])
    points = of_answers(results["records"])
    return (
        '<div class="plots">'
        + figure(
            curve,
            "Risk and coverage over all questions; those refused come last and count as wrong. The line: 5% risk.",
        )
        + figure(diagram, "Reliability: share right over the confidence told, of the answered ones.")
        + figure(
            precision_recall({"answers": points} if points else {}),
            "Precision and recall of right answers as the confidence asked for falls.",
        )
        + "</div>"
        + table_html(["", "all questions", "the answered ones"], rows)
    )


def _judge(found: Json) -> str:
    rows = [
        [
            ASKED[name],
            str(row["n"]),
            percent_of(row["raw"]),
            kappa_of(row),
            *(str(row[k]) for k in ("both", "first_only", "second_only", "neither", "unclear")),
        ]
        for name in ASKED
        if (row := found[name])
    ]
    heads = ["judged", "n", "agree", "Cohen's kappa", "both yes", "only we", "only it", "both no", "unclear"]
    return (
        f"<p class=soft>{escape(found['model'])} as a second opinion; the figures of this page are not its own.</p>"
        + table_html(heads, rows)
    )


def _spent(results: Json) -> str:
    summary = results["summary"]
    rows = [
        [
            f"{name.replace('_', ' ')}, s ({which})",
            f"{row['median'] / 1000:.2f}",
            f"{row['p95'] / 1000:.2f}",
            str(row["n"]),
        ]
        for which, found in summary["latency_ms"].items()
        for name, row in found.items()
    ]
    rows += [
        [f"tokens {name} ({which})", f"{row['median']:.0f}", f"{row['p95']:.0f}", str(row["n"])]
        for which, found in summary.get("tokens", {}).items()
        for name, row in found.items()
    ]
    if not rows:
        return "<p class=soft>Every answer came from the record of an earlier run, which says nothing of time.</p>"
    note = f"<p class=soft>Times are {escape(told)}.</p>" if (told := untimed(results["summary"]).strip()) else ""
    drawn = times(
        {
            name.replace("_", " "): [
                r["timings_ms"][name] / 1000 for r in results["records"] if name in r["timings_ms"] and r["answered"]
            ]
            for name in ("retrieve", "first_token", "total")
        }
    )
    return (
        '<div class="plots">'
        + figure(drawn, "The share of answered questions that had it within so many seconds.")
        + f"<div>{table_html(['', 'median', '95th percentile', 'n'], rows)}{note}</div></div>"
    )


def _papers(results: Json) -> str:
    rows = paper_rows(results)
    asked = [row for row in rows if row.asked]
    if not asked:
        return ""

    def cell(count: int, asked: int) -> tuple[str, str]:
        return str(count), "" if not asked else "good" if count == asked else "mid" if 2 * count >= asked else "bad"

    body: list[list[str | tuple[str, str]]] = [
        [row.label, row.paper_id, str(row.asked), *(cell(n, row.asked) for n in row.counts)]
        for row in sorted(asked, key=lambda r: (min(r.counts) / r.asked, r.label))
    ]
    flawless = sum(min(row.counts) == row.asked for row in asked)
    heads = ["paper", "id", "questions", "found", "answered", "right", "rightly cited"]
    return (
        f"<p>{flawless} of {len(asked)} papers are found, answered and rightly cited every time"
        + (f"; {len(rows) - len(asked)} have no question in this run" if len(rows) > len(asked) else "")
        + f".</p><details><summary>All of them, the worst first</summary>{table_html(heads, body)}</details>"
    )


def _worst(results: Json) -> str:
    records = [r for r in results["records"] if not _flawless(r)]
    shown = sorted(records, key=lambda r: (_ORDER.index(r["verdict"]), -r["confidence"], r["id"]))[:WORST]
    return section(
        f"The worst {len(shown)} of {len(records)} questions with a flaw",
        "".join(_question(r, results["labels"]) for r in shown),
    )


def _flawless(record: Json) -> bool:
    faults = record["bad_quotes"] or record["bad_markers"] or record["unknown_numbers"]
    return not faults and (record["verdict"] == "rightly refused" or record["right_and_cited"])


def _question(record: Json, labels: dict[str, str]) -> str:
    def named(paper: str) -> str:
        return f"{labels.get(paper, '?')} ({paper})"

    items: list[tuple[str, str]] = [("asked before", escape(earlier)) for earlier in record["history"]]
    if record["resolved_question"] != record["question"]:
        items.append(("understood as", escape(record["resolved_question"])))
    for key in ("english", "note", "reason", "error"):
        if record.get(key):
            items.append((key, escape(record[key])))
    items.append(("answer", escape(record["answer"]) or "-"))
    for i, sentence in enumerate(record["sentences"]):
        items.append(("sentence", _sentence(record, sentence, i, named)))
    if record["missing_facts"]:
        missing = "; ".join(" or ".join(alternatives) for alternatives in record["missing_facts"])
        items.append(("missing", f'<span class="bad">{escape(missing)}</span>'))
    for key, name in (
        ("unknown_numbers", "numbers that no cited source holds"),
        ("bad_markers", "markers to nothing"),
        ("bad_quotes", "quotes that are not in the abstract"),
    ):
        if record[key]:
            items.append((name, f'<span class="bad">{escape(str(record[key]))}</span>'))
    for paper in record["papers"] or record["near"]:
        rank = record["gold_ranks"].get(paper)
        place = "" if not record["papers"] else f", found {'nowhere' if rank is None else f'at {rank}'}"
        items.append(("paper that answers" if record["papers"] else "paper near to it", escape(named(paper) + place)))
    items += [("words that answer", f"<blockquote>{escape(words)}</blockquote>") for words in record["evidence"]]
    nearest = "; ".join(f"{h['rank']}. {h['label']} {h['score']:.3f}" for h in record["nearest"])
    items.append(("found", escape(nearest) or "-"))
    if record.get("signals"):
        told = ", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in record["signals"].items())
        items.append(("confidence made of", f"<span class='soft small'>{escape(told)}</span>"))
    if judged := record.get("judge"):
        said = {True: "right", False: "not right", None: "unclear"}[judged["right"]]
        items.append(("judge", said))
    colour = "good" if record["verdict"].startswith("right") else "bad"
    return (
        f'<details><summary><span class="tag {colour}">{escape(record["verdict"])}</span> '
        f"<span class='soft small'>{escape(record['id'])} · {escape(record['class'] or record['kind'])} · confidence "
        f"{record['confidence']:.2f}</span><br>{escape(record['question'])}</summary>{facts(items)}</details>"
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
    return (
        f"{escape(sentence['text'])} <span class='soft small'>({escape(verdict)}{escape(told.rstrip())})</span>{quotes}"
    )


def _three(value: Json) -> tuple[float, float, float]:
    return value["mean"], value["low"], value["high"]
