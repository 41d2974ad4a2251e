"""What results hold, question by question: the common ground of comparisons, of the sample gain and of the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from eval.questions import Question, cluster_of
from eval.results import Json, read_results
from rag.errors import CitewellError

Values = dict[str, dict[str, float]]
"""Measure -> question id -> value, in [0, 1], higher is better; a question that a measure says nothing of is left out."""
OWN = "citewell"
ANSWER_MEASURES: Mapping[str, Callable[[Json], float | None]] = {
    "answered": lambda r: _of(r, r["answered"], answerable=True),
    "right": lambda r: _of(r, r["right"], answerable=True),
    "right and cited": lambda r: _of(r, r["right_and_cited"], answerable=True),
    "citation precision": lambda r: r["citation_precision"],
    "citation recall": lambda r: r["citation_recall"],
    "all papers found": lambda r: _of(r, all(v is not None for v in r["gold_ranks"].values()), answerable=True),
    "refused": lambda r: _of(r, not r["answered"], answerable=False),
}
_KINDS = ("answers", "retrieval", "systems", "collection")


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Results of any kind, by system and question."""

    kind: str
    """ "answers", "retrieval", "systems" or "collection"."""
    systems: dict[str, Values]
    groups: dict[str, str] = field(default_factory=dict)
    """Question id -> its kind, or its class where it is unanswerable; empty where nothing is known of them."""
    texts: dict[str, str] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)

    def of(self, system: str | None, measure: str) -> dict[str, float]:
        """The values of a system (None: the only one). Raises CitewellError for one, or a measure, that is not held."""
        if system is None and len(self.systems) > 1:
            raise CitewellError(f"several systems were measured; name one of {', '.join(self.systems)}")
        name = system or next(iter(self.systems))
        if name not in self.systems:
            raise CitewellError(f"no system {name!r} was measured; there are {', '.join(self.systems)}")
        values = self.systems[name]
        if measure not in values:
            raise CitewellError(f"no measure {measure!r} in these results; there are {', '.join(values)}")
        return values[measure]


def read_outcomes(path: Path) -> tuple[Json, Outcomes]:
    """The results in ``path``, of any measurement that holds questions one by one, and their outcomes."""
    results = read_results(path, _KINDS)
    return results, outcomes(results)


def outcomes(results: Json) -> Outcomes:
    """The outcomes that ``results`` hold."""
    kind = results["measured"]
    if kind == "collection":
        ids = next(iter(next(iter(results["values"].values())).values()))
        return Outcomes(kind, results["values"], clusters={i: i for i in ids})
    records = results["records"]
    if kind == "answers":
        systems = {OWN: {name: _held(records, value) for name, value in ANSWER_MEASURES.items()}}
    elif kind == "retrieval":
        systems = {OWN: _turned({r["id"]: r["values"] for r in records})}
    else:
        systems = {name: _turned({r["id"]: r["values"][name] for r in records}) for name in results["systems"]}
    return Outcomes(
        kind,
        systems,
        groups={r["id"]: r.get("class") or r["kind"] for r in records},
        texts={r["id"]: r["question"] for r in records},
        clusters=_clusters(records),
    )


def _clusters(records: list[Json]) -> dict[str, str]:
    """Clusters of questions by the papers they share; of queries of a collection, each its own."""
    if not all(r["kind"] for r in records):
        return {r["id"]: r["id"] for r in records}
    return cluster_of(
        [
            Question(r["id"], r["kind"], "", r["question"], tuple(r["papers"]), near=tuple(r.get("near", [])))
            for r in records
        ]
    )


def _held(records: list[Json], value: Callable[[Json], float | None]) -> dict[str, float]:
    return {r["id"]: float(found) for r in records if (found := value(r)) is not None}


def _turned(by_question: Mapping[str, Mapping[str, float]]) -> Values:
    names = next(iter(by_question.values()), {})
    return {name: {i: float(values[name]) for i, values in by_question.items()} for name in names}


def _of(record: Json, value: bool, *, answerable: bool) -> float | None:
    return float(value) if (record["kind"] != "unanswerable") == answerable else None
