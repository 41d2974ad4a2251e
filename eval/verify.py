"""``citewell eval verify``: how well sentences are checked, by SciFact's claims and by answers made false."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eval.falsify import negated, other_figure, other_name
from eval.fit import multinomial
from eval.progress import progress
from eval.results import Json
from eval.scifact import Claim, SciFact, claims
from eval.statistics import interval
from eval.tables import table
from rag.check import by_rules, read_as
from rag.embed import Embedder
from rag.figures import figures, names
from rag.lexical import LexicalIndex
from rag.library import Library
from rag.records import Paper
from rag.stance import CLASSES, FEATURES, GROUPS, features, stance
from rag.verify import Verifier, passages_of

Rows = NDArray[np.float64]
_FOLDS = 5
_CAUGHT = ("unsupported", "partial")


def claim_rows(folder: Path, split: str, embedder: Embedder) -> tuple[Rows, list[Claim]]:
    """The features of every claim of a split, held against each abstract that it cites."""
    data, idf, found = _loaded(folder, split)
    rows = [features(c.text, data.passages[c.paper_id], embedder, idf)[0] for c in progress(found, "claims")]
    return np.array(rows), found


def _loaded(folder: Path, split: str) -> tuple[SciFact, Callable[[str], float], list[Claim]]:
    data = SciFact.load(folder)
    found = [c for c in claims(folder, split) if c.paper_id in data.papers]
    return data, LexicalIndex.build(data.papers.values()).idf, found


def measure_claims(folder: Path, split: str, embedder: Embedder) -> Json:
    """Verdicts on a split's claims with their gold papers, and by inner folds of the training claims what each group
    of features brings."""
    data, idf, found = _loaded(folder, split)
    verifier = Verifier(embedder, idf)
    scores, verdicts = [], []
    for claim in progress(found, "claims"):
        passages = data.passages[claim.paper_id]
        read = stance(claim.text, passages, embedder, idf)
        judgement = verifier.judge(claim.text, passages, labels={claim.paper_id: data.papers[claim.paper_id].label})
        scores.append(read.supported)
        verdicts.append(by_rules(claim.text, judgement) or read_as(read))
    truth = [c.stance for c in found]
    rows, trained = claim_rows(folder, "train", embedder)
    return {
        "split": split,
        "pairs": len(found),
        "by_stance": {name: truth.count(name) for name in CLASSES},
        "auroc_supported": round(auroc(scores, [t == "supported" for t in truth]), 4),
        "auroc_supported_or_contradicted": round(
            auroc(
                [s for s, t in zip(scores, truth, strict=True) if t != "unsupported"],
                [t == "supported" for t in truth if t != "unsupported"],
            ),
            4,
        ),
        **_labels(truth, verdicts),
        "inner_folds": {name: round(value, 4) for name, value in _ablation(rows, trained).items()},
    }


def _labels(truth: Sequence[str], verdicts: Sequence[str]) -> Json:
    """Accuracy with its interval, F1 of each label and their mean, and the counts of truth against verdict."""
    f1 = {}
    for name in CLASSES:
        both = sum(t == v == name for t, v in zip(truth, verdicts, strict=True))
        told = sum(v == name for v in verdicts) + sum(t == name for t in truth)
        f1[name] = 2 * both / told if told else 0.0
    found = interval([float(t == v) for t, v in zip(truth, verdicts, strict=True)])
    return {
        "accuracy": {"mean": round(found.mean, 4), "low": round(found.low, 4), "high": round(found.high, 4)},
        "f1": {name: round(value, 4) for name, value in f1.items()},
        "macro_f1": round(sum(f1.values()) / len(f1), 4),
        "confusion": {
            t: {v: sum(a == t and b == v for a, b in zip(truth, verdicts, strict=True)) for v in CLASSES}
            for t in CLASSES
        },
    }


def _ablation(rows: Rows, trained: Sequence[Claim]) -> dict[str, float]:
    """AUROC of "supported" over folds by paper: all features, each group alone, all without each group."""
    every = list(range(len(FEATURES)))
    sets = {"all": every}
    for name, group in GROUPS.items():
        own = [FEATURES.index(f) for f in group]
        sets[f"only {name}"] = own
        sets[f"without {name}"] = [i for i in every if i not in own]
    papers = {paper: i % _FOLDS for i, paper in enumerate(dict.fromkeys(c.paper_id for c in trained))}
    fold = np.array([papers[c.paper_id] for c in trained])
    labels = np.array([CLASSES.index(c.stance) for c in trained])
    found = {}
    for name, chosen in sets.items():
        scores = np.zeros(len(trained))
        for k in range(_FOLDS):
            x = rows[:, chosen]
            mean, scale = x[fold != k].mean(axis=0), x[fold != k].std(axis=0) + 1e-9
            weights, bias = multinomial((x[fold != k] - mean) / scale, labels[fold != k], penalty=10.0)
            z = (x[fold == k] - mean) / scale @ weights.T + bias
            p = np.exp(z - z.max(axis=1, keepdims=True))
            scores[fold == k] = p[:, 0] / p.sum(axis=1)
        found[name] = auroc(scores.tolist(), (labels == 0).tolist())
    return found


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """How often a positive scores above a negative; ties count half. Needs one of each."""
    values, truth = np.asarray(scores), np.asarray(positive, dtype=bool)
    up, down = values[truth], values[~truth]
    return float(np.mean((up[:, None] > down) + 0.5 * (up[:, None] == down)))


def measure_answers_falsified(records: Sequence[Json], library: Library) -> Json:
    """The model's own sentences of answers, untouched and made false, judged by the papers that were looked at."""
    papers = {p.paper_id: p for p in library.papers()}
    verifier = Verifier(library.embedder, library.snapshot().words.idf)
    counts: dict[str, list[bool]] = {"untouched": [], "figure": [], "name": [], "negation": []}
    misses: list[Json] = []
    chosen = [r for r in records if r["status"] == "answered" and r["kind"] != "whole-library" and r["lang"] == "en"]
    for record in progress(chosen, "answers"):
        near = [papers[hit["paper_id"]] for hit in record["nearest"] if hit["paper_id"] in papers]
        passages = [p for paper in near for p in passages_of(paper)]
        labels = {p.paper_id: p.label for p in near}
        cited = {c["marker"]: papers[c["paper_id"]] for c in record["citations"] if c["paper_id"] in papers}
        for sentence in record["sentences"]:
            own = [cited[n] for n in sentence["citations"] if n in cited]
            if sentence["quoted"] or not own:
                continue
            across = len({p.paper_id for p in own}) > 1
            for kind, text in [("untouched", sentence["text"]), *_falsified(sentence["text"], own, papers)]:
                judged = verifier.judge(text, passages, labels=labels, asked=record["question"], across=across)
                caught = judged.verdict in _CAUGHT
                counts[kind].append(caught)
                if caught == (kind == "untouched"):
                    misses.append({"id": record["id"], "kind": kind, "text": text, "reason": judged.reason})
    return {
        **{kind: {"n": len(found), "caught": sum(found)} for kind, found in counts.items()},
        "wrongly_judged": misses,
    }


def _falsified(text: str, own: Sequence[Paper], papers: dict[str, Paper]) -> list[tuple[str, str]]:
    abstracts = " ".join(p.abstract for p in own)
    found = [("figure", other_figure(text, figures(abstracts))), ("negation", negated(text))]
    others = [
        p.label for i, p in sorted(papers.items()) if p not in own and len(p.label) < 20 and names(f": {p.label}")
    ]
    for paper in own[:1]:
        strange = next((o for o in others if o.lower() not in abstracts.lower()), None)
        found.append(("name", other_name(text, paper.label, strange) if strange else None))
    return [(kind, changed) for kind, changed in found if changed is not None]


def print_verify(results: Json) -> str:
    """What was measured, as text."""
    parts = []
    if "claims" in results:
        found = results["claims"]
        rows = [
            ["AUROC, supported against the rest", f"{found['auroc_supported']:.3f}"],
            ["AUROC, supported against contradicted", f"{found['auroc_supported_or_contradicted']:.3f}"],
            [
                "label accuracy",
                f"{found['accuracy']['mean']:.3f} ({found['accuracy']['low']:.3f}-{found['accuracy']['high']:.3f})",
            ],
            ["macro F1", f"{found['macro_f1']:.3f}"],
            *([f"F1, {name}", f"{value:.3f}"] for name, value in found["f1"].items()),
        ]
        parts.append(table([f"{found['pairs']} claims and papers ({found['split']})", ""], rows))
        parts.append(
            table(["inner folds of train", "AUROC"], [[k, f"{v:.3f}"] for k, v in found["inner_folds"].items()])
        )
    if "falsified" in results:
        rows = [
            [kind, str(row["n"]), f"{row['caught'] / row['n']:.1%}" if row["n"] else "-"]
            for kind, row in results["falsified"].items()
            if kind != "wrongly_judged"
        ]
        parts.append(table(["sentences", "n", "not passed"], rows))
    return "\n\n".join(parts)
