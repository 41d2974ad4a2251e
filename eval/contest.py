"""``citewell eval retrieval --systems``: several systems over the same questions, and which is better than which."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from eval.collections import load_collection, read_qrels
from eval.lineup import Field, Run, System, find, load_systems
from eval.measures import measure, ranking
from eval.progress import progress
from eval.questions import Question, cluster_of, fingerprint, load_questions, require_papers
from eval.results import Json, made_with
from eval.retrieval import COLLECTION_MEASURES, answerable_alone, by_kind, measured
from eval.statistics import Interval, compare_pairs, interval
from eval.systems import collection_folder, collection_library, papers_folder
from eval.tables import percent, table
from rag.build import load_embedder, load_reranker, open_library
from rag.config import Config
from rag.errors import CitewellError

COMPARED = ("nDCG@10", "R@1", "R@10")
"""Measures of which every pair is compared, Holm's correction over the pairs of each."""
WHOLE = ("all but whole-library", "all", "whole-library")
"""Names of the group that is shown and compared: the first that there is."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked of every system: queries, and which papers are relevant to which."""

    about: Json
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    clusters: Mapping[str, str]
    """Cluster of each query; each is its own where nothing is known of them."""
    questions: Sequence[Question] = ()


def over_questions(config: Config, path: Path, *, split: str) -> tuple[Task, Field]:
    """The answerable questions of a file that stand alone, over the library of ``config``."""
    questions = load_questions(path)
    chosen = answerable_alone(questions, path, split=split)
    library = open_library(config)
    papers = library.papers()
    require_papers(chosen, {p.paper_id for p in papers}, config.library)
    clusters = cluster_of(questions)
    task = Task(
        {
            "questions": {"file": path.name, "sha256": fingerprint(path), "split": split},
            "library": config.library,
            "index": library.snapshot().fingerprint,
        },
        {q.id: q.question for q in chosen},
        {q.id: dict.fromkeys(q.papers, 1) for q in chosen},
        {q.id: clusters[q.id] for q in chosen},
        chosen,
    )
    return task, Field(config, library, lambda model: papers_folder(config.cache, config.library, papers, model))


def over_collection(config: Config, folder: Path, *, split: str) -> tuple[Task, Field]:
    """A BEIR folder, or Cranfield's."""
    collection = load_collection(folder, split=split)
    model = load_embedder(config)
    place = collection_folder(config.cache, collection, model)
    library = collection_library(place, collection, model, load_reranker(config))
    task = Task(
        {
            "collection": {"name": collection.name, "split": split, "documents": len(collection.documents)},
            "index": library.snapshot().fingerprint,
        },
        collection.judged(),
        collection.qrels,
        {query: query for query in collection.qrels},
    )
    return task, Field(config, library, lambda model: collection_folder(config.cache, collection, model))


def over_qrels(path: Path) -> Task:
    """Judgements in TREC's form, without texts: only runs that were made elsewhere can be measured over them."""
    qrels = read_qrels(path)
    return Task({"qrels": path.name}, dict.fromkeys(qrels, ""), qrels, {query: query for query in qrels})


def measure_systems(
    path: Path, task: Task, field: Field | None, *, baseline: str | None = None
) -> tuple[Json, dict[str, Run]]:
    """Every system of the file ``path`` over ``task``: results, and what each found.

    All pairs are compared, or all others with ``baseline``. Raises CitewellError for a faulty file or system.
    """
    entries = load_systems(path)
    names = [s.name for s in entries]
    if baseline is not None and baseline not in names:
        raise CitewellError(f"--baseline {baseline!r} is no system of {path}; take one of {', '.join(names)}")
    if field is None and (needs := [s.name for s in entries if s.run is None]):
        raise CitewellError(
            f'system {needs[0]!r} needs texts, and judgements have none; give a run = "FILE", or measure over '
            "--questions or --beir"
        )
    runs: dict[str, Run] = {}
    seconds: dict[str, float] = {}
    for system in progress(entries, "systems"):
        started = time.perf_counter()
        runs[system.name] = _found(system, field, task, beside=path.parent)
        seconds[system.name] = round(time.perf_counter() - started, 3)
    values = {name: _values(task, run) for name, run in runs.items()}
    pairs = [(baseline, n) for n in names if n != baseline] if baseline else list(itertools.combinations(names, 2))
    whole = {q.id for q in task.questions if q.kind == "whole-library"}
    compared_ids = [i for i in task.queries if i not in whole] or list(task.queries)
    results: Json = {
        "measured": "systems",
        **made_with(),
        **task.about,
        "queries": len(task.queries),
        "systems": {
            s.name: {**s.told(), "seconds": seconds[s.name], "silent": _silent(task, runs[s.name])} for s in entries
        },
        "by_kind": {name: _by_kind(task, found) for name, found in values.items()},
        "comparisons": {
            m: [
                {**asdict(c), "verdict": c.verdict}
                for c in compare_pairs(
                    pairs, {n: {i: v[m][i] for i in compared_ids} for n, v in values.items()}, task.clusters
                )
            ]
            for m in COMPARED
        },
        "records": [_record(task, query, runs, values) for query in task.queries],
    }
    return results, runs


def print_systems(results: Json) -> str:
    """Tables of the whole, and the comparisons, as text."""
    measures = list(next(iter(_whole(found) for found in results["by_kind"].values())))
    rows = [
        [name, *(percent(Interval(**_whole(found)[m])) for m in measures)] for name, found in results["by_kind"].items()
    ]
    silent = [
        f"{name} found nothing for {len(system['silent'])} of {results['queries']:,} queries, which count as 0: "
        + ", ".join(system["silent"][:5])
        + ("…" if len(system["silent"]) > 5 else "")
        for name, system in results["systems"].items()
        if system["silent"]
    ]
    parts = [
        f"{results['queries']:,} queries; x100, 95% intervals",
        table(["system", *measures], rows),
        *silent,
        "",
        "paired tests, Holm's correction over the pairs of a measure (p: permutation, p*: bootstrap)",
    ]
    rows = [
        [
            f"{c['b']} against {c['a']}",
            name,
            c["verdict"],
            f"{100 * c['difference']:+.1f} ({100 * c['low']:+.1f} to {100 * c['high']:+.1f})",
            f"{c['p_holm']:.4f}",
            f"{c['p_bootstrap']:.4f}",
        ]
        for name, comparisons in results["comparisons"].items()
        for c in comparisons
    ]
    return "\n".join([*parts, table(["systems", "measure", "verdict", "difference", "p", "p*"], rows)])


def _silent(task: Task, run: Run) -> list[str]:
    """The queries for which a system found nothing, or that its run leaves out."""
    return [query for query in task.queries if not run.get(query)]


def _found(system: System, field: Field | None, task: Task, *, beside: Path) -> Run:
    run = find(system, field, task.queries, beside=beside)
    if not any(run.values()):
        raise CitewellError(f"system {system.name!r} found nothing for any of the {len(task.queries)} queries")
    return run


def _values(task: Task, run: Run) -> dict[str, dict[str, float]]:
    return measured(task.questions, run) if task.questions else measure(task.qrels, run, COLLECTION_MEASURES)


def _by_kind(task: Task, values: Mapping[str, Mapping[str, float]]) -> Json:
    if task.questions:
        return by_kind(task.questions, values, task.clusters)
    return {"all": {m: asdict(interval(list(found.values()))) for m, found in values.items()}}


def _whole(by_kind: Json) -> Json:
    found: Json = next(by_kind[name] for name in WHOLE if name in by_kind)
    return found


def _record(
    task: Task, query: str, runs: Mapping[str, Run], values: Mapping[str, Mapping[str, Mapping[str, float]]]
) -> Json:
    question = next((q for q in task.questions if q.id == query), None)
    orders = {name: ranking(run.get(query, {})) for name, run in runs.items()}
    return {
        "id": query,
        "kind": question.kind if question else "",
        "question": task.queries[query],
        "papers": list(task.qrels[query]),
        "ranks": {
            name: {p: order.index(p) + 1 if p in order else None for p in task.qrels[query]}
            for name, order in orders.items()
        },
        "values": {name: {m: found[query] for m, found in of.items()} for name, of in values.items()},
    }
