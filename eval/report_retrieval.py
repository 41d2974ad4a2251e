"""The report of retrieval: of Citewell over questions, of several systems, or over a collection of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from eval.curves import of_rankings
from eval.page import cards, facts, figure, made_from, percent_of, section, table_html
from eval.plots import bars, differences, precision_recall
from eval.results import Json

WORST = 60
_FIRST = ("nDCG@10", "R@1", "R@5", "R@10", "RR@10", "AP")
_WHOLE = ("all but whole-library", "all", "whole-library")


def retrieval_parts(results: Json) -> list[str]:
    """The parts of the page for one system over questions, the head first."""
    whole = _whole(results["by_kind"])
    rows = [
        [kind, str(_n(found)), *(percent_of(value) for value in found.values())]
        for kind, found in results["by_kind"].items()
    ]
    measure = "R@1"
    drawn = bars([(kind, *_three(found[measure])) for kind, found in results["by_kind"].items()])
    ranks = {
        kind: [r["ranks"] for r in results["records"] if r["kind"] == kind]
        for kind in results["by_kind"]
        if kind != whole[0]
    }
    return [
        _head(results, {"": whole[1]}),
        section("By kind of question", figure(drawn, "The right paper first (R@1), in percent; with 95% intervals.")),
        section("Every figure", _note() + table_html(["kind", "n", *whole[1]], rows)),
        section("Precision and recall", _curves(ranks)),
        _worst([(r, r["ranks"], r["values"]) for r in results["records"]], {}),
    ]


def systems_parts(results: Json) -> list[str]:
    """The parts of the page for several systems, the head first."""
    groups = {name: _whole(found)[1] for name, found in results["by_kind"].items()}
    measures = list(next(iter(groups.values())))
    rows = [[name, *(percent_of(found[m]) for m in measures)] for name, found in groups.items()]
    main = next(m for m in _FIRST if m in measures)
    drawn = bars([(name, *_three(found[main])) for name, found in groups.items()])
    kinds = list(next(iter(results["by_kind"].values())))
    by_kind = (
        table_html(
            ["kind", "n", *results["by_kind"]],
            [
                [
                    kind,
                    str(_n(next(iter(results["by_kind"].values()))[kind])),
                    *(percent_of(f[kind][main]) for f in results["by_kind"].values()),
                ]
                for kind in kinds
            ],
        )
        if len(kinds) > 1
        else ""
    )
    ranks = {name: [r["ranks"][name] for r in results["records"]] for name in results["systems"]}
    first = next(iter(results["systems"]))
    return [
        _head(results, groups, main),
        section(
            "Systems",
            figure(drawn, f"{main}, in percent; with 95% intervals.")
            + _note()
            + table_html(["system", *measures], rows),
        ),
        section("Which is better than which", _comparisons(results["comparisons"])),
        section(f"By kind of question ({main})", by_kind),
        section("Precision and recall", _curves(ranks)),
        section(
            "What was set",
            facts((name, f"<code>{escape(str(told))}</code>") for name, told in results["systems"].items()),
        ),
        _worst([(r, r["ranks"][first], r["values"][first]) for r in results["records"]], {"of": first}),
    ]


def collection_parts(results: Json) -> list[str]:
    """The parts of the page for Citewell and the two references over a collection, the head first."""
    groups = results["systems"]
    measures = list(next(iter(groups.values())))
    rows = [[name, *(percent_of(found[m]) for m in measures)] for name, found in groups.items()]
    drawn = bars([(name, *_three(found["nDCG@10"])) for name, found in groups.items()])
    return [
        _head(results, groups, "nDCG@10"),
        section(
            "Systems",
            figure(drawn, "nDCG@10, in percent; with 95% intervals.")
            + _note()
            + table_html(["system", *measures], rows),
        ),
        section("Which is better than which", _comparisons(results["comparisons"])),
    ]


def _head(results: Json, groups: Mapping[str, Json], main: str = "") -> str:
    seen = []
    for name, found in groups.items():
        for measure in [main] if main else [m for m in _FIRST if m in found][:4]:
            value = found[measure]
            told = f"{100 * value['low']:.1f} to {100 * value['high']:.1f}, n = {value['n']}"
            seen.append((f"{100 * value['mean']:.1f}", f"{name} {measure}".strip(), told))
    about = made_from(results)
    if held := results.get("collection"):
        about = [("collection", escape(f"{held['name']}, {held['split']}, {held['documents']:,} documents")), *about]
    if left := results.get("left_out"):
        about.append(("left out", f"{len(left)} questions in Chinese or with history, which take a language model"))
    return f"{cards(seen)}<section>{facts(about)}</section>"


def _comparisons(found: Json) -> str:
    rows: list[list[str | tuple[str, str]]] = []
    for measure, comparisons in found.items():
        for c in comparisons:
            colour = {"better": "good", "worse": "bad"}.get(c["verdict"], "")
            told = f"{100 * c['difference']:+.1f} ({100 * c['low']:+.1f} to {100 * c['high']:+.1f})"
            p_values = [f"{c[k]:.4f}" if k in c else "-" for k in ("p_holm", "p_bootstrap")]
            rows.append([f"{c['b']} against {c['a']}", measure, told, *p_values, (c["verdict"], colour)])
    heads = ["systems", "measure", "difference (95%)", "p, permutation", "p, bootstrap", "verdict"]
    measure, comparisons = next(iter(found.items()))
    drawn = differences([(f"{c['b']} less {c['a']}", c["difference"], c["low"], c["high"]) for c in comparisons])
    return (
        figure(drawn, f"Difference in {measure}, x100, with 95% intervals.")
        + "<p class='soft small'>Paired tests, corrected after Holm over the pairs of a measure; the verdict is the "
        "permutation test's.</p>" + table_html(heads, rows)
    )


def _curves(ranks: Mapping[str, Sequence[Mapping[str, int | None]]]) -> str:
    curves = {name: of_rankings(found) for name, found in ranks.items() if found}
    return figure(precision_recall(curves), "Interpolated precision at eleven recalls, mean over the questions.")


def _worst(records: Sequence[tuple[Json, Json, Json]], labels: Mapping[str, str]) -> str:
    """Questions of which a paper is not first where it could be, the worst first."""
    flawed = [(r, ranks, v) for r, ranks, v in records if not _flawless(ranks)]
    shown = sorted(flawed, key=lambda item: (item[2]["nDCG@10"], item[0]["id"]))[:WORST]
    return section(
        f"The worst {len(shown)} of {len(flawed)} questions with a paper out of place"
        + (f", for {labels['of']}" if labels else ""),
        "".join(_question(r, ranks, values) for r, ranks, values in shown),
    )


def _question(record: Json, ranks: Json, values: Json) -> str:
    places = ", ".join(f"{paper} {'nowhere' if rank is None else f'at {rank}'}" for paper, rank in ranks.items())
    items = [("papers that answer", escape(places))]
    if record.get("resolved", record["question"]) != record["question"]:
        items.append(("understood as", escape(record["resolved"])))
    if isinstance(next(iter(record["ranks"].values()), None), dict):
        items += [
            (system, escape(", ".join("nowhere" if rank is None else f"at {rank}" for rank in of.values())))
            for system, of in record["ranks"].items()
        ]
    items.append(("measures", escape(", ".join(f"{m} {v:.2f}" for m, v in values.items()))))
    return (
        f"<details><summary><span class='soft small'>{escape(record['id'])} · {escape(record['kind'] or 'query')} · nDCG@10 "
        f"{values['nDCG@10']:.2f}</span><br>{escape(record['question'] or '(no text)')}</summary>{facts(items)}</details>"
    )


def _flawless(ranks: Mapping[str, int | None]) -> bool:
    return all(rank is not None and rank <= len(ranks) for rank in ranks.values())


def _whole(by_kind: Json) -> tuple[str, Json]:
    name = next(n for n in _WHOLE if n in by_kind)
    return name, by_kind[name]


def _n(found: Json) -> int:
    return int(next(iter(found.values()))["n"])


def _note() -> str:
    return "<p class='soft small'>x100, with 95% intervals; questions that share a paper are drawn together.</p>"


def _three(value: Json) -> tuple[float, float, float]:
    return value["mean"], value["low"], value["high"]
