"""``citewell calibrate`` and ``citewell eval guarantee``: the bound on wrong answers, set and put to the test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eval.answers import measure_answers
from eval.questions import fingerprint
from eval.results import Json
from eval.statistics import SEED
from eval.tables import table
from rag import guarantee
from rag.build import library_folder, load_llm, open_catalogue, setup_of
from rag.config import Config
from rag.errors import CitewellError
from rag.guarantee import Calibration, learn_then_test

if TYPE_CHECKING:
    from llama_index.core.llms.llm import LLM

NEVER = -1.0
"""The confidence of a question that is refused at any threshold."""


def calibrate(
    config: Config,
    path: Path,
    *,
    split: str,
    alpha: float,
    delta: float,
    llm: Callable[[Config], LLM] = load_llm,
) -> Calibration:
    """Asks the questions, tests the thresholds and keeps what was found beside the library.

    Raises CitewellError for an ``alpha`` or ``delta`` that is not between 0 and 1, for a bad file, and where it is about another library.
    """
    for name, value in (("alpha", alpha), ("delta", delta)):
        if not 0 < value < 1:
            raise CitewellError(f"--{name} is {value}; it must be between 0 and 1, such as 0.05")
    results = measure_answers(config, path, split=split, threshold=0.0, llm=llm)
    confidences, wrong = outcomes(results["records"])
    tested = learn_then_test(confidences, wrong, alpha=alpha, delta=delta)
    kept = [t for t in tested if t.p <= delta]
    chosen = kept[-1] if kept else tested[0]
    catalogue = open_catalogue(config)
    meta, papers = catalogue.meta(), [p.paper_id for p in catalogue.papers()]
    catalogue.close()
    found = Calibration(
        threshold=chosen.threshold if kept else None,
        answered=chosen.answered,
        wrong=chosen.wrong,
        questions=len(confidences),
        alpha=alpha,
        delta=delta,
        tested=tested,
        questions_file=path.name,
        questions_sha256=fingerprint(path),
        setup=setup_of(config, f"{meta['embedder']}-{meta['chunker']}.{meta['words']}", papers),
    )
    guarantee.save(library_folder(config), found)
    return found


def outcomes(records: Sequence[Json]) -> tuple[list[float], list[bool]]:
    """Of each question its confidence, NEVER where it was not answered, and whether to answer it went wrong."""
    confidences = [float(r["confidence"]) if r["answered"] else NEVER for r in records]
    return confidences, [r["verdict"] != "right" for r in records]


def measure_guarantee(records: Sequence[Json], *, alphas: Sequence[float], delta: float, rounds: int = 200) -> Json:
    """How the bound does over ``rounds`` random halvings of recorded answers, at each of ``alphas``.

    A half sets the threshold. The bound is broken where, of all questions answered at it, more than alpha are wrong;
    that must happen in at most ``delta`` of the halvings. ``risk`` and ``coverage`` are means over the other halves.
    """
    confidences, wrong = (np.array(x) for x in outcomes(records))
    found = []
    for alpha in alphas:
        rng = np.random.default_rng(SEED)
        thresholds, risks, coverages, broken = [], [], [], 0
        for _ in range(rounds):
            order = rng.permutation(len(confidences))
            half, rest = order[: len(order) // 2], order[len(order) // 2 :]
            tested = learn_then_test(confidences[half].tolist(), wrong[half].tolist(), alpha=alpha, delta=delta)
            kept = [t.threshold for t in tested if t.p <= delta]
            if not kept:
                continue
            thresholds.append(kept[-1])
            said = confidences >= kept[-1]
            broken += bool(wrong[said].mean() > alpha)
            answered = said[rest]
            coverages.append(float(answered.mean()))
            risks.append(float(wrong[rest][answered].mean()) if answered.any() else 0.0)
        found.append(
            {
                "alpha": alpha,
                "halvings": rounds,
                "with_threshold": len(thresholds),
                "broken": broken,
                "threshold": round(float(np.mean(thresholds)), 4) if thresholds else None,
                "risk": round(float(np.mean(risks)), 4) if risks else None,
                "coverage": round(float(np.mean(coverages)), 4) if coverages else None,
            }
        )
    whole = [t for a in alphas for t in [learn_then_test(confidences.tolist(), wrong.tolist(), alpha=a, delta=delta)]]
    return {
        "measured": "guarantee",
        "questions": len(records),
        "delta": delta,
        "halvings": found,
        "tested_on_all": {str(a): [asdict(t) for t in tested] for a, tested in zip(alphas, whole, strict=True)},
    }


def print_guarantee(results: Json) -> str:
    """The table of ``measure_guarantee``."""
    rows = [
        [
            f"{row['alpha']:.0%}",
            f"{row['with_threshold']} of {row['halvings']}",
            str(row["broken"]),
            *("-" if row[key] is None else f"{row[key]:.3f}" for key in ("threshold", "risk", "coverage")),
        ]
        for row in results["halvings"]
    ]
    return table(
        ["at most wrong", "threshold found", "bound broken", "threshold", "wrong in the rest", "answered"], rows
    )
