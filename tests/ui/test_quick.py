"""What a long conversation costs, and that the page and the server behind it ask nobody outside."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.records import Finished, Found
from serve.gate import Access
from tests.ui.test_page import QUESTION, ask, served
from ui.conversation import RECENT, Conversation, Exchange
from ui.history import History


@pytest.mark.browser
def test_a_turn_after_300_others_sends_and_draws_no_more_than_one_after_40(
    opened: Callable[..., Any], engine: Any
) -> None:
    events = list(engine.stream(QUESTION))
    answer = next(e.answer for e in events if isinstance(e, Finished))
    hits = next(e.hits for e in events if isinstance(e, Found))
    engine.delay = 0.0
    history = History()
    turns = {n: Conversation(tuple(Exchange(f"number {i}?", answer, hits) for i in range(n))) for n in (40, 300)}
    keys = {n: history.keep("", talk).key for n, talk in turns.items()}
    sent: dict[int, int] = {}
    drawn: dict[int, int] = {}
    with served(lambda: engine, history=history) as url:
        for n, key in keys.items():
            page = opened(f"{url}#talk/{key}", ready=".cw-turn .cw-ref")
            page.wait_for_function(f"document.querySelectorAll('#cw-past .cw-turn').length === {RECENT}")
            wire = page.context.new_cdp_session(page)
            counted: list[int] = []
            wire.on("Network.dataReceived", lambda event, counted=counted: counted.append(event["dataLength"]))
            wire.send("Network.enable")
            ask(page, QUESTION)
            page.wait_for_selector(f'#cw-past [data-turn="{n}"] .cw-ref')
            sent[n] = sum(counted)
            drawn[n] = page.evaluate("document.querySelectorAll('#cw-past *').length")
            page.context.close()
    assert 0 < sent[300] < 1.5 * sent[40]  # how many pictures of the draft were sent differs
    assert drawn[300] == drawn[40]


@pytest.mark.browser
def test_twenty_people_at_once_each_see_their_place_and_none_is_lost(opened: Callable[..., Any], engine: Any) -> None:
    engine.delay = 0.0
    with served(lambda: engine) as url:
        # twenty people have twenty machines: here one draws all the pages, and would do little else than move their dots
        first, *others = (opened(url, width=1000, height=600, still=True) for _ in range(20))
        ask(first, "an endless one")
        first.wait_for_selector(".cw-draft")
        for place, page in enumerate(others, 1):
            ask(page, QUESTION)
            words = "One question is" if place == 1 else f"{place} questions are"
            page.wait_for_selector(f"text={words} ahead of yours")
        first.click("#cw-stop")
        for page in others:
            page.wait_for_selector("#cw-past .cw-ref")
    assert engine.most_running == 1
    assert [question for question, _ in engine.asked] == ["an endless one"] + 19 * [QUESTION]


@pytest.mark.browser
def test_neither_the_page_nor_the_server_asks_anyone_outside(
    opened: Callable[..., Any], engine: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[object] = []
    connect = socket.socket.connect

    def watched(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            asked.append(address)
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", watched)
    with served(lambda: engine, history=History(tmp_path / "t.sqlite"), access=Access(this_machine_only=True)) as url:
        page = opened(url)  # which watches what the browser asks for
        ask(page, QUESTION)
        page.wait_for_selector("#cw-past .cw-ref")
        page.click('.cw-ref[data-ref="2"]')
        page.wait_for_selector("mark.cw-flash")
    assert asked == []
