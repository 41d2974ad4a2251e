"""The chat page: Gradio wiring alone. What is shown is made by the pure functions beside this file."""

from __future__ import annotations

import os

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when gradio is imported

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.routing import Route

from rag.errors import CitewellError, ServeError
from rag.records import Finished, Found, Resolved, Token, Waiting
from serve.api import PATHS
from serve.gate import MAX_BODY, Access, Gate, user_of
from serve.run import Ended, Engine, Failed, Papers, Run, Step
from ui import render, sources
from ui.conversation import Conversation, Exchange, papers_by_id

HERE = Path(__file__).parent
FRAME = 0.08
"""Seconds between two pictures of a text that is being written."""
EMPTY_QUESTION = "Type a question first, or pick one of the examples."
BUSY = "Still answering. Stop it first, or wait until it is done."
EDITING = "Editing an earlier question: sending it starts again from there."
LOOKING = "Looking it up"
BRAND = '<div class="cw-brand"><h1>Citewell</h1><p>Answers from your papers, footnoted to the exact words</p></div>'


def build_page(
    get_engine: Callable[[], Engine], *, examples: Callable[[], Sequence[str]], status: Callable[[], str] | None = None
) -> gr.Blocks:
    """The page. ``get_engine`` is called for each question, off the event loop, and may raise CitewellError.

    ``examples`` gives questions to begin with; it may have none yet while the library is being opened.

    ``status`` says in one line what is going on ("71 papers", "Fetching the model, 2 minutes left"), or "".
    """

    def begin(question: str, talk: Conversation, current: Run | None, from_turn: int) -> dict[Any, Any]:
        """Takes a question on; ``follow`` then shows what becomes of it."""
        question = (question or "").encode("utf-8", "replace").decode("utf-8").strip()
        if not question:
            return {notice: _notice(EMPTY_QUESTION)}
        if current is not None and current.running:
            return {notice: _notice(BUSY)}
        if from_turn >= 0:
            talk = talk.before(from_turn)
        started = Run(get_engine, question, talk.turns())
        return {
            box: "",
            notice: _notice(""),
            conversation: talk,
            run: started,
            editing: -1,
            past: render.conversation_html(talk) if from_turn >= 0 or not len(talk) else gr.skip(),
            live: render.live_html(question, len(talk), render.working_html(LOOKING)),
            send: gr.Button(visible=False),
            halt: gr.Button(visible=True),
        }

    async def follow(talk: Conversation, current: Run | None) -> AsyncIterator[dict[Any, Any]]:
        """Shows a run from its first step to its last."""
        if current is None or not current.claim():
            yield {live: gr.skip()}
            return
        turn = len(talk)
        exchange = Exchange(current.question)
        shown_at, ended = 0.0, False
        async for first in current.steps():
            steps: list[Step] = [first]
            if isinstance(first, Token):
                await asyncio.sleep(max(0.0, shown_at + FRAME - time.monotonic()))
                steps += current.ready()  # and whether somebody stopped it meanwhile
            html = ""
            changed: dict[Any, Any] = {}
            for step in steps:
                exchange = _with(exchange, step)
                if isinstance(step, Waiting) and step.ahead:
                    html = render.waiting_html(step.ahead)
                elif isinstance(step, Waiting) and exchange.hits:
                    html = render.working_html(_reading(len(exchange.hits)))
                elif isinstance(step, Waiting | Resolved):
                    html = render.working_html(LOOKING)
                elif isinstance(step, Found):
                    html = render.working_html(_reading(len(step.hits)))
                    changed[side] = sources.found_html(step.hits, turn)
                elif isinstance(step, Token) and render.draft_text(exchange.draft):
                    html = render.draft_html(exchange.draft)
                elif isinstance(step, Ended):
                    ended = True
                    break
            if ended:
                break
            if current.discarded:  # a new conversation has begun; what it shows must not be drawn over
                return
            if html:
                shown_at = time.monotonic()
                yield {live: render.live_html(current.question, turn, html), **changed}
        if current.discarded:
            return
        if exchange.answer is None and not exchange.error:
            exchange = replace(exchange, stopped=True)
        talk = talk.and_then(exchange)
        last: dict[Any, Any] = {
            conversation: talk,
            past: render.conversation_html(talk),
            live: "",
            send: gr.Button(visible=True),
            halt: gr.Button(visible=False),
        }
        if exchange.answer or exchange.hits:
            last[side] = sources.sources_html(exchange, turn)
        yield last

    def act(talk: Conversation, current: Run | None, from_turn: int, event: gr.EventData) -> dict[Any, Any]:
        """What is clicked inside an answer, a question or an example."""
        wanted = event._data if isinstance(event._data, dict) else {}
        what, turn, text = wanted.get("do"), wanted.get("turn"), str(wanted.get("text") or "")
        if what == "ask":
            return begin(text, talk, current, from_turn)
        if not isinstance(turn, int) or not 0 <= turn < len(talk):
            return {notice: gr.skip()}
        exchange = talk.exchanges[turn]
        if what == "show":
            return {side: sources.sources_html(exchange, turn)}
        if what == "retry":
            return {key: value for key, value in begin(exchange.question, talk, current, turn).items() if key != box}
        if what in ("edit", "edit-resolved"):
            resolved = exchange.answer.resolved_question if exchange.answer else exchange.question
            return {
                box: exchange.question if what == "edit" else resolved,
                editing: turn,
                notice: _notice(EDITING, cancel=True),
            }
        if what == "edit-cancel":
            return {box: "", editing: -1, notice: _notice("")}
        return {notice: gr.skip()}

    def stop(current: Run | None) -> None:
        if current is not None:
            current.stop()

    def clear(current: Run | None) -> dict[Any, Any]:
        if current is not None:
            current.stop(discard=True)
        return {
            box: "",
            notice: _notice(""),
            conversation: Conversation(),
            run: None,
            editing: -1,
            past: render.welcome_html(examples()),
            live: "",
            side: sources.empty_html(),
            send: gr.Button(visible=True),
            halt: gr.Button(visible=False),
        }

    def swept(talk: Conversation, current: Run | None) -> dict[Any, Any]:
        """Wipes a picture of the old answer that was on its way while the new conversation began."""
        return {live: "", side: sources.empty_html()} if current is None and not len(talk) else {live: gr.skip()}

    def told(shown: str, before: str, talk: Conversation, current: Run | None) -> tuple[Any, Any]:
        """The status line, and the examples as soon as there are any, where no conversation has begun."""
        try:
            words = status() if status else ""
        except CitewellError as error:
            words = str(error)
        fresh = f'<p class="cw-state" role="status">{render.escape(words)}</p>'
        welcome = before if len(talk) or current is not None else render.welcome_html(examples())
        return gr.skip() if fresh == shown else fresh, gr.skip() if welcome == before else welcome

    plain: dict[str, Any] = {"apply_default_css": False, "js_on_load": None}
    page: gr.Blocks
    with gr.Blocks(title="Citewell", fill_width=True, analytics_enabled=False) as page:
        conversation = gr.State(Conversation())
        run = gr.State(None)
        editing = gr.State(-1)
        action = gr.HTML("", visible="hidden", js_on_load="window.citewellTell = (what) => trigger('input', what);")
        with gr.Row(elem_id="cw-top"):
            gr.HTML(BRAND, elem_id="cw-name", **plain)
            state = gr.HTML('<p class="cw-state" role="status"></p>', elem_id="cw-state", **plain)
            new = gr.Button("New conversation", elem_id="cw-new", size="sm", variant="secondary", scale=0)
        with gr.Row(elem_id="cw-main"):
            with gr.Column(elem_id="cw-left", min_width=300):
                # Not gr.Chatbot: it repeats each message's raw HTML in an aria-label, strips MathML and data
                # attributes, and sends and draws every earlier message again for each token.
                with gr.Column(elem_id="cw-chat"):
                    past = gr.HTML(render.welcome_html(examples()), elem_id="cw-past", **plain)
                    live = gr.HTML("", elem_id="cw-live", **plain)
                with gr.Column(elem_id="cw-ask"):
                    notice = gr.HTML(_notice(""), elem_id="cw-notice", **plain)
                    with gr.Row(elem_id="cw-form"):
                        box = gr.Textbox(
                            elem_id="cw-box",
                            label="Your question",
                            show_label=False,
                            container=False,
                            placeholder="Ask your papers…",
                            lines=1,
                            max_lines=6,
                            autofocus=True,
                            scale=1,
                        )
                        send = gr.Button("Ask", elem_id="cw-send", variant="primary", scale=0, min_width=72)
                        halt = gr.Button(
                            "Stop", elem_id="cw-stop", variant="stop", scale=0, min_width=72, visible=False
                        )
            with gr.Column(elem_id="cw-side", min_width=300):
                side = gr.HTML(sources.empty_html(), elem_id="cw-panel", **plain)

        quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
        at_once: dict[str, Any] = {**quiet, "queue": False, "trigger_mode": "multiple"}
        starting = [box, notice, conversation, run, editing, past, live, side, send, halt]
        asked = gr.on([box.submit, send.click], begin, [box, conversation, run, editing], starting, **at_once)
        acted = action.input(act, [conversation, run, editing], starting, **at_once)
        followed = [
            event.then(
                follow,
                [conversation, run],
                [conversation, past, live, side, send, halt],
                concurrency_limit=None,  # the engine's line tells those who wait their place
                trigger_mode="multiple",
                **quiet,
            )
            for event in (asked, acted)
        ]
        halt.click(stop, run, None, **at_once)
        # ``clear`` answers at once and by another way than ``follow``, whose last picture may come after it; what goes
        # through the queue comes after that.
        new.click(clear, run, starting, cancels=followed, **at_once).then(
            swept, [conversation, run], [live, side], concurrency_limit=None, trigger_mode="multiple", **quiet
        )
        if status is not None:
            page.load(told, [state, past, conversation, run], [state, past], **at_once)
            gr.Timer(3.0).tick(told, [state, past, conversation, run], [state, past], **at_once)
    page.queue(default_concurrency_limit=None)
    return page


def _with(exchange: Exchange, step: Step) -> Exchange:
    """The exchange after a step."""
    match step:
        case Found(hits):
            return replace(exchange, hits=hits, papers=papers_by_id(hit.paper for hit in hits))
        case Token(text):
            return replace(exchange, draft=exchange.draft + text)
        case Papers(papers):
            return replace(exchange, papers=exchange.papers | papers_by_id(papers))
        case Finished(answer):
            return replace(exchange, answer=answer)
        case Failed(message, _):
            return replace(exchange, error=message)
        case _:
            return exchange


def _notice(words: str, *, cancel: bool = False) -> str:
    undo = (
        ' <button type="button" class="cw-tool" data-do="edit-cancel" data-turn="0">Cancel</button>' if cancel else ""
    )
    return f'<p class="cw-notice" role="status">{render.escape(words)}{undo}</p>'


def _reading(found: int) -> str:
    if not found:
        return "No paper comes near; thinking about what to say"
    return "Reading the paper found" if found == 1 else f"Reading the {found} papers found"


def theme() -> gr.themes.Base:
    """Fonts of the system alone: a web font would be fetched from outside."""
    return gr.themes.Base(
        primary_hue="teal",
        neutral_hue="stone",
        font=("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "Liberation Sans", "sans-serif"),
        font_mono=("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "Liberation Mono", "monospace"),
    )


def start(
    page: gr.Blocks,
    *,
    host: str = "127.0.0.1",
    port: int = 7860,
    api: FastAPI | None = None,
    access: Access | None = None,
    upload_mb: int = 100,
) -> str:
    """Serves the page, and ``api`` beside it, in the background and returns its address; ``page.close()`` ends it.

    ``access`` is whom it lets in (None: everybody), ``upload_mb`` the megabytes of an uploaded file. Raises ServeError when the port is taken or the address cannot be used; never takes another port instead.
    ``port`` 0 takes any free one.
    """
    port = _free(host, port)
    script = (HERE / "page.js").read_text(encoding="utf-8")
    try:
        _, url, _ = page.launch(
            server_name=host,
            server_port=port,
            theme=theme(),
            css_paths=[HERE / "style.css"],
            head=f"<script>{script}</script>",
            footer_links=[],
            share=False,
            inbrowser=False,
            prevent_thread_lock=True,
            quiet=True,
            show_error=False,
            ssr_mode=False,
            pwa=False,
            mcp_server=False,
            enable_monitoring=False,
            max_file_size=f"{upload_mb}mb",
            # the gate knows who it is; the page reads it as gr.Request.username
            auth_dependency=user_of if access and access.accounts else None,
            app_kwargs=_around(api, access or Access()),
        )
    except OSError as error:
        raise ServeError(
            f"the page cannot be served at {host}:{port}: {error}; give another --host or --port"
        ) from error
    return url


def _around(api: FastAPI | None, access: Access) -> dict[str, Any]:
    """What makes the page's server answer for ``api`` too, before the page's own routes, which take the rest; and
    everything behind the gate."""
    gate = {"middleware": [Middleware(Gate, access)]}
    if api is None:
        return gate
    return gate | {
        "routes": [Route(path, api, max_body_size=MAX_BODY) for path in PATHS],
        "lifespan": lambda _: api.router.lifespan_context(api),
    }


def serve(
    page: gr.Blocks,
    *,
    host: str = "127.0.0.1",
    port: int = 7860,
    api: FastAPI | None = None,
    access: Access | None = None,
    upload_mb: int = 100,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serves as ``start`` does until interrupted; ``ready`` is told the address once it answers."""
    url = start(page, host=host, port=port, api=api, access=access, upload_mb=upload_mb)
    if ready is not None:
        ready(url)
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        pass
    finally:
        page.close(verbose=False)


def _free(host: str, port: int) -> int:
    if not 0 <= port <= 65535:
        raise ServeError(f"port {port} does not exist; give --port a number from 1 to 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
            return int(probe.getsockname()[1])
    except socket.gaierror as error:
        raise ServeError(f"the address {host!r} is not known ({error.strerror}); give --host 127.0.0.1") from error
    except PermissionError as error:
        raise ServeError(f"port {port} needs more rights than you have; give --port a number above 1023") from error
    except OSError as error:
        if error.errno in (98, 48, 10048):  # address in use on Linux, macOS, Windows
            raise ServeError(
                f"port {port} on {host} is in use by another program; stop that one, or give another --port"
            ) from error
        raise ServeError(
            f"the address {host}:{port} cannot be used ({error.strerror}); give --host 127.0.0.1"
        ) from error
