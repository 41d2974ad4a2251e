"""What a report says of an earlier run: better, worse or no difference, and which questions changed."""

from __future__ import annotations

from html import escape

from eval.page import facts, figure, section, table_html
from eval.plots import differences
from eval.results import Json

_COLOURS = {"better": "good", "worse": "bad", "no difference": ""}


def change_part(change: Json) -> str:
    """The part for what ``eval.against.compare_runs`` found."""
    whole = [r for r in change["rows"] if r["group"] == "all"]
    called = [r for r in change["rows"] if r["group"] != "all" and r["verdict"] != "no difference"]
    drawn = differences([(r["measure"], r["difference"], r["low"], r["high"]) for r in whole])
    counts = ", ".join(f"{n} {verdict}" for verdict, n in change["verdicts"].items())
    old = change["old"]
    about = facts(
        [
            (
                "earlier run",
                escape(f"{old['citewell']}, {old['code']}; index {old['index'] or '-'}; {old['llm'] or '-'}"),
            ),
            ("compared", f"{change['questions']} questions asked in both; {len(change['rows'])} comparisons: {counts}"),
            ("only in one", f"{len(change['only_new'])} only here, {len(change['only_old'])} only in the earlier run"),
        ]
    )
    rest = [r for r in change["rows"] if r not in whole and r not in called]
    return section(
        "Against the earlier run",
        about
        + figure(drawn, "Now less before over all questions, x100, with 95% intervals; right of the line is better.")
        + _rows([*whole, *called])
        + (
            f"<details><summary>{len(rest)} groups without a difference</summary>{_rows(rest)}</details>"
            if rest
            else ""
        )
        + _changed("Fixed", change["fixed"], "good")
        + _changed("Broken", change["broken"], "bad"),
    )


def _rows(rows: list[Json]) -> str:
    body = [
        [
            r["group"],
            r["measure"],
            str(r["n"]),
            f"{100 * r['old']:.1f}",
            f"{100 * r['new']:.1f}",
            f"{100 * r['difference']:+.1f} ({100 * r['low']:+.1f} to {100 * r['high']:+.1f})",
            f"{r['p_holm']:.4f}",
            (r["verdict"], _COLOURS[r["verdict"]]),
        ]
        for r in rows
    ]
    return table_html(["group", "measure", "n", "before", "now", "difference (95%)", "p after Holm", "verdict"], body)


def _changed(name: str, items: list[Json], colour: str) -> str:
    if not items:
        return f"<h3>{name}: none</h3>"
    lines = "".join(
        f"<dt>{escape(c['id'])} · {escape(c['kind'])}</dt><dd><span class='tag {colour}'>{escape(c['measure'])}</span> "
        f"{escape(c['question'])}</dd>"
        for c in items
    )
    return f"<details {'open' if len(items) <= 20 else ''}><summary>{name}: {len(items)}</summary><dl>{lines}</dl></details>"
