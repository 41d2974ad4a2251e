"""Asking and being answered: the wiring of the conversation, its list and its sources."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr

from rag.errors import CitewellError
from rag.feedback import Feedback
from rag.filters import EVERYTHING
from rag.records import Found, Resolved, Token, Waiting
from serve.run import Ended, Engine, Preparing, Run, Step
from ui import render, sources, talks
from ui.conversation import Conversation, Exchange
from ui.examples import suggestions_of
from ui.export import FORMATS, export
from ui.history import History
from ui.settings import LANGUAGES, chips_html, filters_of
from ui.wiring import AT_ONCE, PLAIN, QUIET, asker_of, notice_html, owner_of, wanted, way

FRAME = 0.08
"""Seconds between two pictures of a text that is being written."""
EMPTY_QUESTION = "Type a question first, or pick one of the examples."
BUSY = "Still answering. Stop it first, or wait until it is done."
EDITING = "Editing an earlier question: sending it starts again from there."
GONE = "That conversation is not here any more."
TOO_MANY = "That was one question too many in a minute. Try again in {seconds} s."
LOOKING = "Looking it up"


@dataclass(frozen=True, slots=True)
class ChatView:
    """What the rest of the page works with: the components that its status line looks at and fills."""

    conversation: gr.State
    run: gr.State
    past: gr.HTML


def chat_view(
    engine_of: Callable[[str], Engine],
    *,
    examples_of: Callable[[str], Sequence[str]],
    history: History,
    feedback_of: Callable[[str], Feedback | None],
    wait: Callable[[str], float],
    new: gr.Button,
) -> ChatView:
    """Builds the view where it is called, inside the page. ``new`` is the button that begins a new conversation;
    ``wait`` counts a question of somebody and gives the seconds to wait where it was one too many."""

    def begin(
        question: str, talk: Conversation, current: Run | None, from_turn: int, language: str, request: gr.Request
    ) -> dict[Any, Any]:
        """Takes a question on; ``follow`` then shows what becomes of it."""
        question = (question or "").encode("utf-8", "replace").decode("utf-8").strip()
        if not question:
            return {notice: notice_html(EMPTY_QUESTION)}
        if current is not None and current.running:
            return {notice: notice_html(BUSY)}
        if seconds := wait(asker_of(request)):
            return {notice: notice_html(TOO_MANY.format(seconds=math.ceil(seconds)))}
        if from_turn >= 0:
            talk = talk.before(from_turn)
        started = Run(partial(engine_of, talk.library), question, talk.turns(), where=talk.where, language=language)
        return {
            box: "",
            notice: notice_html(""),
            conversation: talk,
            run: started,
            editing: -1,
            past: render.conversation_html(talk),
            live: render.live_html(question, len(talk), render.working_html(LOOKING)),
            send: gr.Button(visible=False),
            halt: gr.Button(visible=True),
        }

    async def follow(
        talk: Conversation, current: Run | None, search: str, request: gr.Request
    ) -> AsyncIterator[dict[Any, Any]]:
        """Shows a run from its first step to its last, and keeps what came of it."""
        if current is None:
            yield {live: ""}  # also wipes a late picture of what was going on when another conversation was opened
            return
        if not current.claim():
            yield {live: gr.skip()}
            return
        turn = len(talk)
        exchange = Exchange(current.question, where=current.where, language=current.language)
        shown_at, ended = 0.0, False
        try:
            async for first in current.steps():
                steps: list[Step] = [first]
                if isinstance(first, Token):
                    await asyncio.sleep(max(0.0, shown_at + FRAME - time.monotonic()))
                    steps += current.ready()  # and whether somebody stopped it meanwhile
                html = ""
                changed: dict[Any, Any] = {}
                for step in steps:
                    exchange = exchange.after(step)
                    if isinstance(step, Waiting) and step.ahead:
                        html = render.waiting_html(step.ahead)
                    elif isinstance(step, Waiting) and exchange.hits:
                        html = render.working_html(_reading(len(exchange.hits)))
                    elif isinstance(step, Preparing):
                        html = render.preparing_html(step.words)
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
        finally:
            if not ended and not current.discarded:  # the browser has gone: what was asked is there when it comes back
                with contextlib.suppress(CitewellError):
                    history.keep(owner_of(request), talk.and_then(replace(exchange, stopped=True)))
        if current.discarded:
            return
        if exchange.answer is None and not exchange.error:
            exchange = replace(exchange, stopped=True)
        talk = talk.and_then(exchange)
        said = ""
        try:
            talk = await asyncio.to_thread(history.keep, owner_of(request), talk)
        except CitewellError as error:
            said = str(error)
        last = {
            **pictured(talk),
            live: "",
            listing: listed(talk, search, request),
            notice: notice_html(said) if said else gr.skip(),
            send: gr.Button(visible=True),
            halt: gr.Button(visible=False),
        }
        if exchange.answer or exchange.hits:
            last[side] = sources.sources_html(exchange, turn)
        yield last

    def act(
        talk: Conversation,
        current: Run | None,
        from_turn: int,
        search: str,
        saved: int,
        language: str,
        event: gr.EventData,
        request: gr.Request,
    ) -> dict[Any, Any]:
        """What is clicked inside an answer, a question, an example or the list of conversations."""
        told = wanted(event)
        what, turn, text, key = (
            told.get("do"),
            told.get("turn"),
            str(told.get("text") or ""),
            str(told.get("key") or ""),
        )
        try:
            if what == "ask":
                return begin(text, talk, current, from_turn, language, request)
            if what == "fill":
                return {box: text, editing: -1}
            if what == "edit-cancel":
                return {box: "", editing: -1, notice: notice_html("")}
            if what == "filter":
                return narrowed(replace(talk, where=filters_of(json.loads(text))), language)
            if what == "language" and text in LANGUAGES:
                return {spoken: text, **narrowed(talk, text)}
            if what == "earlier":
                return pictured(talk.with_earlier())
            if what == "use":
                return emptied(text, current, language, "", request)
            if what == "list":
                return {listing: listed(talk, search, request)}
            if what == "find-talks":
                return {finding: text, listing: listed(talk, text, request)}
            if what == "open":
                return opened(text, talk, current, search, language, request)
            if what == "rename-talk":
                title = history.rename(owner_of(request), key, text)
                if title and key == talk.key:
                    talk = replace(talk, title=title)
                return {conversation: talk, head: talks.head_html(talk), listing: listed(talk, search, request)}
            if what == "delete-talk":
                history.delete(owner_of(request), key)
                if key == talk.key:
                    return emptied(talk.library, current, language, search, request)
                return {listing: listed(talk, search, request)}
            if what == "export" and text in FORMATS:
                return {saving: talks.file_html(export(talk, text), saved + 1), exported: saved + 1}
        except CitewellError as error:
            return {notice: notice_html(str(error))}
        if not isinstance(turn, int) or not 0 <= turn < len(talk):
            return {notice: gr.skip()}
        exchange = talk.exchanges[turn]
        try:
            if what in ("thumb", "thumb-why"):
                return thought(talk, turn, exchange, text, request, why=what == "thumb-why")
        except CitewellError as error:
            return {notice: notice_html(str(error))}
        if what == "show":
            return {side: sources.sources_html(exchange, turn)}
        if what == "retry":
            again = begin(exchange.question, talk, current, turn, language, request)
            return {key: value for key, value in again.items() if key != box}
        if what in ("edit", "edit-resolved"):
            resolved = exchange.answer.resolved_question if exchange.answer else exchange.question
            return {
                box: exchange.question if what == "edit" else resolved,
                editing: turn,
                notice: notice_html(EDITING, cancel=True),
            }
        return {notice: gr.skip()}

    def opened(
        key: str, talk: Conversation, current: Run | None, search: str, language: str, request: gr.Request
    ) -> dict[Any, Any]:
        """Another conversation in the place of the one on the page."""
        if key == talk.key:
            return {notice: gr.skip()}
        found = history.open(owner_of(request), key)
        if found is None:
            return {notice: notice_html(GONE), head: talks.head_html(talk), listing: listed(talk, search, request)}
        last = found.exchanges[-1]
        return {
            **clear(found.library, current, language),
            **pictured(found),
            **narrowed(found, language),
            side: sources.sources_html(last, len(found) - 1),
            listing: listed(found, search, request),
        }

    def thought(
        talk: Conversation, turn: int, exchange: Exchange, text: str, request: gr.Request, *, why: bool
    ) -> dict[Any, Any]:
        """Keeps what the reader thinks of an answer; the same thumb again takes it back."""
        answer = exchange.answer
        if answer is None or (not why and text not in ("up", "down")):
            return {notice: gr.skip()}
        if why:
            exchange = replace(exchange, why=text.strip())
        elif text == exchange.thumb:
            exchange = replace(exchange, thumb="", why="")
        else:
            exchange = replace(exchange, thumb="up" if text == "up" else "down", why="")
        if (feedback := feedback_of(talk.library)) is not None:
            feedback.add(answer, exchange.thumb or "withdrawn", exchange.why, history=talk.before(turn).turns())
        talk = talk.with_exchange(turn, exchange)
        history.amend(owner_of(request), talk, turn)
        return pictured(talk)

    def pictured(talk: Conversation) -> dict[Any, Any]:
        suggestions = suggestions_of(talk.exchanges[-1], [e.question for e in talk.exchanges]) if len(talk) else []
        return {
            conversation: talk,
            past: render.conversation_html(talk, suggestions=suggestions),
            head: talks.head_html(talk),
        }

    def listed(talk: Conversation, search: str, request: gr.Request) -> str:
        try:
            entries = history.entries(owner_of(request), search, library=talk.library)
        except CitewellError as error:
            return notice_html(str(error))
        return talks.talks_html(entries, talk.key, now=time.time(), search=search)

    def stop(current: Run | None) -> None:
        if current is not None:
            current.stop()

    def narrowed(talk: Conversation, language: str) -> dict[Any, Any]:
        """Shows what the next question is narrowed down to."""
        return {conversation: talk, within: chips_html(talk.where, language, talk.library)}

    def clear(library: str, current: Run | None, language: str) -> dict[Any, Any]:
        """No conversation yet with ``library``."""
        if current is not None:
            current.stop(discard=True)
        return {
            box: "",
            notice: notice_html(""),
            **narrowed(Conversation(library=library), language),
            run: None,
            editing: -1,
            head: "",
            past: render.welcome_html(examples_of(library)),
            live: "",
            side: sources.empty_html(),
            send: gr.Button(visible=True),
            halt: gr.Button(visible=False),
        }

    def emptied(library: str, current: Run | None, language: str, search: str, request: gr.Request) -> dict[Any, Any]:
        return {**clear(library, current, language), listing: listed(Conversation(library=library), search, request)}

    def begin_anew(
        talk: Conversation, current: Run | None, search: str, language: str, request: gr.Request
    ) -> dict[Any, Any]:
        return emptied(talk.library, current, language, search, request)

    def swept(talk: Conversation, current: Run | None) -> dict[Any, Any]:
        """Wipes a picture of the old answer that was on its way while the new conversation began."""
        return {live: "", side: sources.empty_html()} if current is None and not len(talk) else {live: gr.skip()}

    conversation = gr.State(Conversation())
    run = gr.State(None)
    editing = gr.State(-1)
    finding = gr.State("")
    exported = gr.State(0)
    spoken = gr.State("")
    action = way("chat")
    saving = gr.HTML("", elem_id="cw-saving", **PLAIN)
    with gr.Row(elem_id="cw-main", elem_classes="cw-view"):
        with gr.Column(elem_id="cw-talks", min_width=200):
            gr.HTML(talks.HEAD, elem_id="cw-talks-head", **PLAIN)
            listing = gr.HTML("", elem_id="cw-talks-list", **PLAIN)
        with gr.Column(elem_id="cw-left", min_width=300):
            head = gr.HTML("", elem_id="cw-head", **PLAIN)
            # Not gr.Chatbot: it repeats each message's raw HTML in an aria-label, strips MathML and data
            # attributes, and sends and draws every earlier message again for each token.
            with gr.Column(elem_id="cw-chat"):
                past = gr.HTML(render.welcome_html(examples_of("")), elem_id="cw-past", **PLAIN)
                live = gr.HTML("", elem_id="cw-live", **PLAIN)
            with gr.Column(elem_id="cw-ask"):
                notice = gr.HTML(notice_html(""), elem_id="cw-notice", **PLAIN)
                within = gr.HTML(chips_html(EVERYTHING, ""), elem_id="cw-within", **PLAIN)
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
                    halt = gr.Button("Stop", elem_id="cw-stop", variant="stop", scale=0, min_width=72, visible=False)
        with gr.Column(elem_id="cw-side", min_width=300):
            side = gr.HTML(sources.empty_html(), elem_id="cw-panel", **PLAIN)

    starting = [box, notice, conversation, run, editing, head, past, live, side, send, halt, within]
    asked = gr.on([box.submit, send.click], begin, [box, conversation, run, editing, spoken], starting, **AT_ONCE)
    acted = action.input(
        act,
        [conversation, run, editing, finding, exported, spoken],
        [*starting, listing, finding, saving, exported, spoken],
        **AT_ONCE,
    )
    followed = [
        event.then(
            follow,
            [conversation, run, finding],
            [conversation, head, past, live, side, listing, notice, send, halt],
            concurrency_limit=None,  # the engine's line tells those who wait their place
            trigger_mode="multiple",
            **QUIET,
        )
        for event in (asked, acted)
    ]
    halt.click(stop, run, None, **AT_ONCE)
    # ``clear`` answers at once and by another way than ``follow``, whose last picture may come after it; what goes
    # through the queue comes after that.
    new.click(begin_anew, [conversation, run, finding, spoken], [*starting, listing], cancels=followed, **AT_ONCE).then(
        swept, [conversation, run], [live, side], concurrency_limit=None, trigger_mode="multiple", **QUIET
    )
    return ChatView(conversation, run, past)


def _reading(found: int) -> str:
    if not found:
        return "No paper comes near; thinking about what to say"
    return "Reading the paper found" if found == 1 else f"Reading the {found} papers found"
