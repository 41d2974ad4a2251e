"""A run against an earlier one: better, worse or no difference, measure by measure, and which questions changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace

from eval.outcomes import Outcomes, outcomes
from eval.results import Json
from eval.statistics import compare_pairs, holm
from eval.tables import table
from rag.errors import CitewellError

TURNING = {"answers": ("right", "refused"), "retrieval": ("all@5",), "systems": ("all@5",), "collection": ()}
"""Measures, by kind of results, at which a question is said to be fixed (0, now 1) or broken (1, now 0)."""


def compare_runs(new: Json, old: Json, *, system: str | None = None) -> Json:
    """``new`` against ``old``, over the questions that both asked in the same words.

    Each measure is compared over all questions, and over every kind (class of unanswerable question), with paired
    tests that keep questions about one paper together. The whole is what is asked first and stands by itself; Holm's
    correction is over the kinds of a measure. A measure that says nothing of a question in either run leaves it out. Raises CitewellError where the two hold no question in
    common or are results of different measurements.
    """
    now, before = outcomes(new), outcomes(old)
    if now.kind != before.kind:
        raise CitewellError(f"results of {now.kind!r} cannot be held against results of {before.kind!r}")
    values = _of_system(now, system)
    earlier = _of_system(before, system)
    asked = {i for found in values.values() for i in found}
    asked_before = {i for found in earlier.values() for i in found}
    common = {i for i in asked & asked_before if now.texts.get(i) == before.texts.get(i)}
    if not common:
        raise CitewellError("the two runs have no question in common; a comparison is over the same questions")
    rows: list[Json] = []
    for measure in values:
        if measure in earlier:
            shared = common & values[measure].keys() & earlier[measure].keys()
            rows += _rows(measure, values[measure], earlier[measure], shared, now)
    fixed, broken = [], []
    for measure in TURNING[now.kind]:
        for i in values.get(measure, {}):
            if i in common and i in earlier.get(measure, {}):
                change = {"id": i, "kind": now.groups.get(i, ""), "question": now.texts.get(i, ""), "measure": measure}
                if earlier[measure][i] < 1.0 <= values[measure][i]:
                    fixed.append(change)
                elif values[measure][i] < 1.0 <= earlier[measure][i]:
                    broken.append(change)
    return {
        "measured": "change",
        "of": now.kind,
        "new": _made_with(new),
        "old": _made_with(old),
        "questions": len(common),
        "only_new": sorted(asked - common),
        "only_old": sorted(asked_before - common),
        "rows": rows,
        "verdicts": {v: sum(r["verdict"] == v for r in rows) for v in ("better", "worse", "no difference")},
        "fixed": fixed,
        "broken": broken,
    }


def print_change(change: Json) -> str:
    """The rows in which something is called, the whole, and the questions that changed, as text."""
    shown = [r for r in change["rows"] if r["verdict"] != "no difference" or r["group"] == "all"]
    rows = [
        [r["group"], r["measure"], str(r["n"]), *(f"{100 * r[k]:.1f}" for k in ("old", "new")), _told(r), r["verdict"]]
        for r in shown
    ]
    called = ", ".join(f"{n} {verdict}" for verdict, n in change["verdicts"].items())
    parts = [
        f"{change['questions']} questions in both runs; {len(change['rows'])} comparisons: {called}",
        table(["group", "measure", "n", "before", "now", "difference, 95%, p after Holm", "verdict"], rows),
    ]
    for name in ("fixed", "broken"):
        if change[name]:
            parts.append(f"{name} ({len(change[name])}):")
            parts += [f"  {c['id']} {c['kind']} ({c['measure']}): {c['question']}" for c in change[name]]
    return "\n".join(parts)


def _rows(
    measure: str, new: Mapping[str, float], old: Mapping[str, float], shared: set[str], now: Outcomes
) -> list[Json]:
    ids = sorted(shared)
    groups = {"all": ids}
    for i in ids:
        if name := now.groups.get(i):
            groups.setdefault(name, []).append(i)
    if len(groups) == 2:  # one kind only: the whole says it
        groups = {"all": ids}
    found = []
    for name, members in groups.items():
        if members:
            values = {"old": {i: old[i] for i in members}, "new": {i: new[i] for i in members}}
            (change,) = compare_pairs([("old", "new")], values, now.clusters)
            found.append((name, members, change))
    first, *others = [change.p for *_, change in found]
    corrected = [first, *holm(others)]
    rows = []
    for (name, members, change), p in zip(found, corrected, strict=True):
        change = replace(change, p_holm=p)
        row = asdict(change)
        rows.append(
            {
                "group": name,
                "measure": measure,
                "old": sum(old[i] for i in members) / len(members),
                "new": sum(new[i] for i in members) / len(members),
                **{k: row[k] for k in ("difference", "low", "high", "p", "p_holm", "n")},
                "verdict": change.verdict,
            }
        )
    return rows


def _of_system(found: Outcomes, system: str | None) -> dict[str, dict[str, float]]:
    name = system or next(iter(found.systems))
    if name not in found.systems:
        raise CitewellError(f"no system {name!r} was measured; there are {', '.join(found.systems)}")
    return found.systems[name]


def _made_with(results: Json) -> Json:
    """What tells two runs apart."""
    made = results.get("made_with", {})
    return {
        "citewell": results["citewell"],
        "code": results.get("code") or made.get("code", ""),
        "index": results.get("index", ""),
        "llm": results.get("llm", ""),
        "questions": results.get("questions", {}),
    }


def _told(row: Json) -> str:
    return (
        f"{100 * row['difference']:+.1f} ({100 * row['low']:+.1f} to {100 * row['high']:+.1f}), p {row['p_holm']:.3f}"
    )
