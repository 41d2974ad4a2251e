"""Precision over recall: of rankings, and of answers given the more readily the lower the confidence asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.results import Json

Point = tuple[float, float]
LEVELS = tuple(i / 10 for i in range(11))


def of_rankings(ranks: Sequence[Mapping[str, int | None]]) -> list[Point]:
    """(recall, precision) at the eleven standard recalls, interpolated, mean over the queries (as trec_eval has it).

    ``ranks``: for each query the rank, from 1, of every relevant document, None where it was not found. Interpolated
    precision at a recall is the highest precision at that recall or beyond.
    """
    if not ranks:
        return []
    sums = [0.0] * len(LEVELS)
    for relevant in ranks:
        found = sorted(rank for rank in relevant.values() if rank is not None)
        at = [((count / len(relevant)), count / rank) for count, rank in enumerate(found, 1)]
        for i, level in enumerate(LEVELS):
            sums[i] += max((precision for recall, precision in at if recall >= level - 1e-9), default=0.0)
    return [(level, total / len(ranks)) for level, total in zip(LEVELS, sums, strict=True)]


def of_answers(records: Sequence[Json]) -> list[Point]:
    """(recall, precision) of answering rightly, at every confidence an answer has, from the highest down.

    Precision is the share right of what is answered at that confidence or above, recall the share of all answerable
    questions that is answered rightly there. Answers of one confidence come together.
    """
    answerable = sum(r["kind"] != "unanswerable" for r in records)
    answered = sorted((r for r in records if r["answered"]), key=lambda r: -r["confidence"])
    points: list[Point] = []
    right = 0
    for place, record in enumerate(answered, 1):
        right += record["verdict"] == "right"
        last = place == len(answered) or answered[place]["confidence"] < record["confidence"]
        if last and answerable:
            points.append((right / answerable, right / place))
    return points
