"""``citewell eval peers``: other systems asked the same questions with the same models, scored by the same scorer."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

from eval.asking import Asker, no_answer
from eval.peer_answers import OutOfPatience
from eval.progress import progress
from eval.questions import Question, cluster_of, fingerprint, load_questions, require_papers, select, spread
from eval.results import Json, made_with, write_json
from eval.scoring import score
from eval.summary import summarise
from eval.tables import percent, table
from rag.build import load_llm
from rag.config import Config
from rag.errors import CitewellError, QuestionError

if TYPE_CHECKING:
    from llama_index.core.llms.llm import LLM

PEERS = ("citewell", "citation-engine", "paperqa")
_COLUMNS = (
    ("right", "right"),
    ("right_and_cited", "right, all borne out"),
    ("borne_out", "sentences borne out"),
    ("gold_cited", "all papers cited"),
)


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
    patience: float = 600.0,
    llm: Callable[[Config], LLM] = load_llm,
) -> Json:
    """Asks the questions of the file ``path`` of each of ``peers`` (None: of every one), and scores the answers.

    Every question goes to all of them before the next one does, so that whatever else the machine does slows all alike.
    An answer is kept in ``<data>/eval-cache/peers`` under a print of the peer, the question, the index and the language
    model, with the timings it was made with: a run that was stopped goes on where it was. That a peer came to no answer
    within ``patience`` seconds is kept too, as an error, until it is given longer. Questions that lean on earlier turns
    are left out: not every peer takes a conversation.

    Raises CitewellError for a bad file, an unknown peer, or a peer that cannot be run.
    """
    chosen = list(dict.fromkeys(peers or PEERS))
    unknown = [p for p in chosen if p not in PEERS]
    if unknown:
        raise CitewellError(f"unknown peer {unknown[0]!r}; take some of {', '.join(PEERS)}")
    questions = load_questions(path)
    asked = spread([q for q in select(questions, split=split, kinds=kinds) if not q.history], limit)
    if not asked:
        raise CitewellError("every question chosen leans on earlier turns, which the peers do not take; choose others")
    asker = Asker(config, llm=llm)
    require_papers(asked, asker.papers.keys(), config.library)
    clusters = cluster_of(questions)
    panel = {name: _peer(name, asker, config, patience) for name in chosen}
    records: dict[str, list[Json]] = {name: [] for name in chosen}
    for question in progress(asked, "questions"):
        for name, peer in panel.items():
            records[name].append(score(question, _kept(config, peer, asker, question, patience), asker.papers))
    return {
        "measured": "peers",
        **made_with(),
        "questions": {
            "file": path.name,
            "sha256": fingerprint(path),
            "split": split,
            "kinds": list(kinds or []),
            "limit": limit,
        },
        "library": config.library,
        "made_with": asker.basis,
        "patience": patience,
        "systems": {
            name: {
                "print": panel[name].print,
                "summary": summarise(found, clusters),
                **(
                    {"first_word_beside_citewell": beside(found, records["citewell"])}
                    if name != "citewell" and "citewell" in records
                    else {}
                ),
                "records": found,
            }
            for name, found in records.items()
        },
    }


def beside(theirs: Sequence[Json], ours: Sequence[Json]) -> Json | None:
    """How many times as long a peer takes to its first word as Citewell: the median over the questions that both
    answered and that both were timed at; None where there is none."""
    ratios = [
        t["timings_ms"]["first_token"] / o["timings_ms"]["first_token"]
        for t, o in zip(theirs, ours, strict=True)
        if t["answered"] and o["answered"] and t["timings_ms"].get("first_token") and o["timings_ms"].get("first_token")
    ]
    return {"times": round(median(ratios), 2), "n": len(ratios)} if ratios else None


def print_peers(results: Json) -> str:
    """A line a system: what of its answers is right, borne out, refused, and how long it takes."""
    rows = []
    for name, system in results["systems"].items():
        times = system.get("first_word_beside_citewell")
        rows.append([name, *_figures(system["summary"]), f"{times['times']:.1f}" if times else "-"])
    heads = [
        "system",
        *(head for _, head in _COLUMNS),
        "refused",
        "first word, s",
        "whole answer, s",
        "first word, times",
    ]
    parts = [table(heads, rows)]
    for name, system in results["systems"].items():
        failed = [r for r in system["records"] if "error" in r]
        if failed:
            parts.append(
                f"{name} came to no answer for {len(failed)} of {len(system['records'])}: {failed[0]['error']}"
            )
    return "\n".join(parts)


def _figures(summary: Json) -> list[str]:
    from eval.statistics import Interval

    def told(value: Mapping[str, Any] | None) -> str:
        return percent(None if value is None else Interval(**value))

    groups = summary["answerable"]
    own: Mapping[str, Any] = groups.get("all answerable") or next(iter(groups.values()), {})
    times = summary["latency_ms"]["answered"]
    return [
        *(told(own.get(key)) for key, _ in _COLUMNS),
        told(summary["refused"].get("all unanswerable")),
        *(f"{times[t]['median'] / 1000:.1f}" if t in times else "-" for t in ("first_token", "total")),
    ]


def _peer(name: str, asker: Asker, config: Config, patience: float) -> Peer:
    if name == "citewell":
        return _Citewell(asker)
    papers = list(asker.papers.values())
    if name == "citation-engine":
        from eval.citation_engine import CitationEngine

        return CitationEngine(config, asker.llm, papers)
    from eval.paperqa2 import PaperQA

    return PaperQA(config, asker.llm, papers, patience=patience)


def _kept(config: Config, peer: Peer, asker: Asker, question: Question, patience: float) -> Json:
    """The answer of a peer, asked once."""
    decides = {k: asker.basis[k] for k in ("index", "llm", "context")}
    key = json.dumps([peer.print, question.question, decides], sort_keys=True, ensure_ascii=False)
    file = config.data / "eval-cache" / "peers" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept.get("patience", patience) >= patience:
            answer: Json = kept["answer"]
            return answer
    except (OSError, ValueError, KeyError):
        pass  # not asked yet, or damaged
    asker.warm()
    try:
        answer = peer.ask(question)
    except QuestionError as error:
        raise CitewellError(f"question {question.id!r} cannot be asked: {error}") from error
    except OutOfPatience as error:
        answer = no_answer(question.question, str(error))
        print(f"question {question.id!r}: {error}", file=sys.stderr, flush=True)
        write_json(file, {"peer": peer.print, "question": question.question, "patience": patience, "answer": answer})
    if "error" not in answer:
        write_json(file, {"peer": peer.print, "question": question.question, "answer": answer})
    return answer
