"""Results as one HTML page that opens without a network: no script, no font, no link out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from eval.page import page
from eval.report_answers import answers_parts
from eval.report_change import change_part
from eval.report_retrieval import collection_parts, retrieval_parts, systems_parts
from eval.results import Json, read_json
from rag.errors import CitewellError

_PARTS: dict[str, tuple[str, Callable[[Json], list[str]]]] = {
    "answers": ("Answers measured", answers_parts),
    "retrieval": ("Retrieval measured", retrieval_parts),
    "systems": ("Retrieval systems compared", systems_parts),
    "collection": ("Retrieval over a collection", collection_parts),
}


def newest_report(folders: Iterable[Path]) -> tuple[str, str, str] | None:
    """The name of the newest results of ``citewell eval answers`` in ``folders``, their page, and the fingerprint of the
    index they were measured on; None without any."""
    files = [path for folder in folders if folder.is_dir() for path in folder.glob("*.json") if path.is_file()]
    for path in sorted(files, key=lambda path: (-path.stat().st_mtime, path.name)):
        try:
            results = read_json(path, kind="answers")
            return path.name, report_html(results), str(results["index"])
        except (CitewellError, KeyError):  # other results, or of an older form
            continue
    return None


def report_html(results: Json, change: Json | None = None) -> str:
    """The page for results of ``citewell eval answers`` or ``retrieval``, with ``change`` against an earlier run.

    All text of questions, answers and papers is escaped.
    """
    title, parts_of = _PARTS[results["measured"]]
    head, *rest = parts_of(results)
    middle = [change_part(change)] if change else []
    return page(f"Citewell: {title.lower()}", [f"<h1>{title}</h1>", head, *middle, *rest])
