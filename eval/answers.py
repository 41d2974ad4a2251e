"""``citewell eval answers``: every question asked, every answer scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eval.asking import Asker
from eval.progress import progress
from eval.questions import cluster_of, fingerprint, load_questions, require_papers, select, spread
from eval.results import Json, citewell_version, read_json
from eval.scoring import score
from eval.summary import summarise
from eval.tables import table
from rag.build import load_llm
from rag.config import Config

if TYPE_CHECKING:
    from llama_index.core.llms.llm import LLM

    from eval.judge import Judge


def measure_answers(
    config: Config,
    path: Path,
    *,
    split: str = "all",
    kinds: Sequence[str] | None = None,
    limit: int | None = None,
    fresh: bool = False,
    llm: Callable[[Config], LLM] = load_llm,
    threshold: float | None = None,
    judge: Judge | None = None,
) -> Json:
    """Asks the questions of the file ``path`` and returns summary and records, with what they were made with.

    ``judge`` is a second opinion on every answer, whose agreement with the verdicts is reported; see ``eval.judge``.
    ``threshold`` is as in ``CitewellQueryEngine``. ``limit`` takes that many, spread evenly over those chosen. Raises CitewellError for a bad file, and where the
    questions name papers that the library does not hold.
    """
    questions = load_questions(path)
    chosen = spread(select(questions, split=split, kinds=kinds), limit)
    asker = Asker(config, fresh=fresh, llm=llm, threshold=threshold)
    require_papers(chosen, asker.papers.keys(), config.library)
    records = [score(question, asker.ask(question), asker.papers) for question in progress(chosen, "questions")]
    clusters = cluster_of(questions)
    return {
        "measured": "answers",
        "citewell": citewell_version(),
        "questions": {"file": path.name, "sha256": fingerprint(path), "split": split, "kinds": list(kinds or [])},
        "library": config.library,
        "index": next((r["index"] for r in records if r["index"]), ""),
        "llm": next((r["llm"] for r in records if r["llm"]), asker.basis["llm"]),
        "made_with": asker.basis,
        "labels": {i: paper.label for i, paper in sorted(asker.papers.items())},
        "summary": summarise(records, clusters),
        **({"judge": judge.held_against(records, clusters)} if judge else {}),
        "records": records,
    }


@dataclass(frozen=True, slots=True)
class PaperRow:
    """How a paper fared over the questions that it answers; those about the whole library are left out."""

    label: str
    paper_id: str
    asked: int
    counts: tuple[int, int, int, int]
    """Of these: the paper was found, something was answered, it was right, the paper was rightly cited."""


def paper_rows(results: Json) -> list[PaperRow]:
    """A row for every paper of the library, by id."""
    rows = []
    for paper, label in results["labels"].items():
        asked = [r for r in results["records"] if paper in r["papers"] and r["kind"] != "whole-library"]
        counts = (
            sum(r["gold_ranks"].get(paper) is not None for r in asked),
            sum(r["answered"] for r in asked),
            sum(r["right"] for r in asked),
            sum(r["answered"] and paper in _rightly_cited(r) for r in asked),
        )
        rows.append(PaperRow(label, paper, len(asked), counts))
    return rows


def paper_table(results: Json) -> str:
    """Paper by paper: how many questions it answers, and of these how often it was found, answered, rightly cited."""
    rows = []
    found = paper_rows(results)
    for row in found:
        flag = "no question" if not row.asked else "" if min(row.counts) == row.asked else "<"
        rows.append([row.label[:48], row.paper_id, str(row.asked), *map(str, row.counts), flag])
    totals = [
        sum(row.asked for row in found),
        *(sum(counts) for counts in zip(*(r.counts for r in found), strict=True)),
    ]
    rows.append(["all", "", *map(str, totals), ""])
    return table(["paper", "id", "questions", "found", "answered", "right", "rightly cited", ""], rows)


def _rightly_cited(record: Json) -> set[str]:
    """The papers that some sentence rests on rightly."""
    paper_of = {c["marker"]: c["paper_id"] for c in record["citations"]}
    return {paper_of[n] for m in record["matches"] for n in m["right"] if n in paper_of}


def read_answers(path: Path) -> Json:
    """The results in ``path``. Raises CitewellError where it holds no results of answers."""
    return read_json(path, kind="answers")
