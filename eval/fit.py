"""Fitting the small models that the library ships: evidence.json and abstain.json on the tuning questions, stance.json on
SciFact's training claims.

Each is a logistic regression with an L2 penalty, found by L-BFGS; small enough to read, and the same at every run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from eval.results import Json
from rag import abstain, evidence, stance, topic
from rag.evidence import EvidencePicker
from rag.library import Library
from rag.retrieve import CitewellRetriever
from rag.survey import survey_of
from rag.terms import terms
from rag.verify import Passage, passages_of

Array = NDArray[np.float64]


def logistic(rows: Array, labels: Array, *, penalty: float) -> tuple[Array, float]:
    """Weights (d,) and bias of the L2-penalised logistic regression of ``labels`` (n,) in {0, 1} on ``rows`` (n, d)."""
    design = np.c_[rows, np.ones(len(rows))]

    def loss(w: Array) -> tuple[float, Array]:
        z = design @ w
        value = float(np.sum(np.logaddexp(0.0, z) - labels * z) + penalty / 2 * np.sum(w[:-1] ** 2))
        gradient = design.T @ (1.0 / (1.0 + np.exp(-z)) - labels) + penalty * np.r_[w[:-1], 0.0]
        return value, gradient

    found = minimize(loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B").x
    return found[:-1], float(found[-1])


def multinomial(rows: Array, labels: NDArray[np.int64], *, penalty: float) -> tuple[Array, Array]:
    """Weights (classes, d) and biases (classes,) of the L2-penalised softmax regression; every class weighs the same."""
    classes = int(labels.max()) + 1
    design = np.c_[rows, np.ones(len(rows))]
    wanted = np.eye(classes)[labels]
    weigh = (len(labels) / (classes * np.bincount(labels)))[labels]

    def loss(flat: Array) -> tuple[float, Array]:
        w = flat.reshape(classes, -1)
        z = design @ w.T
        z -= z.max(axis=1, keepdims=True)
        log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        value = float(-(weigh * (log_p * wanted).sum(axis=1)).sum() + penalty / 2 * np.sum(w[:, :-1] ** 2))
        gradient = ((np.exp(log_p) - wanted) * weigh[:, None]).T @ design + penalty * np.c_[
            w[:, :-1], np.zeros(classes)
        ]
        return value, gradient.ravel()

    found = minimize(loss, np.zeros(classes * design.shape[1]), jac=True, method="L-BFGS-B").x.reshape(classes, -1)
    return found[:, :-1], found[:, -1]


def fit_stance(rows: Array, stances: Sequence[str]) -> str:
    """The weights of ``rag.stance``, as JSON, from rows of its features and what the papers say."""
    mean, scale = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    labels = np.array([stance.CLASSES.index(s) for s in stances])
    weights, bias = multinomial((rows - mean) / scale, labels, penalty=10.0)
    raw = weights / scale
    return _model_json(
        features=list(stance.FEATURES),
        classes=list(stance.CLASSES),
        weights=raw.round(4),
        bias=(bias - raw @ mean).round(4),
    )


def fit_evidence(retriever: CitewellRetriever, asked: Sequence[tuple[str, Sequence[str], Sequence[str]]]) -> str:
    """The weights of the evidence picker, as JSON, from questions with their papers and evidence quotes."""
    picker = EvidencePicker(retriever.library.embedder, retriever.library.snapshot().words.idf)
    rows, labels = [], []
    for question, papers, quotes in asked:
        candidates = picker.candidates(question, retriever.search(question, k=6))
        rows.append(candidates.features)
        labels += [float(p.paper_id in papers and any(_bears(p, q) for q in quotes)) for p in candidates.passages]
    features = np.concatenate(rows)
    mean, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    weights, bias = logistic((features - mean) / scale, np.asarray(labels), penalty=3.0)
    return _model_json(
        features=list(evidence.FEATURES),
        mean=mean.round(5),
        scale=scale.round(5),
        weights=weights.round(4),
        bias=[round(bias, 4)],
    )


def fit_confidence(records: Sequence[Json], *, cost: float = 0.5) -> str:
    """The weights of the confidence and its threshold, as JSON, from scored answers made with threshold 0.

    The label of an answer is whether it is right; an unanswerable question has no right answer. The threshold is the
    one at which right answers less ``cost`` times wrong ones is most, the highest of equals.
    """
    asked = [r for r in records if abstain.FEATURES[0] in r["signals"]]
    features = np.array([[r["signals"][name] for name in abstain.FEATURES] for r in asked])
    labels = np.array([float(r["right"]) for r in asked])
    mean, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    weights, bias = logistic((features - mean) / scale, labels, penalty=8.0)
    raw = weights / scale
    offset = bias - float(raw @ mean)
    scores = 1.0 / (1.0 + np.exp(-(features @ raw + offset)))
    grid = np.arange(0.05, 0.96, 0.01)
    worth = [float(np.sum(np.where(labels == 1, 1.0, -cost)[scores >= t])) for t in grid]
    threshold = max(zip(worth, grid, strict=True))[1]
    current = json.loads(files("rag").joinpath("abstain.json").read_text(encoding="utf-8"))
    return _model_json(
        features=list(abstain.FEATURES),
        weights=raw.round(4),
        bias=[round(offset, 4)],
        threshold=[round(float(threshold), 4)],
        hopeless=current["hopeless"],
    )


def fit_topics(library: Library, asked: Sequence[tuple[str, Sequence[str]]]) -> str:
    """The weights of ``rag.topic``, as JSON, from questions about the whole library, each with the ids of the papers that
    answer it. Questions that ask for more or less than a topic are passed over."""
    snapshot, papers = library.snapshot(), library.papers()
    passages = {p.paper_id: passages_of(p) for p in papers}
    rows: list[Array] = []
    truth: list[Array] = []
    for question, wanted in asked:
        survey = survey_of(question)
        if survey is None or not survey.topics or survey.statements or survey.files or survey.all_topics:
            continue
        wordings = [w for t in survey.topics for w in topic.Topic.of(t, papers, library, snapshot, None).wordings]
        rows.append(np.array([[w.features(p, passages[p.paper_id]) for w in wordings] for p in papers]))
        truth.append(np.array([float(p.paper_id in wanted) for p in papers]))
    stacked = np.concatenate([r.reshape(-1, len(topic.FEATURES)) for r in rows])
    mean, scale = stacked.mean(axis=0), stacked.std(axis=0) + 1e-9
    # of a topic's wordings, and of several topics, the one that fits a paper best is the one it counts by
    scaled = [(r - mean) / scale for r in rows]
    best = [r[np.arange(len(r)), r.sum(axis=2).argmax(axis=1)] for r in scaled]
    weights, bias = logistic(np.concatenate(best), np.concatenate(truth), penalty=5.0)
    raw = weights / scale
    return _model_json(
        features=list(topic.FEATURES),
        weights=raw.round(4),
        bias=[round(bias - float(raw @ mean), 4)],
    )


def write_model(path: Path, text: str) -> None:
    """Puts a fitted model in place, whole or not at all."""
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def _bears(passage: Passage, quote: str) -> bool:
    """Whether the sentence holds the quote, or the greater part of its words."""
    words = set(terms(quote))
    return (
        quote in passage.text
        or passage.text in quote
        or (len(quote) > 20 and len(words & set(terms(passage.text))) >= 0.8 * len(words))
    )


def _model_json(**parts: object) -> str:
    listed = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in parts.items()}
    return "{\n" + ",\n".join(f' "{k}": {json.dumps(v)}' for k, v in listed.items()) + "\n}\n"
