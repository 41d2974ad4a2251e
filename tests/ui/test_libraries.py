"""Several libraries on one page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.build import sync_library
from rag.config import Config, load_config
from rag.embed import Embedder
from rag.errors import ConfigError, IndexStateError
from rag.feedback import Feedback
from tests.ui.test_library import Desk
from tests.ui.test_page import until
from ui.app import build_page, start
from ui.chat import Preparation, Preparations
from ui.conversation import Conversation, Exchange
from ui.history import History
from ui.library_view import EMPTY

PRUNE = "We propose DeepGraph, a method that prunes the edges of large graphs before training starts.\n"
COOK = "We propose CookNet, a method that learns recipes from pictures of food for most dishes.\n"


def test_a_new_library_is_empty_and_says_so_and_a_name_is_taken_once(tmp_path: Path) -> None:
    libraries = Preparations(Preparation(Config(data=tmp_path, library="mine"), []))
    assert libraries.names() == ["mine"]
    libraries.create("talks")
    assert libraries.names() == ["mine", "talks"]
    assert libraries.of("talks").library() is None
    assert libraries.of("talks").missing == EMPTY
    assert libraries.of("talks").uploads == tmp_path / "uploads" / "talks"
    with pytest.raises(IndexStateError, match="Nothing is in this library yet"):
        libraries.of("talks").engine()
    with pytest.raises(ConfigError, match="there is a library 'TALKS' already"):
        libraries.create("TALKS")
    with pytest.raises(ConfigError, match="cannot be used"):
        libraries.create("../x")
    with pytest.raises(IndexStateError, match="there is no library 'gone'"):
        libraries.of("gone")


def test_a_changed_language_model_and_budget_are_taken_over_by_every_library(
    embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where the settings are kept
    settings = {"data": tmp_path, "llm_url": "http://127.0.0.1:1/v1", "llm_model": "one"}
    for name, text in (("mine", PRUNE), ("talks", COOK)):
        (tmp_path / f"{name}.txt").write_text(text)
        sync_library(load_config(settings | {"library": name}), [tmp_path / f"{name}.txt"])
    first = Preparation(load_config(settings | {"library": "mine"}), [])
    libraries = Preparations(first)
    first.start()
    libraries.create("empty")
    talks, empty = libraries.of("talks"), libraries.of("empty")
    talks.wait()
    assert (first.status(), talks.status(), empty.status()) == ("1 paper · one", "1 paper · one", EMPTY)
    first.choose({"llm_model": "two", "evidence_tokens": 400})
    until(lambda: talks.status() != "1 paper · one")
    assert (first.status(), talks.status(), empty.status()) == ("1 paper · two", "1 paper · two", EMPTY)
    assert [(one.config.library, one.config.llm_model, one.config.evidence_tokens) for one in (talks, empty)] == [
        ("talks", "two", 400),
        ("empty", "two", 400),
    ]
    empty.change([tmp_path / "talks.txt"], forget=[], on_progress=lambda *_: None)
    empty.wait()
    assert empty.status() == "1 paper · two"


def test_a_conversation_is_listed_with_its_library_and_remembers_it(tmp_path: Path) -> None:
    history = History(tmp_path / "t.sqlite", library="mine")
    here = history.keep("", Conversation((Exchange("here?"),)))
    there = history.keep("", Conversation((Exchange("there?"),), library="talks"))
    assert [entry.key for entry in history.entries("")] == [here.key]
    assert [entry.key for entry in history.entries("", library="talks")] == [there.key]
    found = [history.open("", key) for key in (here.key, there.key)]
    assert [talk.library for talk in found if talk is not None] == ["", "talks"]
    history.close()
    served_for_the_other = History(tmp_path / "t.sqlite", library="talks").open("", there.key)
    assert served_for_the_other is not None
    assert served_for_the_other.library == ""


class Held(Desk):
    """A small library that answers by script."""

    def __init__(self, folder: Path, text: str, embedder: Embedder, engine: Any) -> None:
        folder.mkdir()
        (folder / "one.txt").write_text(text)
        super().__init__(folder, folder / "one.txt", embedder)
        self.feedback = Feedback(folder)
        self._engine = engine
        self.asked: list[str] = []

    def engine(self) -> Any:
        self.asked.append("an engine")
        return self._engine

    def examples(self) -> list[str]:
        return ["What is this about?"]

    def status(self) -> str:
        return f"{len(self.library())} papers"


class Two:
    """Two libraries, and what is created."""

    first = "mine"

    def __init__(self, mine: Held, talks: Held) -> None:
        self.held = {"mine": mine, "talks": talks}

    def names(self) -> list[str]:
        return sorted(self.held)

    def of(self, name: str) -> Held:
        return self.held[name]

    def create(self, name: str) -> None:
        raise ConfigError(f"there is a library {name!r} already")


@pytest.mark.browser
def test_the_picker_changes_the_library_of_every_view_and_a_conversation_brings_its_own_back(
    opened: Callable[..., Any], engine: Any, embedder: Embedder, tmp_path: Path
) -> None:
    mine, talks = (Held(tmp_path / n, text, embedder, engine) for n, text in (("a", PRUNE), ("b", COOK)))
    page = build_page(
        lambda: engine,
        examples=mine.examples,
        status=mine.status,
        history=History(library="mine"),
        keeper=mine,
        libraries=Two(mine, talks),  # type: ignore[arg-type]
    )
    try:
        tab = opened(f"{start(page, port=0)}#library", ready=".cw-window .cw-row")
        tab.wait_for_selector(".cw-window >> text=DeepGraph")
        tab.wait_for_selector("#cw-pick:visible")
        tab.select_option("#cw-pick", "talks")
        tab.wait_for_selector(".cw-window >> text=CookNet")
        assert tab.locator(".cw-window .cw-row").count() == 1
        tab.fill("#cw-library-name", "talks")
        tab.click("[data-do=new-library]")
        tab.wait_for_selector("text=there is a library 'talks' already")
        tab.click("[data-view-link=chat]")
        tab.fill("#cw-box textarea", "How does FiedlerPrune work?")
        tab.press("#cw-box textarea", "Enter")
        tab.wait_for_selector("#cw-past .cw-ref")
        tab.wait_for_function("location.hash.startsWith('#talk/')")
        assert (mine.asked, talks.asked) == ([], ["an engine"])
        address = tab.evaluate("location.href")
        tab.select_option("#cw-pick", "")
        tab.wait_for_selector(".cw-talk-link", state="detached")
        other = opened(address, ready="#cw-past .cw-ref")
        other.wait_for_function("document.querySelector('#cw-pick').value === 'talks'")
        other.click("[data-view-link=library]")
        other.wait_for_selector(".cw-window >> text=CookNet")
    finally:
        page.close(verbose=False)
