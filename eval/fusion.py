"""``citewell eval fusion``: ways to fuse the legs of the retriever, compared by nested cross-validation on training queries.

A way is a rule (the legs' own scores, the same stretched to [0, 1] for each query, or reciprocal ranks) with a weight for
each leg. In every outer fold the best weights of a rule are chosen on the queries outside it, and measured on those inside, so
that the figure of a rule is that of queries it was not fitted to. Queries that share a paper are in one fold.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from eval import systems
from eval.collections import load_collection
from eval.progress import progress
from eval.results import Json, made_with
from eval.statistics import compare, interval
from eval.tables import table
from rag import retrieve
from rag.build import load_embedder
from rag.config import Config
from rag.library import Library
from rag.retrieve import LATE_FLOOR, CitewellRetriever

Array = NDArray[np.float64]
FOLDS = 5
LEXICAL = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0)
LATE = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Weights tried beside 1 for the dense leg."""
_BATCH = 100
_SEED = 11


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of a query: a row of scores for each leg (dense, lexical, late), NaN where a leg has none."""

    ids: tuple[str, ...]
    """Ascending, so that a stable sort breaks ties by id."""
    scores: Array
    gains: Array
    """Relevance of each candidate: (n,)."""
    ideal: float
    """DCG@10 of the best order of all relevant papers."""
    relevant: int


Rule = Callable[[Array], Array]


def absolute(scores: Array) -> Array:
    """The legs' own scores, as the retriever fuses them; late interaction counts from its floor."""
    found = np.nan_to_num(scores, nan=0.0)
    found[2] = np.maximum(0.0, found[2] - LATE_FLOOR)
    return found


def stretched(scores: Array) -> Array:
    """Each leg stretched to [0, 1] over the candidates it scored (min-max)."""
    low, high = np.nanmin(scores, axis=1, keepdims=True), np.nanmax(scores, axis=1, keepdims=True)
    return np.nan_to_num((scores - low) / np.maximum(high - low, 1e-9), nan=0.0)


def reciprocal(scores: Array) -> Array:
    """1 / (60 + rank) of each leg, 0 for candidates it did not score."""
    order = np.argsort(-np.nan_to_num(scores, nan=-np.inf), axis=1, kind="stable")
    ranks = np.argsort(order, axis=1) + 1
    return np.where(np.isnan(scores), 0.0, 1.0 / (60 + ranks))


RULES: Mapping[str, Rule] = {"absolute": absolute, "min-max": stretched, "reciprocal ranks": reciprocal}


def measure_fusion(config: Config, folder: Path, *, split: str) -> Json:
    """The rules over the queries of a collection in BEIR's form: nested figures, and the weights best on all of them."""
    collection = load_collection(folder, split=split)
    model = load_embedder(config)
    place = systems.collection_folder(config.cache, collection, model)
    library = systems.collection_library(place, collection, model)
    queries = collection.judged()
    held = candidates(library, queries, collection.qrels)
    library.close()
    folds = folds_of(collection.qrels, list(queries))
    grid = [np.array([1.0, lexical, late]) for lexical, late in itertools.product(LEXICAL, LATE)]
    found = {name: _figures(rule, grid, held) for name, rule in progress(list(RULES.items()), "rules")}
    nested = {name: _nested(values, folds) for name, values in found.items()}
    shipped = np.array([1.0, retrieve.LEXICAL_WEIGHT, retrieve.LATE_WEIGHT])
    nested["as shipped"] = _figures(absolute, [shipped], held)[:, 0]
    ids = list(queries)
    return {
        "measured": "fusion",
        **made_with(),
        "collection": {"name": collection.name, "split": split, "queries": len(ids)},
        "embedder": model.model_name,
        "rules": {
            name: {m: asdict(interval(values[i].tolist())) for i, m in enumerate(("nDCG@10", "R@100"))}
            for name, values in nested.items()
        },
        "weights": {
            name: dict(zip(("dense", "lexical", "late"), grid[_best(values, slice(None))].tolist(), strict=True))
            for name, values in found.items()
        },
        "comparisons": [
            {**asdict(c), "verdict": c.verdict}
            for c in compare(
                "as shipped", {n: dict(zip(ids, v[0].tolist(), strict=True)) for n, v in _shipped_first(nested).items()}
            )
        ],
    }


def candidates(
    library: Library, queries: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]]
) -> list[Candidates]:
    """What the legs of the retriever say of the candidates of each query, in the order of ``queries``."""
    retriever = CitewellRetriever(library)
    ids = list(queries)
    held = []
    for at in progress(range(0, len(ids), _BATCH), "batches of queries"):
        part = ids[at : at + _BATCH]
        for query, legs in zip(part, retriever.legs([queries[i] for i in part]), strict=True):
            wanted = {p: v for p, v in qrels[query].items() if v > 0}
            papers = tuple(sorted(legs.dense.keys() | legs.lexical.keys()))
            rows = [[leg.get(p, np.nan) for p in papers] for leg in (legs.dense, legs.lexical, legs.late)]
            gains = np.array([float(wanted.get(p, 0)) for p in papers])
            ideal = _dcg(np.sort(np.array(list(wanted.values()), float))[::-1])
            held.append(Candidates(papers, np.array(rows), gains, ideal, len(wanted)))
    return held


def folds_of(qrels: Mapping[str, Mapping[str, int]], queries: Sequence[str]) -> NDArray[np.int64]:
    """The fold of each query, 0 to FOLDS - 1; queries that share a relevant paper, over others or not, share it."""
    papers = {p: i for i, p in enumerate(sorted({p for q in queries for p in qrels[q]}))}
    pairs = [(row, papers[p]) for row, q in enumerate(queries) for p in qrels[q]]
    rows, columns = (np.array(side) for side in zip(*pairs, strict=True))
    size = len(queries) + len(papers)
    joined = coo_matrix((np.ones(len(pairs)), (rows, columns + len(queries))), shape=(size, size))
    _, groups = connected_components(joined, directed=False)
    fold = np.random.default_rng(_SEED).integers(0, FOLDS, groups.max() + 1)
    return np.asarray(fold[groups[: len(queries)]], dtype=np.int64)


def print_fusion(results: Json) -> str:
    """The rules and the best weights of each, as text."""
    about = results["collection"]
    rows = []
    for name, found in results["rules"].items():
        weights = results["weights"].get(name)
        cells = [
            f"{100 * found[m]['mean']:.1f} ({100 * found[m]['low']:.1f}-{100 * found[m]['high']:.1f})" for m in found
        ]
        rows.append([name, *cells, " ".join(f"{w:g}" for w in weights.values()) if weights else ""])
    return "\n".join(
        [
            f"{about['name']} ({about['split']}): {about['queries']:,} queries, each measured with weights chosen on others",
            table(["rule", "nDCG@10", "R@100", "best weights (dense, lexical, late)"], rows),
            *(
                f"{c['b']} against {c['a']}, nDCG@10: {c['verdict']} ({100 * c['difference']:+.1f}, p = {c['p_holm']:.4f})"
                for c in results["comparisons"]
            ),
        ]
    )


def _figures(rule: Rule, grid: Sequence[Array], held: Sequence[Candidates]) -> Array:
    """nDCG@10 and R@100 of each query with each weights of the grid: (2, weights, queries)."""
    found = np.zeros((2, len(grid), len(held)))
    weights = np.stack(grid)
    for at, of in enumerate(held):
        if not len(of.ids):
            continue
        fused = weights @ rule(of.scores)
        order = np.argsort(-fused, axis=1, kind="stable")
        found[0, :, at] = _dcg(of.gains[order[:, :10]]) / (of.ideal or 1.0)
        found[1, :, at] = (of.gains[order[:, :100]] > 0).sum(axis=1) / max(1, of.relevant)
    return found


def _dcg(gains: Array) -> Array:
    return np.asarray((gains[..., :10] / np.log2(np.arange(2, 2 + min(10, gains.shape[-1])))).sum(axis=-1))


def _best(values: Array, chosen: slice | NDArray[np.bool_]) -> int:
    """The weights with the highest nDCG@10 over the ``chosen`` queries, the first of equals."""
    return int(np.argmax(values[0][:, chosen].mean(axis=1)))


def _nested(values: Array, folds: NDArray[np.int64]) -> Array:
    """Figures of each query with the weights that are best outside its fold: (2, queries)."""
    out = np.zeros((2, values.shape[2]))
    for fold in range(FOLDS):
        inside = folds == fold
        out[:, inside] = values[:, _best(values, ~inside), :][:, inside]
    return out


def _shipped_first(nested: Mapping[str, Array]) -> dict[str, Array]:
    return {"as shipped": nested["as shipped"], **nested}
