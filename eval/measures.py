"""Measures of rankings, through ir_measures; runs are put in a total order first, and checked.

A run is what a system found: query id -> document id -> score, higher is better. Judgements (qrels) are query id ->
document id -> relevance.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import ir_measures
from ir_measures import AP, RR, R, nDCG

from rag.errors import CitewellError

Run = Mapping[str, Mapping[str, float]]
Qrels = Mapping[str, Mapping[str, int]]
PerQuery = dict[str, float]

MEASURES = {
    "nDCG@10": nDCG @ 10,
    "R@1": R @ 1,
    "R@5": R @ 5,
    "R@10": R @ 10,
    "R@100": R @ 100,
    "RR@10": RR @ 10,
    "AP": AP,
}


def ranking(scores: Mapping[str, float]) -> list[str]:
    """Document ids, best first: by score, ties by id. Raises CitewellError for a score that is no number."""
    for document, score in scores.items():
        if not math.isfinite(score):
            raise CitewellError(f"the score of document {document!r} is {score}; every score must be a finite number")
    return sorted(scores, key=lambda document: (-scores[document], document))


def measure(qrels: Qrels, run: Run, names: Sequence[str] = tuple(MEASURES)) -> dict[str, PerQuery]:
    """For each measure its value for every judged query; a query that is missing from the run counts 0.

    Ties were broken by ``ranking`` before the evaluator sees them: it gets ranks, not scores.
    """
    ranks = {
        query: {document: float(-rank) for rank, document in enumerate(ranking(scores), 1)}
        for query, scores in run.items()
        if query in qrels and scores
    }
    wanted = {MEASURES[name]: name for name in names}
    found: dict[str, PerQuery] = {name: dict.fromkeys(qrels, 0.0) for name in names}
    if ranks:
        for metric in ir_measures.iter_calc(list(wanted), _plain(qrels), _plain(ranks)):
            if not math.isfinite(metric.value):
                raise CitewellError(f"{metric.measure} of query {metric.query_id!r} is {metric.value}")
            found[wanted[metric.measure]][metric.query_id] = float(metric.value)
    return found


def all_evidence(relevant: Mapping[str, Collection[str]], run: Run, k: int) -> PerQuery:
    """1.0 for each query of which every relevant document is among the first ``k``, else 0.0."""
    return {
        query: float(set(documents) <= set(ranking(run.get(query, {}))[:k])) for query, documents in relevant.items()
    }


def mean(values: Mapping[str, float]) -> float:
    """The mean over all queries; 0 where there are none."""
    return sum(values.values()) / len(values) if values else 0.0


def _plain(nested: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {query: dict(documents) for query, documents in nested.items()}
