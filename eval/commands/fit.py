"""``citewell eval fit``: fit a model that ships with Citewell on the tuning questions, and put it in place."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from eval.commands.arguments import with_questions
from rag.commands.arguments import add_command
from rag.errors import CitewellError

if TYPE_CHECKING:
    from rag.commands.arguments import Commands
    from rag.config import Config


def add(commands: Commands) -> None:
    """Declares the command."""
    parser = add_command(
        commands, "fit", run, "fit a model that ships with Citewell on the tuning questions, and put it in place"
    )
    parser.add_argument("model", choices=list(_FITTED), help="which one")
    parser.add_argument("--scifact", metavar="FOLDER", type=Path, help="for stance: SciFact's corpus and claims")
    with_questions(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Fits, and writes the model where ``rag`` reads it, or to --out."""
    from importlib.resources import files

    from eval.fit import write_model

    file, fit = _FITTED[args.model]
    text, on = fit(args, config)
    target = args.out or Path(str(files("rag"))) / file
    write_model(target, text)
    print(f"fitted on {on}: {target}")
    return 0


def _evidence(args: argparse.Namespace, config: Config) -> tuple[str, str]:
    from eval.fit import fit_evidence
    from eval.questions import default_questions, load_questions, select
    from rag.build import open_library
    from rag.retrieve import CitewellRetriever

    split = _tuning(args)
    kinds = ("single", "paraphrase", "late", "two-paper")
    asked = select(load_questions(args.questions or default_questions()), split=split, kinds=kinds)
    text = fit_evidence(CitewellRetriever(open_library(config)), [(q.question, q.papers, q.evidence) for q in asked])
    return text, f"the {split} questions"


def _confidence(args: argparse.Namespace, config: Config) -> tuple[str, str]:
    from eval.answers import measure_answers
    from eval.fit import fit_confidence
    from eval.questions import default_questions

    split = _tuning(args)
    results = measure_answers(config, args.questions or default_questions(), split=split, threshold=0.0)
    return fit_confidence(results["records"]), f"the {split} questions"


def _tuning(args: argparse.Namespace) -> str:
    return "tune" if args.split == "all" else str(args.split)


def _stance(args: argparse.Namespace, config: Config) -> tuple[str, str]:
    from eval.fit import fit_stance
    from eval.verify import claim_rows
    from rag.build import load_embedder

    if args.scifact is None:
        raise CitewellError("fit stance needs --scifact FOLDER, which holds corpus.jsonl.gz and claims_train.jsonl")
    rows, claims = claim_rows(args.scifact, "train", load_embedder(config))
    return fit_stance(rows, [c.stance for c in claims]), "SciFact's training claims"


def _topics(args: argparse.Namespace, config: Config) -> tuple[str, str]:
    from eval.fit import fit_topics
    from eval.questions import default_questions, load_questions, select
    from rag.build import open_library

    # few ask for a topic, so both parts that are not the test are used
    parts = ("tune", "calibrate") if args.split == "all" else (args.split,)
    questions = load_questions(args.questions or default_questions())
    wanted = [q for part in parts for q in select(questions, split=part) if q.kind in ("whole-library", "unanswerable")]
    text = fit_topics(open_library(config), [(q.english or q.question, q.papers) for q in wanted])
    return text, f"the {' and '.join(parts)} questions"


_FITTED: dict[str, tuple[str, Callable[[argparse.Namespace, Config], tuple[str, str]]]] = {
    "evidence": ("evidence.json", _evidence),
    "confidence": ("abstain.json", _confidence),
    "stance": ("stance.json", _stance),
    "topics": ("topic.json", _topics),
}
"""Model -> its file, and what fits it: the model, and in words what on."""
