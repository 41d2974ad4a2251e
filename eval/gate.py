"""``citewell eval gate``: the quick retrieval figures on the seeds, held against a baseline that is committed.

One-sided: a figure may rise as it likes; it has fallen where it is below the baseline by more than ``TOLERANCE`` and by
more than one question of its group. Only questions that the baseline holds in the same words are compared, so that new
ones neither help nor harm. No language model is asked, and no question of the test split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from eval.questions import Question, load_questions, require_papers, select
from eval.results import Json, made_with, read_json, write_json
from eval.retrieval import measured
from eval.systems import citewell
from eval.tables import table
from rag.errors import CitewellError
from rag.library import Library

MEASURES = ("R@1", "R@5", "R@10", "nDCG@10", "all@5")
SPLITS = ("tune", "calibrate")
TOLERANCE = 0.01
WHOLE = "all but whole-library"
RENEW = "citewell eval gate --renew"


def baseline_path() -> Path:
    """The baseline that comes with Citewell."""
    return Path(str(files("eval").joinpath("baselines/retrieval.json")))


def quick_figures(library: Library, path: Path) -> Json:
    """Every question of the file ``path`` that stands alone and is no test question, with its values, over ``library``.

    Raises CitewellError where the questions are about another library.
    """
    questions = load_questions(path)
    chosen = [q for split in SPLITS for q in select(questions, split=split) if q.answerable and q.stands_alone]
    require_papers(chosen, {p.paper_id for p in library.papers()}, library.name)
    run = citewell(library, {q.id: q.question for q in chosen}, k=100)
    values = measured(chosen, run)
    return {
        "measured": "gate",
        **made_with(),
        "index": library.snapshot().fingerprint,
        "questions": {q.id: _asked(q) | {m: round(values[m][q.id], 6) for m in MEASURES} for q in chosen},
    }


def falls(now: Json, baseline: Json) -> list[Json]:
    """The figures that fell, each with the questions that lost by it, the largest fall first."""
    return sorted(
        (row for row in held_against(now, baseline) if row["fell"]), key=lambda r: (r["now"] - r["before"], r["group"])
    )


def held_against(now: Json, baseline: Json) -> list[Json]:
    """Every figure, by group and measure: what it was, what it is, whether it fell, which questions lost."""
    new, old = now["questions"], baseline["questions"]
    common = [i for i in old if i in new and new[i]["question"] == old[i]["question"]]
    if not common:
        raise CitewellError(f"the baseline holds none of these questions; make a new one with '{RENEW}'")
    groups: dict[str, list[str]] = {WHOLE: [i for i in common if old[i]["kind"] != "whole-library"]}
    for i in common:
        groups.setdefault(old[i]["kind"], []).append(i)
    return [_row(group, m, ids, new, old) for group, ids in groups.items() if ids for m in MEASURES]


def told(row: Json) -> str:
    """One figure that fell, in a line."""
    lost = ", ".join(row["lost"][:8]) + (" …" if len(row["lost"]) > 8 else "")
    return (
        f"{row['measure']} of {row['group']} fell from {100 * row['before']:.1f} to {100 * row['now']:.1f} "
        f"(n = {row['n']}, tolerance {100 * row['tolerance']:.1f}; lost: {lost})"
    )


def require_no_fall(now: Json, baseline: Json) -> None:
    """Raises CitewellError that names every figure that fell and says how the baseline is renewed."""
    if fallen := falls(now, baseline):
        raise CitewellError(
            f"retrieval on the seeds got worse: {'; '.join(told(row) for row in fallen)}; mend it, or, where that is "
            f"meant, renew the baseline with '{RENEW}' and say why in the commit"
        )


def print_gate(now: Json, baseline: Json) -> str:
    """Every figure beside its baseline, as text."""
    rows = [
        [
            r["group"],
            r["measure"],
            str(r["n"]),
            f"{100 * r['before']:.1f}",
            f"{100 * r['now']:.1f}",
            "fell" if r["fell"] else "rose" if r["now"] > r["before"] else "",
        ]
        for r in held_against(now, baseline)
    ]
    return table(["group", "measure", "n", "baseline", "now", ""], rows)


def read_baseline(path: Path) -> Json:
    """The baseline in ``path``. Raises CitewellError where it is none."""
    return read_json(path, kind="gate")


def renew(path: Path, now: Json) -> None:
    """Makes ``now`` the baseline."""
    write_json(path, now)


def _asked(question: Question) -> Json:
    return {"kind": question.kind, "question": question.question}


def _row(group: str, measure: str, ids: Sequence[str], new: Mapping[str, Json], old: Mapping[str, Json]) -> Json:
    before, now = (sum(found[i][measure] for i in ids) / len(ids) for found in (old, new))
    tolerance = max(TOLERANCE, 1 / len(ids))
    return {
        "group": group,
        "measure": measure,
        "n": len(ids),
        "before": before,
        "now": now,
        "tolerance": tolerance,
        "fell": now < before - tolerance - 1e-6,  # the baseline is rounded
        "lost": [i for i in ids if new[i][measure] < old[i][measure] - 1e-6],
    }
