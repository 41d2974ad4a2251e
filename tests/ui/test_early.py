"""What the page says before the language model is there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.embed import Embedder
from rag.records import Finished, Found
from serve.run import Preparing
from tests.ui.test_library import Desk
from tests.ui.test_page import QUESTION, ask, served
from ui.early import Early
from ui.pace import Pace, spoken


@pytest.fixture
def desk(tmp_path: Path, embedder: Embedder) -> Desk:
    source = tmp_path / "first.txt"
    source.write_text(
        "We propose DeepGraph, a method that prunes the edges of large graphs before training starts.\n\n"
        "We propose CookNet, a method that learns recipes from pictures of food for most dishes.\n"
    )
    return Desk(tmp_path, source, embedder)


def test_sources_come_as_soon_as_the_library_is_open_and_the_answer_when_the_model_is_there(
    desk: Desk, engine: Any
) -> None:
    done, opened = threading.Event(), threading.Event()
    early = Early(
        done,
        lambda: engine,
        opened=lambda: desk.library() if opened.is_set() else None,
        status=lambda: "Fetching x",
        papers=1,
    )
    events = early.stream("How are graphs pruned?")
    assert next(events) == Preparing("Fetching x")
    opened.set()
    found = next(events)
    assert isinstance(found, Found)
    assert [hit.paper.label for hit in found.hits] == ["DeepGraph"]
    assert next(events) == Preparing("Fetching x")
    assert engine.asked == []
    done.set()
    assert isinstance(list(events)[-1], Finished)


@pytest.mark.browser
def test_the_page_shows_sources_and_what_it_waits_for_and_then_answers(
    opened: Callable[..., Any], desk: Desk, engine: Any
) -> None:
    done = threading.Event()
    early = Early(done, lambda: engine, opened=desk.library, status=lambda: "Loading the model", papers=6)
    with served(lambda: early) as url:
        page = opened(url)
        ask(page, QUESTION)
        page.wait_for_selector("#cw-live >> text=Loading the model. Your question is answered after that.")
        page.wait_for_selector(".cw-found >> text=DeepGraph")
        done.set()
        page.wait_for_selector("#cw-past .cw-ref")
    assert [question for question, _ in engine.asked] == [QUESTION]


def test_what_is_left_is_foretold_by_the_pace_of_the_stage() -> None:
    now = 100.0
    pace = Pace(lambda: now)
    assert pace.left("model", 500, 1000) == ""  # fetched before
    now += 2
    assert pace.left("model", 600, 1000) == ""  # too early to tell
    now += 2
    assert pace.left("model", 700, 1000) == "about 5 s left"
    assert pace.left("embed", 0, 87_000) == ""
    now += 10
    assert pace.left("embed", 2_000, 87_000) == "about 7 minutes left"
    assert pace.left("embed", 87_000, 87_000) == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.1, "about 5 s left"), (54, "about 55 s left"), (70, "about 1 minute left"), (7000, "about 2 hours left")],
)
def test_a_time_to_come_is_said_roughly(seconds: float, said: str) -> None:
    assert spoken(seconds) == said
