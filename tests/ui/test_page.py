"""The page in headless Chromium, with a scripted engine behind it."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag.errors import ModelError, ServeError
from rag.feedback import Feedback
from rag.records import Finished, Found
from ui.app import SCRIPTS, build_page, start
from ui.chat_view import EMPTY_QUESTION
from ui.conversation import Conversation, Exchange
from ui.history import History

QUESTION = "How does FiedlerPrune take cross-layer dependencies into account?"
EXAMPLE = "Which method needs no training?"


@contextlib.contextmanager
def served(get_engine: Callable[[], Any], **options: Any) -> Iterator[str]:
    page = build_page(get_engine, examples=lambda: [EXAMPLE, "哪种方法无需训练?"], **options)
    url = start(page, port=0)
    try:
        yield url
    finally:
        page.close(verbose=False)


def ask(page: Any, question: str) -> None:
    page.fill("#cw-box textarea", question)
    page.press("#cw-box textarea", "Enter")


def answered(page: Any, turns: int = 1) -> None:
    page.wait_for_function(f"document.querySelectorAll('#cw-past .cw-turn').length === {turns}")


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)


def comes_into_view(page: Any, selector: str) -> None:
    page.wait_for_function(
        """(selector) => {
            const element = document.querySelector(selector);
            const box = element ? element.getClientRects()[0] : undefined;
            if (box === undefined) return false;
            const at = document.elementFromPoint(box.left + 3, box.top + box.height / 2);
            return box.top >= 0 && box.bottom <= innerHeight && at !== null && at.closest(selector) !== null;
        }""",
        arg=selector,
    )


@pytest.mark.browser
def test_a_question_shows_sources_then_words_then_a_checked_answer_whose_markers_open_their_quotes(
    opened: Callable[..., Any], engine: Any
) -> None:
    engine.hold("words", "finished")
    with served(lambda: engine, status=lambda: "3 papers") as url:
        page = opened(url)
        page.wait_for_function("document.querySelector('.cw-state').textContent === '3 papers'")
        ask(page, QUESTION)
        page.wait_for_selector(".cw-found")
        assert page.locator(".cw-draft").count() == 0, "the sources come before the first word"
        assert page.locator(".cw-card").count() == 3
        engine.release("words")
        page.wait_for_function("(document.querySelector('.cw-draft') || document.body).innerText.includes('1998')")
        draft = page.inner_text(".cw-draft")
        assert draft.startswith("FiedlerPrune")
        assert "[4]" not in draft
        assert page.locator("#cw-chat a").count() == 0
        engine.release("finished")
        answered(page)
        assert page.locator(".cw-draft").count() == 0
        assert page.locator("#cw-past .cw-partial .cw-claim").first.inner_text().startswith("Ghosted Layers needs")
        assert page.locator("#cw-past math").count() == 1
        page.set_viewport_size({"width": 1440, "height": 500})
        page.click('.cw-ref[data-ref="2"]')
        page.wait_for_selector("mark.cw-flash")
        marked = page.locator('mark[data-refs="2"]')
        assert marked.inner_text() == "compatibility with quantization, and post-pruning fine-tuning"
        comes_into_view(page, 'mark[data-refs="2"]')
        page.focus('#cw-past .cw-ref[data-ref="3"]')
        page.keyboard.press("Enter")
        page.wait_for_selector('mark.cw-flash[data-refs="3"]')
        comes_into_view(page, 'mark[data-refs="3"]')


@pytest.mark.browser
def test_a_quote_is_reached_on_a_phone_and_the_way_back_too(opened: Callable[..., Any], engine: Any) -> None:
    with served(lambda: engine) as url:
        page = opened(url, width=390, height=844, scheme="dark")
        ask(page, QUESTION)
        answered(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.click('.cw-ref[data-ref="3"] >> nth=0')
        comes_into_view(page, 'mark[data-refs="3"]')
        page.click('.cw-card[data-refs="3"] .cw-back')
        comes_into_view(page, '#cw-past .cw-ref[data-ref="1"]')


@pytest.mark.browser
def test_follow_ups_carry_the_history_and_an_older_answer_opens_its_own_sources(
    opened: Callable[..., Any], engine: Any
) -> None:
    with served(lambda: engine) as url:
        page = opened(url)
        page.click(f'.cw-chip[data-text="{EXAMPLE}"]')
        answered(page)
        ask(page, "does it work with quantization?")
        answered(page, 2)
        assert "Does FiedlerPrune work with quantization?" in page.inner_text(".cw-resolved")
        assert [question for question, _ in engine.asked] == [EXAMPLE, "does it work with quantization?"]
        assert [(t.question, t.paper_ids) for t in engine.asked[1][1]] == [(EXAMPLE, ("p1", "p2"))]
        ask(page, "weather on Sunday?")
        answered(page, 3)
        assert "Your papers do not hold an answer to this." in page.inner_text("#cw-past")
        assert page.inner_text(".cw-sources h2") == "Nearest papers"
        page.wait_for_function(
            "[...document.querySelectorAll('.cw-abstract')].map((e) => e.scrollTop).join() === '0,0'"
        )
        page.click('.cw-ref[data-turn="0"][data-ref="3"] >> nth=0')
        page.wait_for_selector('.cw-sources[data-turn="0"] mark.cw-flash')
        page.hover(".cw-turn >> nth=1")
        page.click('[data-do="edit"][data-turn="1"]')
        page.wait_for_function("document.querySelector('#cw-box textarea').value.startsWith('does it')")
        ask(page, "and speed?")
        page.wait_for_function("document.querySelectorAll('#cw-past .cw-turn').length < 3")
        answered(page, 2)
        assert [turn.question for turn in engine.asked[-1][1]] == [EXAMPLE]
        page.click('[data-do="retry"][data-turn="1"]')
        until(lambda: len(engine.asked) == 5)
        answered(page, 2)
        assert engine.asked[-1] == engine.asked[-2]
        page.click("#cw-new")
        page.wait_for_selector(".cw-chip")
        other = opened(url)
        ask(other, QUESTION)
        answered(other)
        assert engine.asked[-1] == (QUESTION, ())


@pytest.mark.browser
def test_stop_closes_the_engines_generator_and_the_page_stays_usable(opened: Callable[..., Any], engine: Any) -> None:
    with served(lambda: engine) as url:
        page = opened(url)
        ask(page, "an endless one")
        page.wait_for_selector(".cw-draft")
        page.click("#cw-stop")
        answered(page)
        until(lambda: engine.closed == ["an endless one"])
        assert "was not checked" in page.inner_text("#cw-past")
        ask(page, QUESTION)
        answered(page, 2)


@pytest.mark.browser
@pytest.mark.parametrize("way", ["new conversation", "closed tab"])
def test_nobody_left_to_read_it_stops_the_engine_too(opened: Callable[..., Any], engine: Any, way: str) -> None:
    with served(lambda: engine) as url:
        page = opened(url)
        ask(page, "an endless one")
        page.wait_for_selector(".cw-draft")
        if way == "closed tab":
            page.close()
        else:
            page.click("#cw-new")
            page.wait_for_selector(".cw-chip")
        until(lambda: engine.closed == ["an endless one"])
        if way == "new conversation":
            page.wait_for_function("document.querySelectorAll('.cw-turn').length === 0")
            ask(page, QUESTION)
            answered(page)
            assert engine.asked[-1] == (QUESTION, ())


@pytest.mark.browser
def test_a_question_whose_page_was_loaded_anew_meanwhile_is_kept_and_can_be_asked_again(
    opened: Callable[..., Any], engine: Any
) -> None:
    history = History()
    with served(lambda: engine, history=history) as url:
        page = opened(url)
        ask(page, "an endless one")
        page.wait_for_selector(".cw-draft")
        page.reload()
        until(lambda: engine.closed == ["an endless one"])
        until(lambda: [entry.title for entry in history.entries("")] == ["an endless one"])
        again = opened(f"{url}#talk/{history.entries('')[0].key}", ready="#cw-past .cw-turn")
        assert "Stopped. What had been written was not checked." in again.inner_text("#cw-past")
        assert again.locator("#cw-past [data-do=retry]").inner_text() == "Try again"


@pytest.mark.browser
def test_people_wait_in_line_and_see_their_place(opened: Callable[..., Any], engine: Any) -> None:
    with served(lambda: engine) as url:
        first, second, third = opened(url), opened(url), opened(url)
        ask(first, "an endless one")
        first.wait_for_selector(".cw-draft")
        ask(second, QUESTION)
        second.wait_for_function("document.body.textContent.includes('One question is ahead of yours')")
        ask(third, QUESTION)
        third.wait_for_function("document.body.textContent.includes('2 questions are ahead of yours')")
        second.click("#cw-stop")
        third.wait_for_function("document.body.textContent.includes('One question is ahead of yours')")
        first.click("#cw-stop")
        answered(third)
        assert engine.most_running == 1
        assert [question for question, _ in engine.asked] == ["an endless one", QUESTION]


@pytest.mark.browser
def test_errors_are_messages_and_the_page_stays_usable(opened: Callable[..., Any], engine: Any) -> None:
    missing = [ModelError("the model <x> is not there; run 'citewell models pull'")]

    def get_engine() -> Any:
        if missing:
            raise missing.pop()
        return engine

    with served(get_engine) as url:
        page = opened(url)
        ask(page, "   ")
        page.wait_for_function(f"document.querySelector('.cw-notice').textContent === {EMPTY_QUESTION!r}")
        ask(page, QUESTION)
        answered(page)
        assert page.inner_text(".cw-error p") == "the model <x> is not there; run 'citewell models pull'"
        page.click('[data-do="retry"]')
        page.wait_for_selector("#cw-past .cw-ref")
        ask(page, "long " * 4000)
        answered(page, 2)
        assert "shorten it" in page.inner_text(".cw-error p")
        ask(page, "crash")
        answered(page, 3)
        assert "boom <b>" in page.locator(".cw-error p").last.inner_text()
        assert "Traceback" not in page.inner_text("body")


@pytest.mark.browser
def test_nothing_of_a_source_a_model_or_a_question_is_ever_run(opened: Callable[..., Any], engine: Any) -> None:
    with served(lambda: engine) as url:
        page = opened(url)
        ask(page, "wicked ${window.hacked=7} {{window.hacked}} <img src=x onerror=window.hacked=8>")
        answered(page)
        page.click('.cw-ref[data-ref="1"]')
        page.wait_for_selector("mark.cw-flash")
        assert "${window.hacked=7} {{window.hacked}} <img" in page.inner_text(".cw-asked")
        assert page.evaluate("window.hacked") is None
        assert page.locator(".cw-turn img, .cw-sources img, .cw-turn script, .cw-sources script").count() == 0
        assert page.locator('a[href^="javascript"]').count() == 0


@pytest.mark.browser
def test_what_is_copied_carries_its_quotes(opened: Callable[..., Any], engine: Any) -> None:
    with served(lambda: engine) as url:
        page = opened(url)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        ask(page, QUESTION)
        answered(page)
        page.click('[data-do="copy"]')
        until(lambda: page.evaluate("navigator.clipboard.readText()") != "")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.splitlines()[0] == QUESTION
        assert "[3] Ghosted Layers: “a training-free recovery module” (000_78485c96e14bfbbe.txt, row 1)" in copied


@pytest.mark.browser
def test_conversations_are_kept_listed_renamed_found_exported_deleted_and_reopened_after_a_restart(
    opened: Callable[..., Any], engine: Any, tmp_path: Path
) -> None:
    def titles(page: Any, wanted: list[str]) -> None:
        page.wait_for_function(
            "(wanted) => [...document.querySelectorAll('.cw-talk-link')].map((e) => e.title).join('|') === wanted",
            arg="|".join(wanted),
        )

    with served(lambda: engine, history=History(tmp_path / "talks.sqlite")) as url:
        page = opened(url)
        ask(page, "weather on Sunday?")
        answered(page)
        titles(page, ["weather on Sunday?"])
        page.click("#cw-new")
        page.wait_for_selector(".cw-turn", state="detached")
        ask(page, QUESTION)
        answered(page)
        titles(page, [QUESTION, "weather on Sunday?"])
        page.wait_for_function("location.hash.startsWith('#talk/')")
        address = page.evaluate("location.hash")
    with served(lambda: engine, history=History(tmp_path / "talks.sqlite")) as url:
        page = opened(url + address, ready=".cw-turn .cw-ref")
        answered(page)
        page.wait_for_selector(".cw-sources .cw-quote")
        ask(page, "and it?")
        answered(page, 2)
        assert [turn.question for turn in engine.asked[-1][1]] == [QUESTION]
        page.click(".cw-menu summary")
        with page.expect_download() as saving:
            page.click('[data-do="export"][data-text="bibtex"]')
        saved = Path(saving.value.path()).read_text(encoding="utf-8")
        assert "@misc{fiedlerprune," in saved
        assert "title = {Ghosted Layers: Training-Free Recovery}" in saved
        page.click('.cw-talk-link[title="weather on Sunday?"]')
        page.wait_for_function("document.querySelector('.cw-sources h2').textContent === 'Nearest papers'")
        answered(page)
        page.hover(".cw-talk-item[aria-current]")
        page.click(".cw-talk-item[aria-current] [data-do=rename-talk]")
        page.fill(".cw-talk-item input", "<i>Sunday</i>")
        page.keyboard.press("Enter")
        titles(page, [QUESTION, "<i>Sunday</i>"])
        assert page.inner_text(".cw-talkhead h2") == "<i>Sunday</i>"
        page.fill("#cw-talks-head input", "sunday")
        titles(page, ["<i>Sunday</i>"])
        page.hover(".cw-talk-item")
        page.click("[data-do=delete-talk]")
        page.click("text=Really delete?")
        titles(page, [])
        page.wait_for_selector(".cw-chip")
        page.fill("#cw-talks-head input", "")
        titles(page, [QUESTION])


@pytest.mark.browser
def test_a_conversation_is_deleted_by_touch(opened: Callable[..., Any], engine: Any) -> None:
    with served(lambda: engine) as url:
        page = opened(url, width=390, height=844, touch=True)
        ask(page, QUESTION)
        answered(page)
        page.tap(".cw-talks-open")
        page.wait_for_selector(".cw-talk-item[aria-current]")
        comes_into_view(page, "[data-do=delete-talk]")
        page.tap("[data-do=delete-talk]")
        page.tap("text=Really delete?")
        page.wait_for_selector(".cw-talk-item", state="detached")


@pytest.mark.browser
def test_a_thumb_down_asks_why_and_both_are_kept_and_a_suggestion_is_asked(
    opened: Callable[..., Any], engine: Any, tmp_path: Path
) -> None:
    feedback = Feedback(tmp_path)
    with served(lambda: engine, feedback=feedback) as url:
        page = opened(url)
        ask(page, QUESTION)
        answered(page)
        assert "Quite sure (82%)" in page.inner_text(".cw-confidence")
        page.click(".cw-thumb[data-text=down]")
        page.fill(".cw-why-not", "too <short>")
        page.press(".cw-why-not", "Enter")
        page.wait_for_selector(".cw-opinion >> text=Kept: this answer will be checked again.")
        assert [(o.thumb, o.reason, o.question) for o in feedback.opinions()] == [("down", "too <short>", QUESTION)]
        page.click(".cw-thumb[data-text=down]")
        page.wait_for_selector('.cw-thumb[data-text=down][aria-pressed="false"]')
        assert feedback.opinions() == []
        page.click("text=Which problem does FiedlerPrune solve?")
        answered(page, 2)
        assert engine.asked[-1][0] == "Which problem does FiedlerPrune solve?"


@pytest.mark.browser
def test_a_conversation_of_300_turns_shows_its_end_and_the_earlier_turns_when_asked(
    opened: Callable[..., Any], engine: Any
) -> None:
    history = History()
    events = list(engine.stream(QUESTION))
    answer = next(e.answer for e in events if isinstance(e, Finished))
    hits = next(e.hits for e in events if isinstance(e, Found))
    long = Conversation(tuple(Exchange(f"number {n}?", answer, hits) for n in range(300)))
    kept = history.keep("", long)
    with served(lambda: engine, history=history) as url:
        page = opened(f"{url}#talk/{kept.key}", ready=".cw-turn .cw-ref")
        answered(page, 20)
        page.click("text=Show earlier (280)")
        answered(page, 40)
        assert page.inner_text(".cw-asked >> nth=0") == "number 260?"
        page.click('.cw-ref[data-turn="260"] >> nth=0')
        page.wait_for_selector('.cw-sources[data-turn="260"] mark.cw-flash')
        ask(page, QUESTION)
        page.wait_for_selector('#cw-past [data-turn="300"] .cw-ref')
        assert len(engine.asked[-1][1]) == 300


def test_a_port_in_use_is_one_clear_line(engine: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        page = build_page(lambda: engine, examples=list)
        with pytest.raises(ServeError) as caught:
            start(page, port=port)
    assert str(caught.value) == (
        f"port {port} on 127.0.0.1 is in use by another program; stop that one, or give another --port"
    )


@pytest.mark.parametrize(
    ("host", "port", "message"),
    [
        ("192.0.2.1", 7860, "the address 192.0.2.1:7860 cannot be used"),
        ("no such host", 7860, "the address 'no such host' is not known"),
        ("127.0.0.1", 70000, "port 70000 does not exist; give --port a number from 1 to 65535"),
    ],
)
def test_an_unusable_address_is_one_clear_line(engine: Any, host: str, port: int, message: str) -> None:
    with pytest.raises(ServeError, match="^" + message.replace("(", "\\(")):
        start(build_page(lambda: engine, examples=list), host=host, port=port)


def test_ui_fetches_nothing_by_itself() -> None:
    for name in ("style.css", "frame.css", *SCRIPTS):
        text = (Path(__file__).parents[2] / "ui" / name).read_text(encoding="utf-8")
        assert "http" not in text
        assert "@import" not in text
