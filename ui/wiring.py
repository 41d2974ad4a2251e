"""What the views share of their wiring."""

from __future__ import annotations

from typing import Any

import gradio as gr

from ui.render import escape

PLAIN: dict[str, Any] = {"apply_default_css": False, "js_on_load": None}
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
AT_ONCE: dict[str, Any] = {**QUIET, "queue": False, "trigger_mode": "multiple"}


def owner_of(request: gr.Request | None) -> str:
    """Whose conversations are shown: the name signed in with, "" where nobody has to sign in."""
    return str(getattr(request, "username", None) or "")


def asker_of(request: gr.Request) -> str:
    """Whose questions are counted: the user's, or an address's where nobody has to sign in."""
    return owner_of(request) or str(getattr(request.client, "host", ""))


def way(name: str) -> gr.HTML:
    """The hidden component by which page.js tells Python what was done in the view ``name``."""
    told = f"(window.citewellWays ??= {{}}).{name} = (what) => trigger('input', what);"
    return gr.HTML("", visible="hidden", js_on_load=told)


def functions(name: str, *given: Any) -> gr.HTML:
    """The hidden component by which page.js asks Python for what the view ``name`` shows; each takes one value."""
    told = f"(window.citewellServers ??= {{}}).{name} = server;"
    return gr.HTML("", visible="hidden", server_functions=list(given), js_on_load=told)


def wanted(event: gr.EventData) -> dict[str, Any]:
    """What page.js told: ``do`` and, as the case may be, ``turn``, ``text``, ``key``."""
    return event._data if isinstance(event._data, dict) else {}


def notice_html(words: str, *, cancel: bool = False) -> str:
    """One line above the question box."""
    undo = (
        ' <button type="button" class="cw-tool" data-do="edit-cancel" data-turn="0">Cancel</button>' if cancel else ""
    )
    return f'<p class="cw-notice" role="status">{escape(words)}{undo}</p>'
