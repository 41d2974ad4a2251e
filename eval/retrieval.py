"""``citewell eval retrieval``: what is found, over one's own questions or over a collection of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from eval.measures import all_evidence, measure
from eval.questions import KINDS, Question, cluster_of, fingerprint, load_questions, require_papers, select
from eval.results import Json, made_with
from eval.statistics import Interval, compare, interval
from eval.tables import percent, table
from rag.build import load_embedder, load_llm, load_reranker, open_library
from rag.config import Config
from rag.errors import CitewellError

if TYPE_CHECKING:
    from llama_index.core.llms.llm import LLM

    from rag.embed import Embedder

Run = dict[str, dict[str, float]]
QUESTION_MEASURES = ("R@1", "R@5", "R@10", "R@100", "nDCG@10", "RR@10")
COLLECTION_MEASURES = ("nDCG@10", "R@1", "R@5", "R@10", "R@100", "RR@10", "AP")
_ALL_EVIDENCE = (5, 10)


def measure_questions(
    config: Config,
    path: Path,
    *,
    split: str = "all",
    with_llm: bool = False,
    llm: Callable[[Config], LLM] = load_llm,
    embedder: Embedder | None = None,
) -> tuple[Json, Run]:
    """Retrieval over the answerable questions of a file: results by kind, and the run.

    Chinese and follow-up questions are looked up as the engine would resolve them, which takes the language model;
    without ``with_llm`` they are left out, and counted as left out.
    """
    from eval.asking import Asker
    from eval.systems import citewell

    questions = load_questions(path)
    answerable = [q for q in select(questions, split=split) if q.answerable]
    chosen = answerable if with_llm else answerable_alone(questions, path, split=split)
    library = open_library(config, embedder)
    require_papers(chosen, {p.paper_id for p in library.papers()}, config.library)
    asker = Asker(config, llm=llm) if with_llm else None
    asked = {q.id: asker.resolved(q) if asker else q.question for q in chosen}
    run = citewell(library, asked, k=100)
    values = measured(chosen, run)
    clusters = cluster_of(questions)
    results: Json = {
        "measured": "retrieval",
        **made_with(),
        "questions": {"file": path.name, "sha256": fingerprint(path), "split": split},
        "library": config.library,
        "index": library.snapshot().fingerprint,
        "left_out": [q.id for q in answerable if q not in chosen],
        "by_kind": by_kind(chosen, values, clusters),
        "records": [
            {
                "id": q.id,
                "kind": q.kind,
                "question": q.question,
                "resolved": asked[q.id],
                "papers": list(q.papers),
                "ranks": {p: _rank(run[q.id], p) for p in q.papers},
                "values": {name: found[q.id] for name, found in values.items()},
            }
            for q in chosen
        ],
    }
    library.close()
    return results, run


def answerable_alone(questions: Sequence[Question], path: Path, *, split: str) -> list[Question]:
    """The answerable questions of a split that are looked up as they stand. Raises CitewellError for none."""
    chosen = [q for q in select(questions, split=split) if q.answerable and q.stands_alone]
    if not chosen:
        raise CitewellError(f"{path}: no answerable question of split {split!r} stands alone; use --llm")
    return chosen


def measured(questions: Sequence[Question], run: Run) -> dict[str, dict[str, float]]:
    """Measure -> question id -> value; with "all@k": every paper of the question among the first k."""
    relevant = {q.id: q.papers for q in questions}
    values = measure({i: dict.fromkeys(papers, 1) for i, papers in relevant.items()}, run, QUESTION_MEASURES)
    for k in _ALL_EVIDENCE:
        values[f"all@{k}"] = all_evidence(relevant, run, k)
    return values


def by_kind(
    questions: Sequence[Question], values: Mapping[str, Mapping[str, float]], clusters: Mapping[str, str]
) -> dict[str, dict[str, Json]]:
    """Kind -> measure -> interval. Questions about the whole library, whose papers may be more than k, are no part of
    "all"."""
    groups = {kind: [q.id for q in questions if q.kind == kind] for kind in KINDS}
    groups["all but whole-library"] = [q.id for q in questions if q.kind != "whole-library"]
    return {
        kind: {
            name: asdict(interval([found[i] for i in ids], [clusters[i] for i in ids]))
            for name, found in values.items()
        }
        for kind, ids in groups.items()
        if ids
    }


def measure_collection(
    config: Config, folder: Path, *, split: str = "test", embedder: Embedder | None = None
) -> tuple[Json, Run]:
    """Citewell's retriever beside BM25 and the embedding model alone, over a collection; and Citewell's run.

    What is embedded is kept in the cache folder, so that a second run is quick.
    """
    from eval import systems
    from eval.collections import load_collection

    collection = load_collection(folder, split=split)
    model = embedder or load_embedder(config)
    place = systems.collection_folder(config.cache, collection, model)
    library = systems.collection_library(place, collection, model, load_reranker(config))
    queries = collection.judged()
    vectors = systems.document_vectors(model, collection.documents, place)
    runs = {
        "citewell": systems.citewell(library, queries),
        "bm25": systems.bm25(collection.documents, queries),
        "dense": systems.dense(model, vectors, collection.documents, queries),
    }
    values = {name: measure(collection.qrels, run, COLLECTION_MEASURES) for name, run in runs.items()}
    results: Json = {
        "measured": "collection",
        **made_with(),
        "collection": {
            "name": collection.name,
            "split": split,
            "documents": len(collection.documents),
            "queries": len(queries),
        },
        "index": library.snapshot().fingerprint,
        "embedder": model.model_name,
        "systems": {
            name: {m: asdict(interval(list(found.values()))) for m, found in measures.items()}
            for name, measures in values.items()
        },
        "comparisons": {
            m: [{**asdict(c), "verdict": c.verdict} for c in compare("citewell", {n: v[m] for n, v in values.items()})]
            for m in ("nDCG@10", "R@100")
        },
        "values": values,
    }
    library.close()
    return results, runs["citewell"]


def print_retrieval(results: Json) -> str:
    """The tables, as text."""
    if results["measured"] == "collection":
        about = results["collection"]
        rows = [
            [name, *(percent(Interval(**found[m])) for m in COLLECTION_MEASURES)]
            for name, found in results["systems"].items()
        ]
        parts = [
            f"{about['name']} ({about['split']}): {about['documents']:,} documents, {about['queries']:,} queries; "
            "x100, 95% intervals",
            table(["system", *COLLECTION_MEASURES], rows),
        ]
        for measure_name, comparisons in results["comparisons"].items():
            parts += [
                f"{c['b']} against {c['a']}, {measure_name}: {c['verdict']} ({100 * c['difference']:+.1f}, "
                f"{100 * c['low']:+.1f} to {100 * c['high']:+.1f}, p = {c['p_holm']:.4f} after Holm)"
                for c in comparisons
            ]
        return "\n".join(parts)
    names = [n for n in next(iter(results["by_kind"].values())) if n != "R@100"]
    rows = [
        [kind, str(found["R@1"]["n"]), *(percent(Interval(**found[n])) for n in names)]
        for kind, found in results["by_kind"].items()
    ]
    lines = [table(["kind", "n", *names], rows)]
    if results["left_out"]:
        lines.append(
            f"left out: {len(results['left_out'])} questions that are in Chinese or follow-ups; "
            "--llm has the language model resolve them"
        )
    return "\n".join(lines)


def _rank(scores: Mapping[str, float], paper: str) -> int | None:
    from eval.measures import ranking

    order = ranking(scores)
    return order.index(paper) + 1 if paper in order else None
