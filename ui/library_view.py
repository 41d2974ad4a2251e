"""The library: the wiring of its table, its papers and its changes. Rows and papers are fetched as they are needed."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import gradio as gr

from rag.errors import CitewellError, NotReadyError, SourceError
from rag.library import Library
from rag.sync import Progress, Report
from ui import papers
from ui.conversation import Conversation
from ui.job import Job
from ui.pace import Pace
from ui.render import escape
from ui.shelf import SORTS, Look, Shelves, similar
from ui.wiring import PLAIN, QUIET, functions, wanted, way

MOST_ROWS = 200
"""Rows that are given out at once."""
_PAUSE = 0.3
_CHANGE = "citewell-change"
STAGES = {"read": "Reading files", "compare": "Looking for duplicates", "embed": "Embedding passages"}
NOT_OPEN = "The library is not open yet. It will be here as soon as it is."
EMPTY = "Nothing is in this library yet. Drop files of abstracts to begin."


class Keeper(Protocol):
    """What the view needs of ``ui.chat.Preparation``."""

    @property
    def uploads(self) -> Path:
        """Where uploaded files are kept; a source of the library like any other folder."""

    @property
    def missing(self) -> str:
        """Why there is no library yet, in one line: NOT_OPEN or EMPTY."""

    @property
    def pictures(self) -> Path:
        """Where the map is kept, which can be made again."""

    def library(self) -> Library | None:
        """The library, once it is open."""

    def change(self, paths: Sequence[Path], *, forget: Sequence[Path], on_progress: Progress) -> Report:
        """Makes the library a copy of its sources, of ``paths`` and no more of ``forget``."""

    def decide(self, place: str, *, apart: bool) -> Report:
        """Undoes the merge of the record at ``place`` ("FILE#ROW"), or takes that back."""


def library_view(keeper_of: Callable[[str], Keeper], conversation: gr.State) -> None:
    """Builds the view where it is called, inside the page; ``conversation`` says which library an upload goes to."""
    shelves: dict[str, Shelves] = {}
    counter = iter(range(1, 1 << 62))

    def opened(asked: dict[str, Any]) -> tuple[Keeper, Library]:
        """The library that the page shows. Raises CitewellError where it is not open."""
        keeper = keeper_of(str(asked.get("library") or ""))
        library = keeper.library()
        if library is None:
            raise NotReadyError(keeper.missing)
        return keeper, library

    def rows(asked: dict[str, Any]) -> dict[str, Any]:
        """The rows of the table from number ``first`` on, and how many there are in all."""
        try:
            keeper, library = opened(asked)
            shelf = shelves.setdefault(str(keeper.pictures), Shelves()).of(library)
            found = shelf.find(_look(asked))
            first = max(0, min(_number(asked.get("first")) or 0, len(found)))
            html = papers.rows_html(library.papers(found[first : first + MOST_ROWS]), first)
        except CitewellError as error:
            return {"total": -1, "first": 0, "html": "", "said": str(error)}
        said = _counted(len(found), len(library))
        return {"total": len(found), "first": first, "html": html, "said": said, "bare": shelf.bare}

    def filters(asked: dict[str, Any]) -> str:
        """The ways to narrow the table down."""
        try:
            keeper, library = opened(asked)
            return papers.filters_html(shelves.setdefault(str(keeper.pictures), Shelves()).of(library))
        except CitewellError:
            return ""

    def paper(asked: dict[str, Any]) -> str:
        """The page of the paper ``id``."""
        try:
            _, library = opened(asked)
            found = library.papers([str(asked.get("id"))])
            if not found:
                return '<p class="cw-hint">That paper is not in the library.</p>'
            return papers.paper_html(found[0], similar(library, found[0].paper_id), library.catalogue.merges())
        except CitewellError as error:
            return f'<p class="cw-hint">{escape(str(error))}</p>'

    def listed(asked: dict[str, Any]) -> str:
        """The sources of the library; where there is none yet, the table says why."""
        try:
            keeper, library = opened(asked)
            catalogue = library.catalogue
            return papers.sources_list_html(catalogue.roots(), list(catalogue.files().values()), keeper.uploads)
        except CitewellError:
            return ""

    async def shown(change: Job[Report]) -> AsyncIterator[str]:
        pace = Pace()
        while change.running:
            words = STAGES.get(change.stage, "Looking at the files")
            left = pace.left(change.stage, change.done, change.total)
            yield papers.progress_html(words, change.done, change.total, left)
            await asyncio.sleep(_PAUSE)
        if change.result is None:
            yield papers.failed_html(change.fault, next(counter))
        else:
            yield papers.report_html(change.result, next(counter))

    async def add(files: list[str] | None, talk: Conversation) -> AsyncIterator[tuple[Any, str]]:
        """Takes uploaded files into the library."""
        if not files:
            yield gr.skip(), gr.skip()
            return
        keeper = keeper_of(talk.library)

        def work(progress: Progress) -> Report:
            kept = [_kept(Path(name), keeper.uploads) for name in files]
            try:
                return keeper.change([keeper.uploads], forget=[], on_progress=progress)
            except CitewellError:
                for path, is_new in kept:
                    if is_new:
                        path.unlink(missing_ok=True)
                raise

        async for html in shown(Job(_CHANGE, work)):
            yield None, html

    async def act(event: gr.EventData) -> AsyncIterator[str]:
        """Removes a source, undoes a merge, or takes that back."""
        told = wanted(event)
        what, text = told.get("do"), str(told.get("text") or "")
        try:
            keeper, library = opened(told)
        except CitewellError as error:
            yield papers.failed_html(str(error), next(counter))
            return
        if what == "remove-source":

            def remove(progress: Progress) -> Report:
                path = Path(text)
                files = library.catalogue.files()
                if text in files and files[text].root == str(keeper.uploads):
                    return _without(path, lambda: keeper.change([], forget=[], on_progress=progress))
                if text not in library.catalogue.roots():
                    raise SourceError(f"{text} is no source of the library; open the list of sources again")
                return keeper.change([], forget=[path], on_progress=progress)

            async for html in shown(Job(_CHANGE, remove)):
                yield html
        elif what in ("split", "join"):
            async for html in shown(Job(_CHANGE, lambda progress: keeper.decide(text, apart=what == "split"))):
                yield html

    functions("library", rows, filters, paper, listed)
    action = way("library")
    with gr.Row(elem_id="cw-library", elem_classes="cw-view"):
        with gr.Column(elem_id="cw-shelf", min_width=300):
            gr.HTML(papers.TABLE, elem_id="cw-papers", **PLAIN)
        with gr.Column(elem_id="cw-beside", min_width=300):
            gr.HTML(f'<div class="cw-page">{papers.NO_PAPER}</div>', elem_id="cw-page", **PLAIN)
            with gr.Column(elem_id="cw-sources"):
                gr.HTML("<h2>Sources</h2>", **PLAIN)
                drop = gr.File(
                    label="Drop files of abstracts here, or click to choose them",
                    file_count="multiple",
                    elem_id="cw-drop",
                    height=110,
                )
                gr.HTML(papers.FORMATS, elem_id="cw-formats", **PLAIN)
                report = gr.HTML("", elem_id="cw-report", **PLAIN)
                gr.HTML(papers.SOURCES + papers.ANOTHER, elem_id="cw-source-list", **PLAIN)
    at_a_time: dict[str, Any] = {**QUIET, "concurrency_limit": 1, "concurrency_id": "change"}
    drop.upload(add, [drop, conversation], [drop, report], **at_a_time)
    action.input(act, None, report, trigger_mode="multiple", **at_a_time)


def _look(asked: dict[str, Any]) -> Look:
    sort = str(asked.get("sort"))
    return Look(
        search=str(asked.get("search") or "")[:200],
        sort=sort if sort in SORTS else "place",
        down=bool(asked.get("down")),
        source=str(asked.get("source") or ""),
        year=_number(asked.get("year")),
    )


def _number(value: object) -> int | None:
    with contextlib.suppress(ValueError):
        return int(str(value))
    return None


def _counted(found: int, total: int) -> str:
    return papers.counted(total) if found == total else f"{found:,} of {papers.counted(total)}"


def _without(file: Path, work: Callable[[], Report]) -> Report:
    """What ``work`` makes of the library without ``file``, which is back where ``work`` comes to nothing."""
    aside = file.with_name(f".{file.name}.removed")  # hidden files are no sources
    file.replace(aside)
    try:
        report = work()
    except BaseException:
        aside.replace(file)
        raise
    aside.unlink()
    return report


def _kept(file: Path, folder: Path) -> tuple[Path, bool]:
    """Where an uploaded file is kept, and whether it was not there before; another file of its name stays."""
    folder.mkdir(parents=True, exist_ok=True)
    name = file.name.lstrip(".") or "upload"
    for number in range(1, 10_000):
        path = folder / (name if number == 1 else f"{Path(name).stem}-{number}{Path(name).suffix}")
        if not path.exists():
            part = path.with_name(f".{path.name}.part")
            shutil.copyfile(file, part)
            part.replace(path)
            return path, True
        if path.read_bytes() == file.read_bytes():
            return path, False
    raise SourceError(f"{name}: there are too many files of that name; rename it")
