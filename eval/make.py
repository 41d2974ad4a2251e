"""``citewell eval make``: questions about a library of one's own, in a file, with what was dropped and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eval.make_prompts import VERSION as PROMPTS
from eval.making import MADE_KINDS, Maker
from eval.progress import progress
from eval.questions import as_line, default_questions, load_questions
from eval.recorded import RecordedLLM
from eval.results import Json, write_text
from eval.roundtrip import Roundtrip
from eval.splits import splits_of_papers
from eval.tables import table
from rag.build import load_llm, open_library
from rag.config import Config
from rag.errors import CitewellError
from rag.retrieve import CitewellRetriever

if TYPE_CHECKING:
    from llama_index.core.llms.llm import LLM


def make_questions(
    config: Config,
    path: Path,
    *,
    count: int,
    kinds: Sequence[str] | None = None,
    seed: int = 0,
    llm: Callable[[Config], LLM] = load_llm,
) -> Json:
    """Writes ``count`` questions about the library of ``config``, of ``kinds`` in equal shares, to ``path``.

    What the language model said is kept by prompt in ``<data>/eval-cache/llm``: a run that was stopped goes on where it
    was, and makes what it would have made. Returns how many were made and how many drafts were dropped, and why.

    Raises CitewellError for an unknown kind, no count, a file that is there already, or where nothing came through.
    """
    chosen = list(dict.fromkeys(kinds or MADE_KINDS))
    unknown = [k for k in chosen if k not in MADE_KINDS]
    if unknown:
        raise CitewellError(
            f"questions of the kind {unknown[0]!r} cannot be made; take some of {', '.join(MADE_KINDS)}"
        )
    if count < len(chosen):
        raise CitewellError(f"--count is {count}; it must be at least {len(chosen)}, one a kind")
    if path.exists():
        raise CitewellError(f"{path} is there already and may hold decisions of yours; give another --out")
    library = open_library(config)
    name = f"{config.llm_model} at {config.llm_url}" if config.llm_url else config.llm
    recorded = RecordedLLM.before(
        lambda: llm(config), name=name, context_window=config.context, folder=config.data / "eval-cache" / "llm"
    )
    splits = splits_of_papers(load_questions(default_questions()))
    maker = Maker(Roundtrip(CitewellRetriever(library), recorded), recorded, library.papers(), seed=seed, splits=splits)
    kept = 0
    for place, kind in enumerate(chosen):
        wanted = (count * (place + 1)) // len(chosen) - (count * place) // len(chosen)
        source = maker.make(kind, wanted)
        for _ in progress(range(wanted), f"{kind} questions"):
            if next(source, None) is None:
                break
            kept += 1
    if not kept:
        raise CitewellError(
            f"none of the drafts about the library {config.library!r} came through the tests; try another --seed, "
            "a larger library, or a stronger model (llm or llm_url)"
        )
    write_text(path, "".join(as_line(q) + "\n" for q in maker.made.questions))
    return {
        "made": "questions",
        "file": str(path),
        "library": config.library,
        "index": library.snapshot().fingerprint,
        "llm": name,
        "prompts": PROMPTS,
        "seed": seed,
        "kinds": {k: sum(q.kind == k for q in maker.made.questions) for k in chosen},
        "wanted": count,
        "dropped": {k: dict(reasons.most_common()) for k, reasons in maker.made.dropped.items() if reasons},
    }


def print_made(results: Json) -> str:
    """How many questions were made, and how many drafts were dropped and why."""
    rows = [
        [kind, str(results["kinds"].get(kind, 0)), str(sum(results["dropped"].get(kind, {}).values()))]
        for kind in dict.fromkeys([*results["kinds"], *results["dropped"]])
    ]
    why = [
        [f"{kind}: {reason}", str(n)] for kind, reasons in results["dropped"].items() for reason, n in reasons.items()
    ]
    parts = [table(["kind", "made", "dropped"], rows)]
    if why:
        parts.append(table(["dropped, since the draft", "drafts"], why))
    parts.append(f"written: {results['file']} (read them: citewell eval review {results['file']})")
    return "\n\n".join(parts)
