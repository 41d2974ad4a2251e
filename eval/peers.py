"""``citewell eval peers``: other systems asked the same questions with the same models, scored by the same scorer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from eval.answers import require_papers, spread
from eval.asking import Asker
from eval.progress import progress
from eval.questions import Question, cluster_of, fingerprint, load_questions, select
from eval.results import Json, citewell_version, write_json
from eval.scoring import score
from eval.summary import summarise
from eval.tables import percent, table
from rag.build import load_llm
from rag.config import Config
from rag.errors import CitewellError, QuestionError

if TYPE_CHECKING:
    from llama_index.core.llms.llm import LLM

PEERS = ("citewell", "citation-engine", "paperqa")
_COLUMNS = (("right", "right"), ("borne_out", "sentences borne out"), ("gold_cited", "all papers cited"))


class Peer(Protocol):
    """A system that answers questions about the library."""

    print: str
    """Its name and version, and whatever else decides its answers beside the index and the language model."""

    def ask(self, question: Question) -> Json:
        """The answer in the form of ``citewell ask --json``; ``timings_ms`` holds what could be timed."""
        ...


class _Citewell:
    """Citewell itself; what it has been asked before is on disk already."""

    def __init__(self, asker: Asker) -> None:
        self.print = f"citewell {asker.basis['code']}"
        self._asker = asker

    def ask(self, question: Question) -> Json:
        return self._asker.ask(question)


def measure_peers(
    config: Config,
    path: Path,
    *,
    split: str = "all",
    kinds: Sequence[str] | None = None,
    limit: int | None = None,
    peers: Sequence[str] | None = None,
    llm: Callable[[Config], LLM] = load_llm,
) -> Json:
    """Asks the questions of the file ``path`` of each of ``peers`` (None: of every one), and scores the answers.

    An answer is kept in ``<data>/eval-cache/peers`` under a print of the peer, the question, the index and the language
    model, with the timings it was made with: a run that was stopped goes on where it was. Questions that lean on
    earlier turns are left out: not every peer takes a conversation.

    Raises CitewellError for a bad file, an unknown peer, or a peer that cannot be run.
    """
    chosen = list(dict.fromkeys(peers or PEERS))
    unknown = [p for p in chosen if p not in PEERS]
    if unknown:
        raise CitewellError(f"unknown peer {unknown[0]!r}; take some of {', '.join(PEERS)}")
    questions = load_questions(path)
    asked = [q for q in spread(select(questions, split=split, kinds=kinds), limit) if not q.history]
    if not asked:
        raise CitewellError("every question chosen leans on earlier turns, which the peers do not take; choose others")
    asker = Asker(config, llm=llm)
    require_papers(asked, asker.papers.keys(), config.library)
    clusters = cluster_of(questions)
    systems: dict[str, Json] = {}
    for name in chosen:
        peer = _peer(name, asker, config)
        records = [
            score(q, _kept(config, peer, asker.basis, q), asker.papers) for q in progress(asked, f"{name} questions")
        ]
        systems[name] = {"print": peer.print, "summary": summarise(records, clusters), "records": records}
    return {
        "measured": "peers",
        "citewell": citewell_version(),
        "questions": {"file": path.name, "sha256": fingerprint(path), "split": split, "kinds": list(kinds or [])},
        "library": config.library,
        "made_with": asker.basis,
        "systems": systems,
    }


def print_peers(results: Json) -> str:
    """A line a system: what of its answers is right, borne out, refused, and how long it takes."""
    rows = []
    for name, system in results["systems"].items():
        rows.append([name, *_figures(system["summary"])])
    heads = ["system", *(head for _, head in _COLUMNS), "refused", "first word, s", "whole answer, s"]
    return table(heads, rows)


def _figures(summary: Json) -> list[str]:
    from eval.statistics import Interval

    def told(value: Mapping[str, Any] | None) -> str:
        return percent(None if value is None else Interval(**value))

    groups = summary["answerable"]
    own: Mapping[str, Any] = groups.get("all answerable") or next(iter(groups.values()), {})
    times = summary["latency_ms"]["all"]
    return [
        *(told(own.get(key)) for key, _ in _COLUMNS),
        told(summary["refused"].get("all unanswerable")),
        *(f"{times[t]['median'] / 1000:.1f}" if t in times else "-" for t in ("first_token", "total")),
    ]


def _peer(name: str, asker: Asker, config: Config) -> Peer:
    if name == "citewell":
        return _Citewell(asker)
    papers = list(asker.papers.values())
    if name == "citation-engine":
        from eval.citation_engine import CitationEngine

        return CitationEngine(config, asker.llm, papers)
    from eval.paperqa2 import PaperQA

    return PaperQA(config, asker.llm, papers)


def _kept(config: Config, peer: Peer, basis: Json, question: Question) -> Json:
    """The answer of a peer, asked once."""
    decides = {k: basis[k] for k in ("index", "llm", "context")}
    key = json.dumps([peer.print, question.question, decides], sort_keys=True, ensure_ascii=False)
    file = config.data / "eval-cache" / "peers" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
    try:
        kept: Json = json.loads(file.read_text(encoding="utf-8"))["answer"]
        return kept
    except (OSError, ValueError, KeyError):
        pass  # not asked yet, or damaged
    try:
        answer = peer.ask(question)
    except QuestionError as error:
        raise CitewellError(f"question {question.id!r} cannot be asked: {error}") from error
    if "error" not in answer:
        write_json(file, {"peer": peer.print, "question": question.question, "answer": answer})
    return answer
