"""What the page shows, as whole values."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.records import Answer, AnswerSentence, Citation, Hit, Paper, Source
from ui import render, sources
from ui.conversation import Conversation, Exchange
from ui.markup import Mark, render_text

PAPER = Paper(
    "p1",
    "FiedlerPrune",
    r"It prunes $x^2$ layers. At \emph{no} loss.",
    sources=(Source("a.txt", 3), Source("b.txt", 9)),
)
CITATION = Citation(1, "p1", "FiedlerPrune", "It prunes", 0, 9, PAPER.sources)


def answer(*sentences: AnswerSentence, **changes: object) -> Answer:
    plain = Answer("Q?", "Q?", "answered", "It prunes. [1]", sentences, (CITATION,), (), 0.82)
    return replace(plain, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (
            r"\emph{x} \textbf{y} \textsc{Z} {\em w}",
            '<em>x</em> <strong>y</strong> <span class="cw-sc">Z</span> <em>w</em>',
        ),
        (r"(\method{}) and \ours wins", "(the method) and the method wins"),
        (r"5\%, 10\\% A\&B x\_y", "5%, 10% A&amp;B x_y"),
        ("a---b -- c 50k--163k --flag", "a—b – c 50k–163k --flag"),
        ("**bold** and *it* and `code`", "<strong>bold</strong> and <em>it</em> and <code>code</code>"),
        ("*Strictly $k$-Range*", "<em>Strictly <math><mrow><mi>k</mi></mrow></math>-Range</em>"),
        ("Humdrum **kern format, the **kern encoding", "Humdrum **kern format, the **kern encoding"),
        ("2 * 3 * 4 within ~10%", "2 * 3 * 4 within ~10%"),
        ("``said'' Fig.~1 \\cite{x}end", "“said” Fig.&nbsp;1 end"),
        ("<script>x</script> <img src=x onerror=y>", "&lt;script&gt;x&lt;/script&gt; &lt;img src=x onerror=y&gt;"),
        ("[x](javascript:y) ![i](z.png)", "[x](javascript:y) ![i](z.png)"),
        (r"\url{javascript:alert(1)} \href{javascript:y}{t}", "<code>javascript:alert(1)</code> t"),
        ("one\ntwo\x00\ud800", "one two  "),
        ("$3000 and $5", "$3000 and $5"),
    ],
)
def test_latex_and_markdown_are_shown_sensibly_and_html_as_text(source: str, shown: str) -> None:
    assert render_text(source, links=True) == shown


def test_web_addresses_of_sources_are_links_and_those_of_models_are_not() -> None:
    link = '<a href="https://a.b/c?x=1&amp;y" target="_blank" rel="noopener noreferrer nofollow">'
    assert render_text("see https://a.b/c?x=1&y.", links=True) == f"see {link}https://a.b/c?x=1&amp;y</a>."
    assert render_text(r"\url{https://a.b/c?x=1&y}", links=True) == f"{link}<code>https://a.b/c?x=1&amp;y</code></a>"
    assert render_text("see https://a.b/") == "see https://a.b/"


@pytest.mark.parametrize(
    ("quote", "shown"),
    [
        ("It prunes", '<mark class="cw-quote" data-refs="1">It prunes</mark> ¤ layers. At <em>no</em> loss.'),
        ("prunes $x", 'It <mark class="cw-quote" data-refs="1">prunes ¤</mark> layers. At <em>no</em> loss.'),
        (
            "layers. At \\emph{n",
            'It prunes ¤ <mark class="cw-quote" data-refs="1">layers. At <em>n</em></mark><em>o</em> loss.',
        ),
    ],
)
def test_a_quote_is_highlighted_by_its_offsets_across_formulas_and_macros(quote: str, shown: str) -> None:
    start = PAPER.abstract.index(quote)
    html = render_text(PAPER.abstract, marks=[Mark(start, start + len(quote), 1)])
    assert re.sub("<math>.*</math>", "¤", html) == shown


def test_overlapping_quotes_keep_both_numbers() -> None:
    assert render_text("abcdef", marks=[Mark(0, 4, 1), Mark(2, 6, 2)]) == (
        '<mark class="cw-quote" data-refs="1">ab</mark><mark class="cw-quote" data-refs="1 2">cd</mark>'
        '<mark class="cw-quote" data-refs="2">ef</mark>'
    )


@given(st.text(alphabet="ab \\{}$*`<>&\"'~-_^[]()emph\n", max_size=60), st.data())
def test_any_text_is_rendered_well_formed_with_every_letter_of_a_quote_marked(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    html = render_text(text, marks=[Mark(start, end, 1)], links=True)
    assert "\n" not in html
    open_tags: list[str] = []
    for closing, name in re.findall(r"<(/?)([a-z]+)[^>]*>", html):
        if closing:
            assert open_tags.pop() == name
        else:
            open_tags.append(name)
    assert open_tags == []
    assert "<" not in re.sub(
        r"</?(?:mark|em|strong|code|u|sup|sub|span|math|m[a-z]+)(?: [a-z-]+=\"[^\"<>]*\")*>", "", html
    )


def test_a_supported_sentence_is_plain_with_its_marker_as_a_link() -> None:
    html = render.answer_html(answer(AnswerSentence("It prunes.", "supported", (1,))), 3, asked="Q?")
    assert html.startswith(
        '<div class="cw-answer"><p class="cw-text"><span class="cw-s">It prunes.<span class="cw-refs">'
        '<a class="cw-ref" href="#cw-source-1" data-do="cite" data-turn="3" data-ref="1" '
        'aria-label="Source 1: FiedlerPrune" title="FiedlerPrune">[1]</a></span></span></p>'
        '<div class="cw-tools">'
    )
    assert "Quite sure (82%)</span>" in html


def test_verdicts_are_told_to_eye_and_ear() -> None:
    html = render.answer_html(
        answer(
            AnswerSentence("Half.", "partial", (1,), "no figure"),
            AnswerSentence("<b>None.", "unsupported", (), "no source"),
        ),
        0,
        asked="Q?",
    )
    assert (
        '<span class="cw-s cw-partial" title="Only partly borne out by the sources: no figure">'
        '<span class="cw-vh">(Only partly borne out by the sources: no figure) </span>'
        '<span class="cw-claim">Half.</span>'
    ) in html
    assert (
        '<span class="cw-s cw-unsupported" title="Not borne out by the sources: no source">'
        '<span class="cw-vh">(Not borne out by the sources: no source) </span><s class="cw-claim">&lt;b&gt;None.</s> '
        '<span class="cw-why">no source</span></span>'
    ) in html


def test_quoted_sentences_stand_in_a_quotation() -> None:
    html = render.answer_html(answer(AnswerSentence("We prune.", "supported", (), quoted=True)), 0, asked="Q?")
    assert (
        '<blockquote class="cw-said"><span class="cw-vh">In the source’s own words: </span>'
        '<p><span class="cw-s"><q class="cw-q">We prune.</q></span></p></blockquote>'
    ) in html


def test_a_marker_to_nothing_is_never_shown() -> None:
    html = render.answer_html(answer(AnswerSentence("It prunes.", "supported", (7,))), 0, asked="Q?")
    assert "[7]" not in html


def test_chinese_sentences_are_joined_without_a_space() -> None:
    html = render.answer_html(
        answer(AnswerSentence("甲。", "supported", ()), AnswerSentence("乙。", "supported", ())), 0, asked="Q?"
    )
    assert '甲。</span><span class="cw-s">乙。' in html


@pytest.mark.parametrize(("asked", "shown"), [("q", False), ("does it?", True)])
def test_the_question_looked_up_is_shown_where_it_differs(asked: str, shown: bool) -> None:
    assert ("Looked up as" in render.answer_html(answer(), 0, asked=asked)) is shown


def test_an_abstention_says_why_calmly_and_shows_the_nearest_papers() -> None:
    silent = answer(status="abstained", text="", citations=(), nearest=(Hit(1, PAPER, 0.3),), reason="not-in-library")
    html = render.answer_html(silent, 0, asked="Q?")
    assert "Your papers do not hold an answer to this." in html
    assert "Confidence" not in html
    panel = sources.sources_html(Exchange("Q?", silent), 0)
    assert "<h2>Nearest papers</h2>" in panel
    assert "FiedlerPrune" in panel
    assert "<mark" not in panel


def test_a_card_holds_number_label_places_and_the_whole_abstract_with_its_quote() -> None:
    done = Exchange("Q?", answer(), (Hit(1, PAPER, 0.9),), {"p1": PAPER})
    panel = sources.sources_html(done, 2)
    assert '<span class="cw-num">1</span><h3><span class="cw-vh">Source 1: </span>FiedlerPrune</h3>' in panel
    assert "<li>a.txt, row 3</li><li>b.txt, row 9</li>" in panel
    assert '<p><mark class="cw-quote" data-refs="1">It prunes</mark> <math>' in panel
    assert "Also looked at" not in panel


def test_a_cited_paper_that_changed_since_is_shown_by_its_quote_alone() -> None:
    changed = replace(PAPER, abstract="Something else entirely")
    panel = sources.sources_html(Exchange("Q?", answer(), (), {"p1": changed}), 0)
    assert '<p><mark class="cw-quote" data-refs="1">It prunes</mark></p>' in panel


def test_a_draft_shows_neither_markers_nor_half_a_formula() -> None:
    assert render.draft_text(r"It prunes [1]. More [2, 3] in [0, 1] $\alpha_{n") == "It prunes. More in"
    assert render.draft_text("It prunes [") == "It prunes"
    assert render.draft_text("It prunes [1") == "It prunes"
    assert render.draft_text("It costs $3000 [") == "It costs $3000"
    assert "href" not in render.draft_html("It [1] **[x](javascript:y)** <b>")


def test_what_is_copied_holds_quotes_and_places() -> None:
    assert render.answer_as_text(answer()) == (
        "Q?\n\nIt prunes. [1]\n\n[1] FiedlerPrune: “It prunes” (a.txt, row 3; b.txt, row 9)"
    )


def test_errors_and_stops_are_readable_and_can_be_retried() -> None:
    failed = render.exchange_html(Exchange("Q?", error="the <model> is missing"), 1)
    assert failed == (
        '<div class="cw-answer cw-error" role="alert"><p>the &lt;model&gt; is missing</p><div class="cw-tools">'
        '<button type="button" class="cw-tool" data-do="retry" data-turn="1">Try again</button></div></div>'
    )
    assert "was not checked" in render.exchange_html(Exchange("Q?", draft="Half a", stopped=True), 1)


def test_a_very_long_question_is_shown_short() -> None:
    assert len(render.question_html(Exchange("x" * 20000), 0)) < 1000


def test_history_is_what_was_answered() -> None:
    talk = Conversation().and_then(Exchange("Q?", answer())).and_then(Exchange("broken", error="no"))
    assert [(t.question, t.answer, t.paper_ids) for t in talk.turns()] == [("Q?", "It prunes. [1]", ("p1",))]
    assert talk.before(1).turns() == talk.turns()
    assert talk.before(0) == Conversation()


def test_a_translated_sentence_tells_what_was_checked() -> None:
    said = AnswerSentence("误差降低。", "supported", (1,), original='The "error" falls.')
    html = render.answer_html(answer(said), 0, asked="Q?")
    assert '<span class="cw-s" title="Checked in English: The &quot;error&quot; falls.">误差降低。' in html
