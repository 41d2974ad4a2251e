"""The list of kept conversations as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from ui.conversation import Conversation
from ui.export import FORMATS, File
from ui.history import MOST_LISTED, Entry
from ui.render import attribute, escape

HEAD = (
    '<div class="cw-talks-head"><h2>Conversations</h2>'
    '<button type="button" class="cw-tool cw-close" data-do="talks" aria-label="Close the list">Close</button></div>'
    '<input type="search" class="cw-find" data-input="find-talks" data-to="chat" aria-label="Search conversations" '
    'placeholder="Search" autocomplete="off">'
)


def talks_html(entries: Sequence[Entry], open_key: str, *, now: float, search: str = "") -> str:
    """The conversations under the days they were last held; ``open_key`` is the one on the page."""
    if not entries:
        none = "No conversation holds these words." if search else "What you ask is kept here."
        return f'<p class="cw-hint">{none}</p>'
    groups = []
    for day, members in groupby(entries, key=lambda entry: _day(entry.changed, now)):
        items = "".join(_item(entry, entry.key == open_key) for entry in members)
        groups.append(f'<h3 class="cw-day">{day}</h3><ul class="cw-talks">{items}</ul>')
    if len(entries) >= MOST_LISTED:
        groups.append('<p class="cw-hint">Older ones are found by searching.</p>')
    return "".join(groups)


def _item(entry: Entry, is_open: bool) -> str:
    key, title = attribute(entry.key), escape(entry.title)
    current = ' aria-current="true"' if is_open else ""
    return (
        f'<li class="cw-talk-item" data-key="{key}"{current}>'
        f'<a class="cw-talk-link" href="#talk/{key}" title="{attribute(entry.title)}">{title}</a>'
        f'<span class="cw-talk-tools"><button type="button" class="cw-tool" data-do="rename-talk" '
        f'aria-label="Rename “{attribute(entry.title)}”">Rename</button>'
        f'<button type="button" class="cw-tool" data-do="delete-talk" aria-label="Delete “{attribute(entry.title)}”">'
        "Delete</button></span></li>"
    )


def head_html(talk: Conversation) -> str:
    """The title of the conversation on the page and the ways to take it away; nothing before its first answer."""
    if not len(talk):
        return ""
    ways = "".join(
        f'<li><button type="button" class="cw-choice" data-do="export" data-text="{name}">{escape(way.words)}'
        "</button></li>"
        for name, way in FORMATS.items()
    )
    return (
        f'<div class="cw-talkhead" data-key="{attribute(talk.key)}"><h2 title="{attribute(talk.title)}">'
        f'{escape(talk.title)}</h2><details class="cw-menu"><summary>Export</summary><ul>{ways}</ul></details></div>'
    )


def file_html(file: File, number: int) -> str:
    """A file that the browser is to save; ``number`` tells it from the one before."""
    return (
        f'<span class="cw-file" data-number="{number}" data-name="{attribute(file.name)}" data-kind="{file.kind}" '
        f'data-content="{attribute(file.text)}">{number}</span>'
    )


def _day(then: float, now: float) -> str:
    days = (datetime.fromtimestamp(now).date() - datetime.fromtimestamp(then).date()).days
    if days < 1:
        return "Today"
    if days == 1:
        return "Yesterday"
    return "The last 7 days" if days < 8 else "Earlier"
