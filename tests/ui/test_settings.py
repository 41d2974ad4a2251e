"""The settings on the page, a sentence checked there, what was measured, and how often one may ask."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag.check import Verification
from rag.config import Config, load_config, save_settings
from rag.errors import ConfigError, ModelError
from rag.feedback import Feedback
from rag.filters import EVERYTHING, Filter
from rag.records import AnswerSentence
from serve.gate import Access
from tests.ui.conftest import FIEDLER, cite, script
from ui.app import build_page, start
from ui.chat import Preparation
from ui.check_view import verification_html
from ui.conversation import Conversation, Exchange
from ui.history import History
from ui.quality_view import Measured, quality_html
from ui.settings import chips_html, fields_of, filters_of, settings_html

QUESTION = "How does FiedlerPrune take cross-layer dependencies into account?"


def test_only_what_was_changed_is_written_and_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "citewell.toml"
    path.write_text('# mine\nthreads = 3\nllm_url = "http://a/v1"  # old\n')
    path.chmod(0o640)
    save_settings({"llm_url": 'http://b/"v1"', "llm_model": "m\\n", "evidence_tokens": 400}, path)
    assert path.read_text() == (
        '# mine\nthreads = 3\nllm_url = "http://b/\\"v1\\""\nllm_model = "m\\\\n"\nevidence_tokens = 400\n'
    )
    config = load_config(environ={}, folder=tmp_path)
    assert (config.threads, config.llm_url, config.llm_model) == (3, 'http://b/"v1"', "m\\n")
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_settings_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    save_settings({"llm_key": "secret"}, tmp_path / "citewell.toml")
    assert (tmp_path / "citewell.toml").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("before", "changes"),
    [
        ("threads = 2\n", {"evidence_tokens": -1}),
        ('llm_url = """\nllm_url = "x"\n"""\n', {"llm_url": "y"}),
        ("", {"no": 1}),
    ],
)
def test_a_value_that_cannot_be_used_leaves_the_file_as_it_is(
    tmp_path: Path, before: str, changes: dict[str, Any]
) -> None:
    path = tmp_path / "citewell.toml"
    path.write_text(before)
    with pytest.raises(ConfigError):
        save_settings(changes, path)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({}, EVERYTHING),
        ({"year": "2019.."}, Filter(first=2019)),
        ({"year": "2019", "venue": "ICML, NeurIPS"}, Filter(2019, 2019, ("ICML", "NeurIPS"))),
        (
            {"author": " Y. Bengio ", "keyword": "a,,b", "file": "icml*"},
            Filter(None, None, (), ("Y. Bengio",), ("a", "b"), ("icml*",)),
        ),
    ],
)
def test_fields_make_a_filter_and_a_filter_fills_the_fields(fields: dict[str, str], where: Filter) -> None:
    assert filters_of(fields) == where
    assert filters_of(fields_of(where)) == where


def test_the_form_never_shows_a_key_and_a_shared_server_shows_no_model() -> None:
    config = Config(llm_url="http://x/v1", llm_model='"m"', llm_key="secret")
    own = settings_html(config, outside=frozenset({"llm_url"}), shared=False)
    assert "secret" not in own
    assert 'value="&quot;m&quot;"' in own
    assert "wins at the next start: llm_url." in own
    shared = settings_html(config, outside=frozenset(), shared=True)
    assert "http://x/v1" not in shared
    assert "save-llm" not in shared
    assert "/logout" not in shared
    assert 'href="/logout"' in settings_html(config, outside=frozenset(), shared=True, signed_in=True)


def test_chips_say_what_narrows_a_question_down_as_text() -> None:
    html = chips_html(Filter(2019, venues=("<b>",)), "Chinese")
    assert "Only year 2019.., venue &lt;b&gt;" in html
    assert "Answers in Chinese" in html
    assert html.count("<button") == 2
    assert chips_html(EVERYTHING, "").count("<li") == 0


def test_the_filter_of_a_conversation_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    history = History(tmp_path / "talks.sqlite")
    where = Filter(2019, venues=("ICML",))
    kept = history.keep("", Conversation((Exchange("q?", where=where),)))
    opened = History(tmp_path / "talks.sqlite").open("", kept.key)
    assert opened is not None
    assert opened.where == where


def test_a_checked_sentence_is_shown_with_its_verdict_in_words_and_the_exact_words() -> None:
    quote = "compatibility with quantization"
    found = Verification(
        "It <i>works</i> so.", "contradicted", 0.1, (cite(1, FIEDLER, quote),), "the source says otherwise"
    )
    html = verification_html(found, [FIEDLER])
    assert "Your papers contradict it." in html
    assert "It &lt;i&gt;works&lt;/i&gt; so." in html
    assert f">{quote}</mark>" in html
    assert 'id="cw-source-1"' not in html
    assert "The source says otherwise.</p>" in html


def test_the_report_is_in_a_frame_that_runs_nothing_and_complaints_come_first(tmp_path: Path) -> None:
    feedback = Feedback(tmp_path)
    answer = script(QUESTION, QUESTION, ())
    feedback.add(answer, "up")
    feedback.add(replace(answer, question="<b>?", sentences=(AnswerSentence("x", "supported", ()),)), "down", "wrong")
    html = quality_html(Measured("r.json", '<p>"hi"</p>', "e-c.w-papers"), feedback.opinions())
    assert 'sandbox="" title="Report of r.json" srcdoc="&lt;p&gt;&quot;hi&quot;&lt;/p&gt;"' in html
    assert html.index("&lt;b&gt;?") < html.index(QUESTION)
    assert "No results yet" in quality_html(None, [])
    assert "What readers said" not in quality_html(None, None)


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("e-c.w-papers", "From r.json. Measured on the papers of this library as they are now."),
        (
            "other-c.w-papers",
            "From r.json. Measured on the papers of this library, but with another embedding model or form of the index.",
        ),
        (
            "e-c.w-others",
            "From r.json. <strong class='cw-elsewhere'>Measured on other papers than those of this library: how well it "
            "answers about these is not known.</strong>",
        ),
        ("", "From r.json. "),
    ],
)
def test_the_report_says_whether_it_is_of_the_library_shown(shown: str, said: str) -> None:
    html = quality_html(Measured("r.json", "<p>x</p>", "e-c.w-papers"), None, index=shown)
    assert html.split("<p class='cw-note'>")[1].split("</p>")[0] == said


class Chooser:
    """Keeps what is chosen."""

    config = Config()
    outside: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.chosen: list[dict[str, Any]] = []

    def choose(self, changes: dict[str, Any]) -> str:
        self.chosen.append(changes)
        return "Saved. Used from the next question on."

    def try_llm(self, changes: dict[str, Any]) -> str:
        raise ConfigError(f"No answer from {changes['llm_url']}")


def test_what_is_chosen_is_kept_for_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    preparation = Preparation(load_config({"data": tmp_path}), [])
    with pytest.raises(ConfigError, match="name the model"):
        preparation.choose({"llm_url": "http://127.0.0.1:1/v1"})
    assert not (tmp_path / "citewell.toml").exists()
    said = preparation.choose({"llm_url": "http://127.0.0.1:1/v1", "llm_model": "m", "evidence_tokens": 400})
    assert said == "Saved. It is used as soon as the library is open."
    assert (preparation.config.llm_model, load_config().llm_model, load_config().evidence_tokens) == ("m", "m", 400)


def test_a_server_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ModelError, match=f"^No answer from {address}: [^\n]+$"):
            Preparation(Config(data=tmp_path), []).try_llm({"llm_url": address, "llm_model": "m"})


@contextlib.contextmanager
def served(engine: Any, **options: Any) -> Iterator[str]:
    page = build_page(lambda: engine, examples=lambda: ["Which method needs no training?"], **options)
    try:
        yield start(page, port=0)
    finally:
        page.close(verbose=False)


def ask(page: Any, question: str) -> None:
    page.fill("#cw-box textarea", question)
    page.press("#cw-box textarea", "Enter")


@pytest.mark.browser
def test_filter_and_language_go_with_the_questions_and_the_model_is_tried_and_chosen(
    opened: Callable[..., Any], engine: Any
) -> None:
    chooser = Chooser()
    with served(engine, chooser=chooser, access=Access(this_machine_only=True)) as url:
        page = opened(f"{url}#settings", ready="#cw-filter-year")
        page.fill("#cw-filter-year", "sometime")
        page.click("[data-do=apply-filter]")
        page.wait_for_selector("text=the year 'sometime' is no year")
        page.fill("#cw-filter-year", "2019..")
        page.fill("#cw-filter-venue", "ICML")
        page.click("[data-do=apply-filter]")
        page.wait_for_selector("text=Used from the next question on.")
        page.select_option("#cw-language", "Chinese")
        page.check('[name="cw-llm"][value=server]')
        page.fill("#cw-llm_url", "http://127.0.0.1:1/v1")
        page.fill("#cw-llm_model", "m")
        page.click("[data-do=test-llm]")
        page.wait_for_selector("text=No answer from http://127.0.0.1:1/v1")
        page.click("[data-do=save-llm]")
        page.wait_for_selector("text=Saved. Used from the next question on.")
        assert chooser.chosen == [{"llm_url": "http://127.0.0.1:1/v1", "llm_model": "m"}]
        page.select_option("#cw-theme", "dark")
        page.wait_for_function("document.body.classList.contains('dark')")
        page.click("[data-view-link=chat]")
        page.wait_for_selector(".cw-within >> text=Only year 2019.., venue ICML")
        ask(page, QUESTION)
        page.wait_for_selector("#cw-past .cw-ref")
        assert engine.ways == [(Filter(2019, None, ("ICML",)), "Chinese")]
        assert "Looked only at: year 2019.., venue ICML" in page.inner_text("#cw-past")
        page.click(".cw-within [data-do=drop-filter]")
        page.click(".cw-within [data-do=drop-language]")
        page.wait_for_selector(".cw-within li", state="detached")
        ask(page, "and it?")
        page.wait_for_selector('#cw-past [data-turn="1"] .cw-ref')
        assert engine.ways[1] == (EVERYTHING, "")


@pytest.mark.browser
def test_who_asks_too_often_is_told_when_to_come_back_and_a_shared_server_keeps_its_model(
    opened: Callable[..., Any], engine: Any
) -> None:
    chooser = Chooser()
    with served(engine, chooser=chooser, access=Access(requests_per_minute=1)) as url:
        page = opened(url)
        ask(page, QUESTION)
        page.wait_for_selector("#cw-past .cw-ref")
        ask(page, "and it?")
        page.wait_for_selector("text=That was one question too many in a minute.")
        assert page.input_value("#cw-box textarea") == "and it?"
        assert len(engine.asked) == 1
        said = page.evaluate("window.citewell.ask('settings', 'save', {llm_url: 'http://evil/v1', llm_model: 'm'})")
        assert said == "Only whoever runs this server may change that."
        assert chooser.chosen == []
        form = page.evaluate("window.citewell.ask('settings', 'form', null)")
        assert "save-llm" not in form
