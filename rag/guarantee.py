"""A bound on how often an answer is wrong, set by ``citewell calibrate`` and kept beside the library it holds for.

Learn-then-Test with fixed-sequence testing (Angelopoulos et al. 2021, arXiv 2110.01052): a grid of thresholds set in
advance, the strictest first. With n questions answered at a threshold and k of them wrongly, the hypothesis that more
than ``alpha`` of all answers are wrong there is refuted where P[Bin(n, alpha) <= k] <= ``delta``. The last threshold
before the first that is not refuted keeps P(wrong | answered) <= alpha, with probability 1 - delta over the drawing of
the calibration questions.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

from rag.errors import CitewellError

GRID = tuple(round(0.70 - 0.02 * i, 2) for i in range(26))
"""The thresholds, the strictest first: from where about half of the tuning questions are answered, down to 0.2."""
FILE = "calibration.json"
ASSUMPTIONS = (
    "the questions asked later are drawn like the calibration questions, independently of each other",
    "what counts as right in the file of questions is what the reader counts as right",
    "neither the models nor the settings nor the code that decides are changed; the papers hardly",
)
SIMILAR = 0.95
"""The share of papers in common (Jaccard, as the sketches tell it) down to which a library passes for the same."""
_SKETCHED = 256
_DECIDING = (
    "abstain", "answer", "cite", "count", "evidence", "fold", "language", "late", "lexical", "mismatch", "premise", "prompt",
    "rerank", "resolve", "retrieve", "sentences", "survey", "topic", "verifier", "verify",
)  # fmt: skip
"""The parts whose source or fitted weights decide what is answered and with which confidence."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A threshold with what was seen at it: ``wrong`` of ``answered`` questions, and the p-value of "too many"."""

    threshold: float
    answered: int
    wrong: int
    p: float


def learn_then_test(
    confidences: Sequence[float], wrong: Sequence[bool], *, alpha: float, delta: float, grid: Sequence[float] = GRID
) -> tuple[Trial, ...]:
    """The thresholds of ``grid`` in turn, up to and with the first at which "too many are wrong" is not refuted.

    ``confidences`` and ``wrong`` have one entry for each question; one that is never answered has a confidence below
    the whole grid. The threshold to use is that of the last entry with ``p <= delta``; there may be none.
    """
    from scipy.stats import binom

    tested = []
    for threshold in grid:
        answered = [w for c, w in zip(confidences, wrong, strict=True) if c >= threshold]
        n, k = len(answered), sum(answered)
        tested.append(Trial(threshold, n, k, float(binom.cdf(k, n, alpha)) if n else 1.0))
        if tested[-1].p > delta:
            break
    return tuple(tested)


def needed(wrong: int, *, alpha: float, delta: float) -> int:
    """How many answered questions it takes to refute "more than ``alpha`` are wrong" with ``wrong`` wrong ones."""
    from scipy.stats import binom

    n = wrong + 1
    while binom.cdf(wrong, n, alpha) > delta:
        n += 1
    return n


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a bound holds for; any other makes it void."""

    parts: Mapping[str, str]
    """Prints and names: embedder, chunker, llm, settings, code."""
    papers: int
    sketch: tuple[str, ...]
    """The smallest prints of paper ids: two of them tell how many papers two libraries share (bottom-k sketch)."""

    def differences(self, other: Setup) -> list[str]:
        """What in ``other`` is too different for the bound to carry over, in words."""
        found = [
            f"the {name} changed"
            for name in sorted({*self.parts, *other.parts})
            if self.parts.get(name) != other.parts.get(name)
        ]
        shared = similarity(self.sketch, other.sketch)
        if shared < SIMILAR:
            found.append(
                f"the library changed: about {shared:.0%} of the papers are the same, {SIMILAR:.0%} are needed"
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What ``citewell calibrate`` found. ``threshold`` is None where no threshold of the grid keeps the bound."""

    threshold: float | None
    answered: int
    wrong: int
    questions: int
    alpha: float
    delta: float
    tested: tuple[Trial, ...]
    questions_file: str
    questions_sha256: str
    setup: Setup
    assumptions: tuple[str, ...] = ASSUMPTIONS

    @property
    def statement(self) -> str:
        """The bound, or that there is none, in one sentence."""
        if self.threshold is None:
            worst = self.tested[-1]
            least = needed(worst.wrong, alpha=self.alpha, delta=self.delta)
            return (
                f"no threshold keeps wrong answers to {self.alpha:.0%}: already at {worst.threshold:.2f}, the strictest, "
                f"{worst.wrong} of {worst.answered} answers were wrong (p = {worst.p:.2g}; with {worst.wrong} wrong, "
                f"{least} answers are needed)"
            )
        return (
            f"of the answers given at confidence {self.threshold:.2f} and above, at most {self.alpha:.0%} are wrong, "
            f"with {1 - self.delta:.0%} confidence ({self.wrong} of {self.answered} were wrong in calibration)"
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a bound on wrong answers is in force, the confidence to answer from (None: the usual one), and why."""

    holds: bool
    threshold: float | None
    text: str
    """For the reader; empty where the library was never calibrated."""


NOT_CALIBRATED = Standing(False, None, "")


def standing(calibration: Calibration | None, setup: Setup) -> Standing:
    """What a calibration is worth for the library as it is now."""
    if calibration is None:
        return NOT_CALIBRATED
    changed = calibration.setup.differences(setup)
    if changed:
        return Standing(
            False, None, f"the guarantee does not hold: {'; '.join(changed)}; run 'citewell calibrate' to renew it"
        )
    if calibration.threshold is None:
        return Standing(False, None, f"there is no guarantee: {calibration.statement}")
    return Standing(True, calibration.threshold, calibration.statement)


def sketch(paper_ids: Iterable[str]) -> tuple[str, ...]:
    """The 256 smallest prints of the ids, sorted."""
    return tuple(sorted(hashlib.sha256(i.encode()).hexdigest()[:12] for i in paper_ids)[:_SKETCHED])


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """Jaccard similarity of the sets behind two sketches: exact for up to 256 ids, else an estimate (Broder 1997)."""
    union = (
        sorted({*one, *other})[: max(len(one), len(other))]
        if max(len(one), len(other)) == _SKETCHED
        else [*{*one, *other}]
    )
    return len({*one} & {*other} & {*union}) / len(union) if union else 1.0


def code_print() -> str:
    """Twelve hex digits over the source and the weights of the parts that decide."""
    digest = hashlib.sha256()
    for name in _DECIDING:
        for suffix in (".py", ".json"):
            part = files("rag").joinpath(name + suffix)
            if part.is_file():
                digest.update(f"{name}{suffix}\x1f".encode() + part.read_bytes())
    return digest.hexdigest()[:12]


def save(folder: Path, calibration: Calibration) -> Path:
    """Writes the calibration into a library's folder, whole or not at all. Raises CitewellError where it cannot."""
    path = folder / FILE
    partial = path.with_name(f".{FILE}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            json.dump(asdict(calibration), file, ensure_ascii=False, indent=1)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise CitewellError(f"{path} cannot be written ({error}); free some space or correct its rights") from error
    return path


def load(folder: Path) -> Calibration | None:
    """The calibration of the library in ``folder``, None where there is none. Raises CitewellError for a damaged one."""
    path = folder / FILE
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        row["tested"] = tuple(Trial(**t) for t in row["tested"])
        setup = row["setup"]
        row["setup"] = Setup(parts=setup["parts"], papers=setup["papers"], sketch=tuple(setup["sketch"]))
        row["assumptions"] = tuple(row["assumptions"])
        return Calibration(**row)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CitewellError(f"{path} cannot be read ({error}); run 'citewell calibrate' again, or remove it") from error
