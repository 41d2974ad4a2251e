"""The page: Gradio wiring alone. What is shown is made by the pure functions beside this file."""

from __future__ import annotations

import os

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when gradio is imported

import socket
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import gradio as gr
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.routing import Route

from rag.errors import CitewellError, ServeError
from rag.feedback import Feedback
from rag.library import Library
from serve.api import PATHS
from serve.gate import MAX_BODY, Access, Gate, user_of
from serve.run import Engine, Run
from ui import render
from ui.chat_view import chat_view
from ui.check_view import check_view
from ui.conversation import Conversation
from ui.history import History
from ui.libraries import PICKER, Libraries, library_picker
from ui.library_view import Keeper, library_view
from ui.map_view import map_view
from ui.quality_view import Measured, quality_view
from ui.settings_view import Chooser, settings_view
from ui.wiring import AT_ONCE, PLAIN

HERE = Path(__file__).parent
SCRIPTS = ("page.js", "views.js", "talks.js", "library.js", "map.js", "settings.js", "libraries.js")
BRAND = (
    '<div class="cw-brand"><button type="button" class="cw-tool cw-talks-open" data-do="talks" aria-expanded="false" '
    'aria-label="Conversations">☰</button><h1>Citewell</h1></div>'
)
VIEWS = {
    "chat": "Chat",
    "library": "Library",
    "map": "Map",
    "check": "Check",
    "quality": "Quality",
    "settings": "Settings",
}
"""The views, in their order: the name in the address, and the words."""


def navigation(names: Collection[str]) -> str:
    """The ways to the views ``names``, and the theme."""
    links = "".join(f'<a href="#{name}" data-view-link="{name}">{VIEWS[name]}</a>' for name in VIEWS if name in names)
    return (
        f'<div class="cw-navs"><nav class="cw-nav" aria-label="Views">{links}</nav><button type="button" '
        'class="cw-tool cw-theme" data-do="theme" aria-label="Theme: system">◐</button></div>'
    )


def build_page(
    get_engine: Callable[[], Engine],
    *,
    examples: Callable[[], Sequence[str]],
    status: Callable[[], str] | None = None,
    history: History | None = None,
    keeper: Keeper | None = None,
    feedback: Feedback | None = None,
    chooser: Chooser | None = None,
    report: Callable[[], Measured | None] | None = None,
    libraries: Libraries | None = None,
    access: Access | None = None,
) -> gr.Blocks:
    """The page. ``get_engine`` is called for each question, off the event loop, and may raise CitewellError.

    ``examples`` gives questions to begin with; it may have none yet while the library is being opened.

    ``status`` says in one line what is going on ("71 papers", "Fetching the model, 2 minutes left"), or "".

    ``history`` keeps the conversations; without it they last as long as the page is served.

    ``keeper`` has the library to look into and to change; without it there is no such view.

    ``feedback`` keeps what readers think of answers.

    ``chooser`` has the settings; without it there is no such view. ``report`` gives the newest report of the evaluation;
    without it there is no such view. ``libraries`` are those that one may choose between; all of the above are then of
    the one that the page is served for. ``access`` is whom the server lets in, and how often somebody may ask.
    """

    def keeper_of(name: str) -> Keeper:
        assert keeper is not None, "there are views of a library only with a keeper"
        return libraries.of(name) if libraries is not None and name else keeper

    def opened(name: str) -> Library | None:
        return keeper_of(name).library() if keeper is not None else None

    def engine_of(name: str) -> Engine:
        return libraries.of(name).engine() if libraries is not None and name else get_engine()

    def examples_of(name: str) -> Sequence[str]:
        return libraries.of(name).examples() if libraries is not None and name else examples()

    def feedback_of(name: str) -> Feedback | None:
        return libraries.of(name).feedback if libraries is not None and name else feedback

    def words_of(name: str) -> str:
        if libraries is not None and name:
            return libraries.of(name).status()
        return status() if status else ""

    def told(shown: str, before: str, talk: Conversation, current: Run | None) -> tuple[Any, Any]:
        """The status line, and the examples as soon as there are any, where no conversation has begun."""
        try:
            words = words_of(talk.library)
            welcome = before if len(talk) or current is not None else render.welcome_html(examples_of(talk.library))
        except CitewellError as error:
            words, welcome = str(error), before
        fresh = f'<p class="cw-state" role="status">{render.escape(words)}</p>'
        return gr.skip() if fresh == shown else fresh, gr.skip() if welcome == before else welcome

    access = access or Access()
    views = {
        "chat",
        *(("library", "map", "check") if keeper is not None else ()),
        *(("quality",) if report is not None else ()),
        *(("settings",) if chooser is not None else ()),
    }
    page: gr.Blocks
    with gr.Blocks(title="Citewell", fill_width=True, analytics_enabled=False) as page:
        with gr.Row(elem_id="cw-top"):
            gr.HTML(BRAND, elem_id="cw-name", **PLAIN)
            if len(views) > 1:
                gr.HTML(navigation(views), elem_id="cw-nav", **PLAIN)
            if libraries is not None:
                gr.HTML(PICKER, elem_id="cw-picker", **PLAIN)
            state = gr.HTML('<p class="cw-state" role="status"></p>', elem_id="cw-state", **PLAIN)
            new = gr.Button("New conversation", elem_id="cw-new", size="sm", variant="secondary", scale=0)
        chat = chat_view(
            engine_of,
            examples_of=examples_of,
            history=history or History(),
            feedback_of=feedback_of,
            wait=access.wait,
            new=new,
        )
        if keeper is not None:
            library_view(keeper_of, chat.conversation)
            map_view(keeper_of)
            check_view(keeper_of, wait=access.wait)
            if libraries is not None:
                library_picker(libraries)
        if report is not None:
            quality_view(report, (lambda _: None) if access.shared else feedback_of, opened)
        if chooser is not None:
            settings_view(chooser, opened, shared=access.shared, signed_in=access.accounts is not None)
        if status is not None:
            looked_at = [state, chat.past, chat.conversation, chat.run]
            page.load(told, looked_at, [state, chat.past], **AT_ONCE)
            gr.Timer(3.0).tick(told, looked_at, [state, chat.past], **AT_ONCE)
    page.queue(default_concurrency_limit=None)
    return page


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
    script = "\n".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    try:
        _, url, _ = page.launch(
            server_name=host,
            server_port=port,
            theme=theme(),
            css_paths=[HERE / "style.css"],
            head=f"<style>{(HERE / 'frame.css').read_text(encoding='utf-8')}</style><script>{script}</script>",
            footer_links=[],
            share=False,
            inbrowser=False,
            prevent_thread_lock=True,
            quiet=True,
            show_error=False,
            _frontend=False,  # no look at itself, which a busy machine would fail
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
