from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eval.questions import Question, as_line, load_questions
from eval.review import Review
from rag.records import Paper
from ui.app import start
from ui.review import build_review, card_html, counts_html

QUOTE = "We further demonstrate its use for $2\\times$ inference speedup."
FIEDLER = Paper("p1", "FiedlerPrune", f"We propose FiedlerPrune, which prunes. {QUOTE} Code is there.")
WICKED = Paper("p3", "<b>Wicked</b>", "<script>window.hacked=1</script><img src=x onerror='window.hacked=2'> ok.")
QUESTIONS = [
    Question("a", "single", "tune", "What is FiedlerPrune good for?", ("p1",), (("speedup",),), (QUOTE,)),
    Question("b", "single", "tune", "What does <b>Wicked</b> do?", ("p3",), (("ok",),), note="<img src=x>"),
    Question("c", "unanswerable", "test", "Who paid for it all in the end?", (), class_="outside"),
]


@pytest.fixture
def review(tmp_path: Path) -> Review:
    path = tmp_path / "made.jsonl"
    path.write_text("".join(as_line(q) + "\n" for q in QUESTIONS), encoding="utf-8")
    return Review(path, {"p1": FIEDLER, "p3": WICKED})


def test_the_words_that_answer_are_marked_and_all_else_is_text(review: Review) -> None:
    html = card_html(review.card(0), 0, 3)
    assert "1 of 3 · single · tune" in html
    assert "cw-quote" in html
    wicked = card_html(review.card(1), 1, 3)
    assert "<script" not in wicked
    assert "<img" not in wicked
    assert "&lt;img src=x&gt;" in wicked
    assert "It is about no paper of the library." in card_html(review.card(2), 2, 3)


def test_a_decision_is_told(review: Review) -> None:
    review.decide(2, "drop", question="x", facts="")
    assert "dropped" in card_html(review.card(2), 2, 3)
    assert counts_html(review.counts(), "<oh>") == ('<p role="status">0 accepted · 1 dropped · 2 left — &lt;oh&gt;</p>')


@pytest.fixture
def page(review: Review, browser: Any) -> Iterator[Any]:
    served = build_review(review)
    url = start(served, port=0)
    context = browser.new_context()
    broken: list[str] = []
    opened = context.new_page()
    opened.on("pageerror", lambda error: broken.append(str(error)))
    opened.goto(url)
    opened.wait_for_selector('[data-question="a"]', timeout=60_000)
    yield opened
    context.close()
    served.close(verbose=False)
    assert broken == []


@pytest.mark.browser
def test_questions_are_judged_by_mouse_and_keyboard(review: Review, page: Any) -> None:
    from playwright.sync_api import expect

    box = page.locator("#rv-question textarea")
    expect(box).to_have_value("What is FiedlerPrune good for?")
    expect(page.locator(".cw-quote").first).to_be_visible()
    box.fill("What is FiedlerPrune good for in practice?")
    page.click("#rv-accept")
    page.wait_for_selector('[data-question="b"]')
    assert [q.question for q in load_questions(review.accepted_path)] == ["What is FiedlerPrune good for in practice?"]

    page.keyboard.press("e")
    expect(box).to_be_focused()
    page.keyboard.type("d")  # a letter of the question, no decision
    page.keyboard.press("Escape")
    expect(box).not_to_be_focused()
    page.keyboard.press("d")
    page.wait_for_selector('[data-question="c"]')
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector('[data-question="b"]:has-text("dropped")')
    page.locator("#rv-facts textarea").fill("(")
    page.click("#rv-accept")
    page.wait_for_selector('#rv-status:has-text("is no regular expression")')
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector('[data-question="c"]')
    page.keyboard.press("a")
    page.wait_for_selector('#rv-status:has-text("all are decided")')
    assert review.counts() == {"accepted": 2, "dropped": 1, "left": 0}
    assert [q.id for q in load_questions(review.accepted_path)] == ["a", "c"]
