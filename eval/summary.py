"""Records of answers to figures with intervals, by kind of question and over all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import numpy as np

from eval.questions import KINDS
from eval.results import Json
from eval.selective import Selective, reliability, selective
from eval.statistics import SEED, Interval, interval
from eval.tables import percent, table

_TIMES = ("retrieve", "first_token", "total")
_TOKENS = ("prompt", "said")
COLUMNS: dict[str, str] = {
    "answered": "answered",
    "right": "right",
    "right_of_answered": "right of answered",
    "right_and_cited": "right and cited, of answered",
    "citation_precision": "citation precision",
    "citation_recall": "citation recall",
    "borne_out": "borne out by any paper",
    "gold_cited": "all papers cited, of answered",
    "found": "all papers found",
}
"""Figures of answerable questions: key in the JSON -> what it is."""
_SHORT = {
    "answered": "answered",
    "right": "right",
    "right_of_answered": "right/answ.",
    "right_and_cited": "right+cited/answ.",
    "citation_precision": "cit. prec.",
    "citation_recall": "cit. rec.",
    "gold_cited": "all papers cited",
    "found": "papers found",
}


def summarise(records: Sequence[Json], clusters: Mapping[str, str]) -> Json:
    """All figures of a run as JSON; an interval is {"mean", "low", "high", "n", "clusters"}, in [0, 1]."""
    answerable = [r for r in records if r["kind"] != "unanswerable"]
    unanswerable = [r for r in records if r["kind"] == "unanswerable"]
    groups = {k: [r for r in answerable if r["kind"] == k] for k in KINDS}
    classes = {c: [r for r in unanswerable if r["class"] == c] for c in sorted({r["class"] for r in unanswerable})}
    chosen = {k: rows for k, rows in groups.items() if rows}
    if len(chosen) > 1:
        chosen["all answerable"] = answerable
    return {
        "questions": len(records),
        "answerable": {k: _answerable(rows, clusters) for k, rows in chosen.items()},
        "refused": {
            c: _plain(_interval(rows, lambda r: r["verdict"] == "rightly refused", clusters))
            for c, rows in {**classes, "all unanswerable": unanswerable}.items()
            if rows
        },
        "verdicts": {v: sum(r["verdict"] == v for r in records) for v in sorted({r["verdict"] for r in records})},
        "faults": {
            "quotes that are not in the abstract": sum(len(r["bad_quotes"]) for r in records),
            "markers to nothing": sum(len(r["bad_markers"]) for r in records),
            "numbers that no cited source holds": sum(len(r["unknown_numbers"]) for r in records),
        },
        "count_told": _plain(
            _interval([r for r in records if r["count_right"] is not None], _of("count_right"), clusters)
        ),
        "latency_ms": latency(records),
        "tokens": tokens(records),
        "selective": selective_summary(records, clusters),
    }


def latency(records: Sequence[Json]) -> Json:
    """Median and 95th percentile in ms of each time, over the questions that have it; "answered" by themselves."""

    return _of_all_and_answered(records, "timings_ms", _TIMES)


def tokens(records: Sequence[Json]) -> Json:
    """As ``latency``, of the tokens of all prompts that an answer took, and of all that the model said."""
    return _of_all_and_answered(records, "tokens", _TOKENS)


def _of_all_and_answered(records: Sequence[Json], key: str, names: Sequence[str]) -> Json:
    def of(rows: Sequence[Json]) -> Json:
        out = {}
        for name in names:
            values = [r[key][name] for r in rows if name in r.get(key, {})]
            if values:
                out[name] = {
                    "median": round(float(np.median(values)), 1),
                    "p95": round(float(np.quantile(values, 0.95)), 1),
                    "n": len(values),
                }
        return out

    return {"all": of(records), "answered": of([r for r in records if r["answered"]])}


def losses(records: Sequence[Json]) -> list[float]:
    """1.0 for each question that to answer was, or would have been, wrong.

    What would have been said where Citewell was silent is not known, and counts as wrong, for an answerable question
    too: the risk at coverages beyond the answered ones is an upper bound.
    """
    return [0.0 if r["verdict"] == "right" else 1.0 for r in records]


def selective_summary(records: Sequence[Json], clusters: Mapping[str, str], *, rounds: int = 300) -> Json | None:
    """Risk-coverage over all questions, answered ones first, with cluster-bootstrap intervals of its figures."""
    if not records:
        return None
    confidences = np.array(order(records))
    wrong = np.array(losses(records))
    whole = selective(confidences.tolist(), wrong.tolist())
    names = {name: i for i, name in enumerate(dict.fromkeys(clusters[r["id"]] for r in records))}
    members: list[list[int]] = [[] for _ in names]
    for i, record in enumerate(records):
        members[names[clusters[record["id"]]]].append(i)
    rng = np.random.default_rng(SEED)
    drawn = []
    for _ in range(rounds):
        rows = [i for c in rng.integers(0, len(members), size=len(members)) for i in members[c]]
        found = selective(confidences[rows].tolist(), wrong[rows].tolist())
        drawn.append((found.aurc, found.augrc, found.coverage_at_5))
    low, high = np.quantile(np.array(drawn), [0.025, 0.975], axis=0)
    answered = [r for r in records if r["answered"]]
    found_right = [r["verdict"] == "right" for r in answered]
    return {
        **{
            name: asdict(Interval(value, float(low[i]), float(high[i]), len(records), len(members)))
            for i, (name, value) in enumerate(_short(whole).items())
        },
        "curve": [[round(c, 4), round(r, 4)] for c, r in whole.curve],
        "answered_only": _short(selective([r["confidence"] for r in answered], losses(answered))) if answered else None,
        "reliability": [asdict(b) for b in reliability([r["confidence"] for r in answered], found_right)],
    }


def order(records: Sequence[Json]) -> list[float]:
    """What questions are ordered by: the confidence, with everything answered before everything that was not."""
    return [r["confidence"] + (1.0 if r["answered"] else 0.0) for r in records]


def untimed(summary: Json) -> str:
    """A line that says of how few questions the times are, where some were answered from the record; else ""."""
    timed = summary["latency_ms"]["all"].get("total", {}).get("n", 0)
    left = summary["questions"] - timed
    if not timed or not left:
        return ""
    return (
        f"\nof {timed} of {summary['questions']} questions: what the language model had said before was not timed again, "
        "so these are mostly those that took none"
    )


def print_summary(summary: Json) -> str:
    """The tables of a run, as text."""
    parts = []
    if summary["answerable"]:
        rows = [
            [kind, str(row["n"]), *(percent(_read(row[key])) for key in _SHORT)]
            for kind, row in summary["answerable"].items()
        ]
        parts.append(table(["kind", "n", *_SHORT.values()], rows))
    if summary["refused"]:
        rows = [[name, str(row["n"]), percent(_read(row))] for name, row in summary["refused"].items()]
        parts.append(table(["unanswerable", "n", "refused"], rows))
    times = summary["latency_ms"]
    rows = [
        [f"{name} ({which})", f"{row['median'] / 1000:.2f}", f"{row['p95'] / 1000:.2f}"]
        for which, found in times.items()
        for name, row in found.items()
    ]
    parts.append(table(["seconds", "median", "p95"], rows) + untimed(summary))
    rows = [
        [f"{name} ({which})", f"{row['median']:.0f}", f"{row['p95']:.0f}"]
        for which, found in summary.get("tokens", {}).items()
        for name, row in found.items()
    ]
    if rows:
        parts.append(table(["tokens", "median", "p95"], rows))
    chosen = summary["selective"]
    if chosen:
        only = chosen["answered_only"]
        rows = [
            [
                name,
                f"{chosen[key]['mean']:.3f} ({chosen[key]['low']:.3f}-{chosen[key]['high']:.3f})",
                f"{only[key]:.3f}" if only else "-",
            ]
            for key, name in (("aurc", "AURC"), ("augrc", "AUGRC"), ("coverage_at_5", "C@5"))
        ]
        parts.append(table(["risk and coverage", "all questions", "the answered ones"], rows))
    counts = {**summary["faults"], **summary["verdicts"]}
    parts.append("\n".join(f"{count:4}  {name}" for name, count in counts.items()))
    if summary["count_told"]:
        parts.append(f"the number of papers told rightly: {percent(_read(summary['count_told']))}")
    return "\n\n".join(parts)


def _answerable(rows: Sequence[Json], clusters: Mapping[str, str]) -> Json:
    answered = [r for r in rows if r["answered"]]
    return {
        "n": len(rows),
        "answered": _plain(_interval(rows, _of("answered"), clusters)),
        "right": _plain(_interval(rows, _of("right"), clusters)),
        "right_of_answered": _plain(_interval(answered, _of("right"), clusters)),
        "right_and_cited": _plain(_interval(answered, _of("right_and_cited"), clusters)),
        "citation_precision": _plain(_interval(answered, _of("citation_precision"), clusters)),
        "citation_recall": _plain(_interval(answered, _of("citation_recall"), clusters)),
        "borne_out": _plain(_interval(answered, _of("borne_out"), clusters)),
        "gold_cited": _plain(_interval(answered, _of("gold_cited"), clusters)),
        "found": _plain(_interval(rows, lambda r: all(v is not None for v in r["gold_ranks"].values()), clusters)),
    }


def _of(key: str) -> Callable[[Json], float]:
    return lambda record: float(record[key])


def _interval(rows: Sequence[Json], value: Callable[[Json], float], clusters: Mapping[str, str]) -> Interval | None:
    if not rows:
        return None
    return interval([float(value(r)) for r in rows], [clusters[r["id"]] for r in rows])


def _plain(value: Interval | None) -> Json | None:
    return None if value is None else asdict(value)


def _read(value: Json | None) -> Interval | None:
    return None if value is None else Interval(**value)


def _short(value: Selective) -> Json:
    return {"aurc": value.aurc, "augrc": value.augrc, "coverage_at_5": value.coverage_at_5}
