"""``citewell eval encoders``: which embedding model suits a library, told without a single label.

After Subspace-Corrected Ranking (one of the seeds). A score that only looks at how an encoder spreads the texts (RankMe: the
effective rank of their vectors) cannot tell a meaningful spread from any other and follows the dimension. So the spread is
held against a fixed reference: the texts' own words, which need no model and favour none. The score is the overlap of two
subspaces of the same number of dimensions, the leading ones of the texts as the encoder sees them and as their words do:
‖UᵀV‖² / k, in [0, 1].

The abstract does not tell its estimator. Tried on the seeds with nine encoders (MiniLM, mpnet, fast, MiniLM cut after 0 to 5
of its layers; labels: nDCG@10 of 210 tune and calibrate questions), this one has Kendall's tau .50, .78, .72 and .56 with
the labels for 8, 16, 32 and 48 dimensions, linear CKA with the words .50, RankMe .72. Of the pairs of the three real ones
it orders two right, as RankMe does: close models are not told apart.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import LinearOperator, svds
from scipy.stats import kendalltau

from eval.gate import SPLITS
from eval.measures import mean, measure
from eval.questions import Question, default_questions, load_questions, require_papers
from eval.results import Json, made_with
from eval.tables import table
from rag.build import load_embedder, open_catalogue
from rag.config import Config
from rag.errors import CitewellError
from rag.records import Paper
from rag.terms import terms

Matrix = NDArray[np.float64]
DIMENSIONS = 16
"""Of the subspaces; fewer where the library has fewer than twice as many papers."""
SAMPLE = 2000
"""Papers looked at, drawn with a fixed seed."""
_FEWEST = 8
_SEED = 7


def measure_encoders(config: Config, names: Sequence[str], path: Path | None) -> Json:
    """The encoders ``names`` ranked for the library of ``config`` without labels, the best first.

    Where the questions of the file ``path`` (None: those about the seeds, if this library holds the seeds) have labels, also
    by their tune and calibrate questions (nDCG@10 of the whole abstract's vector alone), and how well the two orders agree:
    Kendall's tau, in [-1, 1]. Raises CitewellError for fewer than eight
    papers, an encoder named twice, or questions about other papers.
    """
    if len(set(names)) < len(names):
        raise CitewellError(f"an encoder is named twice in {', '.join(names)}; name each once")
    catalogue = open_catalogue(config)
    every = catalogue.papers()
    catalogue.close()
    if len(every) < _FEWEST:
        raise CitewellError(
            f"the library {config.library!r} has {len(every)} papers; a ranking needs {_FEWEST} at least"
        )
    held = {p.paper_id for p in every}
    asked = _asked(path or default_questions())
    if path is not None:
        require_papers(asked, held, config.library)
    elif any(i not in held for q in asked for i in q.papers):
        asked = []
    papers = _sample(every, asked)
    texts = [f"{p.title} {p.abstract}".strip() for p in papers]
    words = word_vectors(texts)
    dimensions = min(DIMENSIONS, len(texts) // 2)
    rows = []
    for name in names:
        model = load_embedder(replace(config, embedder=name))
        vectors = model.encode(texts)
        row: Json = {
            "encoder": name,
            "dimension": model.dimension,
            "overlap": subspace_overlap(vectors, words, dimensions),
            "rankme": effective_rank(vectors),
        }
        if asked:
            row["nDCG@10"] = _labelled(model.encode([q.question for q in asked]), vectors, papers, asked)
        rows.append(row)
    rows.sort(key=lambda r: (-r["overlap"], r["encoder"]))
    results: Json = {
        "measured": "encoders",
        **made_with(),
        "library": config.library,
        "papers": len(papers),
        "dimensions": dimensions,
        "questions": len(asked),
        "encoders": rows,
    }
    if asked and len(rows) > 1:
        labels = [r["nDCG@10"] for r in rows]
        results["tau"] = {name: _tau([r[name] for r in rows], labels) for name in ("overlap", "rankme")}
        results["pairs"] = _pairs(rows)
    return results


def subspace_overlap(vectors: NDArray[np.float32], words: csr_matrix, dimensions: int) -> float:
    """How much the leading ``dimensions`` directions of the texts as an encoder sees them, (n, d), share with those of their
    words, (n, terms): ‖UᵀV‖² / dimensions, in [0, 1]. Both are centred. Texts are rows, so d does not matter."""
    seen = _leading(csr_matrix(vectors.astype(np.float64)), dimensions)
    said = _leading(words, dimensions)
    return float(np.linalg.norm(seen.T @ said) ** 2 / dimensions)


def effective_rank(vectors: NDArray[np.float32]) -> float:
    """RankMe (arXiv 2210.02885): e to the entropy of the singular values of (n, d), in [1, min(n, d)]."""
    values = np.linalg.svd(vectors.astype(np.float64), compute_uv=False)
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def word_vectors(texts: Sequence[str]) -> csr_matrix:
    """Unit rows of the texts' stems, (n, terms): 1 + ln of the count, times the inverse document frequency."""
    counts = [Counter(terms(t)) for t in texts]
    held = Counter(itertools.chain.from_iterable(counts))
    place = {term: i for i, term in enumerate(sorted(held))}
    rows = [r for r, found in enumerate(counts) for _ in found]
    columns = [place[t] for found in counts for t in found]
    weights = [(1 + np.log(c)) * np.log(len(texts) / held[t]) for found in counts for t, c in found.items()]
    weighed = csr_matrix((weights, (rows, columns)), shape=(len(texts), len(place)))
    lengths = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
    return csr_matrix(weighed.multiply(1.0 / np.maximum(lengths, 1e-12)[:, None]))


def print_encoders(results: Json) -> str:
    """The ranking, as text."""
    labelled = results["questions"] > 0
    rows = [
        [
            r["encoder"],
            str(r["dimension"]),
            f"{100 * r['overlap']:.1f}",
            f"{r['rankme']:.1f}",
            *([f"{100 * r['nDCG@10']:.1f}"] if labelled else []),
        ]
        for r in results["encoders"]
    ]
    parts = [
        f"{results['papers']:,} papers, subspaces of {results['dimensions']} dimensions; overlap x100, the best first",
        table(["encoder", "dimension", "overlap", "RankMe", *(["nDCG@10"] if labelled else [])], rows),
    ]
    if "tau" in results:
        right, all_ = results["pairs"]
        parts.append(
            f"by the labels of {results['questions']} questions: {right} of {all_} pairs ordered alike, Kendall's tau "
            f"{results['tau']['overlap']:+.2f} (RankMe {results['tau']['rankme']:+.2f})"
        )
    return "\n".join(parts)


def _asked(path: Path) -> list[Question]:
    """The questions of a file that may be tuned on, are looked up as they stand, and have a paper that answers them."""
    return [
        q
        for q in load_questions(path)
        if q.split in SPLITS and q.answerable and q.stands_alone and q.kind != "whole-library"
    ]


def _sample(papers: Sequence[Paper], asked: Sequence[Question]) -> list[Paper]:
    """All papers, or SAMPLE of them with those that questions are about."""
    if len(papers) <= SAMPLE:
        return list(papers)
    needed = {i for q in asked for i in q.papers}
    order = np.random.default_rng(_SEED).permutation(len(papers)).tolist()
    first = [i for i in order if papers[i].paper_id in needed]
    rest = [i for i in order if papers[i].paper_id not in needed]
    return [papers[i] for i in sorted([*first, *rest[: max(0, SAMPLE - len(first))]])]


def _leading(rows: csr_matrix, dimensions: int) -> Matrix:
    """The leading left singular vectors of centred ``rows``, (n, dimensions)."""
    if min(rows.shape) <= 4 * dimensions or rows.shape[1] < 1000:
        dense = rows.toarray()
        left, _, _ = np.linalg.svd(dense - dense.mean(axis=0), full_matrices=False)
        return np.asarray(left[:, :dimensions])
    means = np.asarray(rows.mean(axis=0)).ravel()
    ones = np.ones(rows.shape[0])
    centred = LinearOperator(
        rows.shape,
        matvec=lambda v: rows @ v.ravel() - ones * (means @ v.ravel()),
        rmatvec=lambda v: rows.T @ v.ravel() - means * (ones @ v.ravel()),
        dtype=np.float64,
    )
    left, _, _ = svds(centred, k=dimensions, v0=np.random.default_rng(_SEED).normal(size=min(rows.shape)))
    return np.asarray(left)


def _labelled(
    questions: NDArray[np.float32], vectors: NDArray[np.float32], papers: Sequence[Paper], asked: Sequence[Question]
) -> float:
    run = {
        q.id: {p.paper_id: float(s) for p, s in zip(papers, row, strict=True)}
        for q, row in zip(asked, questions @ vectors.T, strict=True)
    }
    return mean(measure({q.id: dict.fromkeys(q.papers, 1) for q in asked}, run, ("nDCG@10",))["nDCG@10"])


def _tau(scores: Sequence[float], labels: Sequence[float]) -> float:
    found = float(kendalltau(scores, labels).statistic)
    return found if np.isfinite(found) else 0.0


def _pairs(rows: Sequence[Mapping[str, float]]) -> tuple[int, int]:
    """Pairs of encoders that both orders put alike, and all pairs."""
    pairs = list(itertools.combinations(rows, 2))
    return sum((a["overlap"] - b["overlap"]) * (a["nDCG@10"] - b["nDCG@10"]) > 0 for a, b in pairs), len(pairs)
