"""Answers as HTML: one line of it each, everything escaped, nothing of a model's or a source's text ever run."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from itertools import groupby

from rag.fold import plain
from rag.records import Answer, AnswerSentence, Citation, Paper, Source
from ui.conversation import Conversation, Exchange
from ui.formula import unfinished
from ui.markup import render_text

_SHOWN_QUESTION = 600
_RAW_MARKER = re.compile(r"[ \t]*\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\](?!\()")
_HALF_MARKER = re.compile(r"[ \t]*\[[\d,;–\s-]*$")
_VERDICTS = {"partial": "Only partly borne out by the sources", "unsupported": "Not borne out by the sources"}

_THUMB = (  # drawn, since not every system has a font with the sign
    '<svg viewBox="0 0 20 20" aria-hidden="true"><path d="M3 9h3v8H3zM6 10l3.5-7c1.4 0 2.1 1 1.8 2.3L10.6 8H16c1 0 1.7 1 '
    '1.4 2l-1.6 5.6c-.2.8-.9 1.4-1.8 1.4H6"/></svg>'
)
_SURENESS = ((0.8, "Quite sure"), (0.6, "Fairly sure"), (0.0, "Not very sure"))

ABSTENTIONS = {
    "not-in-library": "Your papers do not hold an answer to this.",
    "not-a-question": "That is not a question I can look up in your papers.",
    "unclear": "I am not sure what you are asking.",
    "premise": "The question takes something for granted that your papers do not say.",
}
_HINTS = {
    "not-in-library": "Rather than guess, here are the papers that come nearest.",
    "not-a-question": "Ask about what the papers propose, find or measure.",
    "unclear": "Naming the method or the paper you mean usually helps. These come nearest.",
    "premise": "The nearest papers are beside this, so you can see what they do say.",
}


def escape(text: str) -> str:
    """Text as HTML on one line; line breaks stay visible."""
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    return html.escape(re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", " ", text)).replace("\n", "<br>")


def attribute(text: str) -> str:
    """Text as the value of a double-quoted attribute, line breaks kept."""
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\r", "")
    return html.escape(re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", " ", text)).replace("\n", "&#10;")


def button(action: str, words: str, turn: int, *, label: str = "", extra: str = "", kind: str = "cw-tool") -> str:
    named = f' aria-label="{attribute(label)}"' if label else ""
    attributes = f'class="{kind}" data-do="{action}" data-turn="{turn}"{named}{extra}'
    return f'<button type="button" {attributes}>{escape(words)}</button>'


def question_html(exchange: Exchange, turn: int, *, tools: bool = True) -> str:
    """What the person asked."""
    text = exchange.question
    shown = text if len(text) <= _SHOWN_QUESTION else text[:_SHOWN_QUESTION] + " …"
    edit = button("edit", "Edit", turn, label="Edit this question and ask again") if tools else ""
    return f'<div class="cw-question"><span class="cw-asked">{escape(shown)}</span>{edit}</div>'


def waiting_html(ahead: int) -> str:
    """Others come first."""
    people = "One question is" if ahead == 1 else f"{ahead} questions are"
    return _live(f"{people} ahead of yours. It will be answered in turn.")


def working_html(words: str) -> str:
    """Something is going on and no word has been written yet."""
    return _live(words)


def preparing_html(words: str) -> str:
    """What the question waits for; ``words`` say it in a line."""
    return _live(f"{words}. Your question is answered after that.")


def draft_html(raw: str) -> str:
    """Raw text while it is written: not checked, so without markers and visibly provisional."""
    body = "<br>".join(render_text(line) for line in draft_text(raw).split("\n"))
    return (
        '<div class="cw-answer cw-live" aria-busy="true">'
        f'<p class="cw-draft">{body}<span class="cw-caret" aria-hidden="true"></span></p>'
        '<p class="cw-status"><span class="cw-dot" aria-hidden="true"></span>'
        "Draft. Each sentence is checked against the sources next.</p></div>"
    )


def draft_text(raw: str) -> str:
    """Raw text without the model's own markers, and without a formula that is not yet written out."""
    text = _HALF_MARKER.sub("", _RAW_MARKER.sub("", raw))
    return text[: unfinished(text)].strip()


def _live(words: str) -> str:
    return (
        '<div class="cw-answer cw-live" aria-busy="true"><p class="cw-status" role="status">'
        f'<span class="cw-dot" aria-hidden="true"></span>{escape(words)}</p></div>'
    )


def welcome_html(examples: Iterable[str]) -> str:
    """Before the first question."""
    chips = "".join(f"<li>{_chip(example)}</li>" for example in examples)
    tries = f'<p class="cw-try">For example</p><ul class="cw-chips">{chips}</ul>' if chips else ""
    return (
        f'<div class="cw-welcome"><h2 class="cw-hello">What would you like to know?</h2>'
        f'<p class="cw-promise">Answers from your papers, footnoted to the exact words.</p>{tries}</div>'
    )


def conversation_html(conversation: Conversation, *, suggestions: Iterable[str] = ()) -> str:
    """The exchanges that are over, and questions to go on with; of a long conversation its end alone, until more of it
    is asked for."""
    first = conversation.first_shown
    earlier = f'<p class="cw-earlier">{button("earlier", f"Show earlier ({first})", first)}</p>' if first else ""
    turns = "".join(
        f'<article class="cw-turn" data-turn="{turn}">'
        f"{question_html(exchange, turn)}{exchange_html(exchange, turn)}</article>"
        for turn, exchange in enumerate(conversation.exchanges[first:], first)
    )
    return earlier + turns + _next_html(suggestions)


def _next_html(suggestions: Iterable[str]) -> str:
    chips = "".join(f"<li>{_chip(suggestion)}</li>" for suggestion in suggestions)
    return f'<aside class="cw-next" aria-label="Questions to go on with"><ul>{chips}</ul></aside>' if chips else ""


def _chip(question: str) -> str:
    return (
        f'<button type="button" class="cw-chip" data-do="ask" data-text="{attribute(question)}">{escape(question)}'
        "</button>"
    )


def live_html(question: str, turn: int, body: str) -> str:
    """The exchange that is going on; ``body`` is HTML."""
    asked = question_html(Exchange(question), turn, tools=False)
    return f'<article class="cw-turn" data-turn="{turn}">{asked}{body}</article>'


def exchange_html(exchange: Exchange, turn: int) -> str:
    """What became of a question."""
    if exchange.answer is not None:
        opinion = _opinion(exchange, turn)
        within = f'<p class="cw-note">Looked only at: {escape(str(exchange.where))}</p>' if exchange.where else ""
        return within + answer_html(exchange.answer, turn, asked=exchange.question, opinion=opinion)
    retry = f'<div class="cw-tools">{button("retry", "Try again", turn)}</div>'
    if exchange.error:
        return f'<div class="cw-answer cw-error" role="alert"><p>{escape(exchange.error)}</p>{retry}</div>'
    draft = draft_text(exchange.draft)
    body = f'<p class="cw-draft">{"<br>".join(render_text(x) for x in draft.split(chr(10)))}</p>' if draft else ""
    note = "Stopped. What had been written was not checked." if draft else "Stopped before anything was written."
    return f'<div class="cw-answer cw-stopped">{body}<p class="cw-status">{note}</p>{retry}</div>'


def answer_html(answer: Answer, turn: int, *, asked: str, opinion: str = "") -> str:
    """A checked answer: every sentence with its verdict and its markers. ``opinion`` is HTML for its foot."""
    parts = ['<div class="cw-answer">']
    if _folded(answer.resolved_question) != _folded(asked):
        parts.append(
            f'<p class="cw-resolved"><span>Looked up as</span> <q>{escape(answer.resolved_question)}</q> '
            f"{button('edit-resolved', 'Edit', turn, label='Edit the question that was looked up')}</p>"
        )
    if answer.status == "abstained":
        parts.append(_abstention(answer))
    else:
        parts.extend(_sentences(answer, turn))
        if answer.reason in ABSTENTIONS:
            parts.append(f'<p class="cw-note">{ABSTENTIONS[answer.reason]}</p>')
        parts.append(_legend(answer.sentences))
    parts.append(_foot(answer, turn))
    parts.append(f"{opinion}</div>")
    return "".join(parts)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip("?？.。!！ ")


def _sentences(answer: Answer, turn: int) -> Iterable[str]:
    labels = {citation.marker: citation.label for citation in answer.citations}
    for quoted, run in groupby(answer.sentences, key=lambda sentence: sentence.quoted):
        shown = []
        for sentence in run:
            shown.append(_sentence(sentence, labels, turn))
            if not sentence.text.rstrip().endswith(("。", "！", "？")):
                shown.append(" ")
        body = "".join(shown).strip()
        if quoted:
            yield (
                '<blockquote class="cw-said"><span class="cw-vh">In the source’s own words: </span>'
                f"<p>{body}</p></blockquote>"
            )
        else:
            yield f'<p class="cw-text">{body}</p>'


def _sentence(sentence: AnswerSentence, labels: dict[int, str], turn: int) -> str:
    text = render_text(sentence.text.strip())
    if sentence.quoted:
        text = f'<q class="cw-q">{text}</q>'
    links = "".join(_marker(marker, labels[marker], turn) for marker in sentence.citations if marker in labels)
    if links:
        links = f'<span class="cw-refs">{links}</span>'
    if sentence.verdict == "supported":
        checked = f' title="Checked in English: {attribute(sentence.original)}"' if sentence.original else ""
        return f'<span class="cw-s"{checked}>{text}{links}</span>'
    verdict = _VERDICTS[sentence.verdict]
    why = f"{verdict}: {sentence.reason}" if sentence.reason else f"{verdict}."
    tag = "s" if sentence.verdict == "unsupported" else "span"
    reason = (
        f' <span class="cw-why">{escape(sentence.reason or verdict)}</span>'
        if sentence.verdict == "unsupported"
        else ""
    )
    return (
        f'<span class="cw-s cw-{sentence.verdict}" title="{attribute(why)}"><span class="cw-vh">({escape(why)}) </span>'
        f'<{tag} class="cw-claim">{text}</{tag}>{links}{reason}</span>'
    )


def _marker(marker: int, label: str, turn: int) -> str:
    return (
        f'<a class="cw-ref" href="#cw-source-{marker}" data-do="cite" data-turn="{turn}" data-ref="{marker}" '
        f'aria-label="Source {marker}: {attribute(label)}" title="{attribute(label)}">[{marker}]</a>'
    )


def _abstention(answer: Answer) -> str:
    line = answer.text.strip() or ABSTENTIONS.get(answer.reason, ABSTENTIONS["not-in-library"])
    hint = _HINTS.get(answer.reason, _HINTS["not-in-library"]) if answer.nearest else ""
    return f'<p class="cw-text cw-abstained">{render_text(line)}</p>' + (
        f'<p class="cw-note">{hint}</p>' if hint else ""
    )


def _legend(sentences: tuple[AnswerSentence, ...]) -> str:
    verdicts = {sentence.verdict for sentence in sentences}
    words = []
    if "partial" in verdicts:
        words.append('<span class="cw-partial"><span class="cw-claim">Underlined</span></span>: only partly borne out')
    if "unsupported" in verdicts:
        words.append("<s>Struck through</s>: not borne out by any source")
    return f'<p class="cw-note cw-legend" aria-hidden="true">{" · ".join(words)}</p>' if words else ""


def _foot(answer: Answer, turn: int) -> str:
    percent = round(100 * min(1.0, max(0.0, answer.confidence)))
    parts = []
    if answer.status == "answered":
        parts.append(
            '<span class="cw-confidence" title="How sure Citewell is that the sources answer the question">'
            f'<span class="cw-meter" aria-hidden="true"><span style="width:{percent}%"></span></span>'
            f"{_sureness(answer.confidence)} ({percent}%)</span>"
        )
        parts.append(
            button("copy", "Copy with citations", turn, extra=f' data-copy="{attribute(answer_as_text(answer))}"')
        )
    parts.append(button("retry", "Ask again", turn))
    parts.append(button("show", "Sources" if answer.citations else "Nearest papers", turn, kind="cw-tool cw-show"))
    return f'<div class="cw-tools">{"".join(parts)}</div>'


def _sureness(confidence: float) -> str:
    return next(words for least, words in _SURENESS if confidence >= least)


def _opinion(exchange: Exchange, turn: int) -> str:
    """Thumbs, and after a thumb down the question why."""
    thumbs = "".join(
        f'<button type="button" class="cw-thumb" data-do="thumb" data-turn="{turn}" data-text="{thumb}" '
        f'aria-pressed="{"true" if exchange.thumb == thumb else "false"}" aria-label="{words}" title="{words}">{_THUMB}'
        "</button>"
        for thumb, words in (("up", "A good answer"), ("down", "Not a good answer"))
    )
    said = ""
    if exchange.thumb == "down" and not exchange.why:
        said = (
            '<input class="cw-find cw-why-not" data-enter="thumb-why" '
            f'data-turn="{turn}" aria-label="What was wrong with it?" placeholder="What was wrong? Enter sends it" '
            'maxlength="2000" autocomplete="off">'
        )
    elif exchange.thumb:
        thanks = "Kept: this answer will be checked again." if exchange.thumb == "down" else "Kept, thank you."
        said = f'<span role="status">{thanks}</span>'
    return f'<div class="cw-opinion">{thumbs}{said}</div>'


def answer_as_text(answer: Answer) -> str:
    """An answer to paste elsewhere: its sentences with markers, then each quote and where it stands."""
    lines = [answer.question, "", answer.text.strip()]
    if answer.citations:
        lines.append("")
    lines += [f"[{c.marker}] {c.label}: “{c.quote.strip()}” ({places(c.sources)})" for c in answer.citations]
    return "\n".join(lines)


def answer_as_markdown(answer: Answer, *, prefix: str, escape: Callable[[str], str]) -> str:
    """An answer whose markers are footnotes named ``prefix`` and number; ``escape`` makes text of text."""
    said = []
    for sentence in answer.sentences:
        text = escape(sentence.text.strip())
        shown = f"“{text}”" if sentence.quoted else text
        if sentence.verdict == "unsupported":
            shown = f"~~{shown}~~"
        refs = "".join(f"[^{prefix}{marker}]" for marker in sentence.citations)
        why = f" *({escape(sentence.reason or _VERDICTS[sentence.verdict])})*" if sentence.verdict in _VERDICTS else ""
        said.append(shown + refs + why)
    parts = [" ".join(said) or escape(answer.text.strip())]
    parts += [
        f"[^{prefix}{c.marker}]: {escape(c.label)}: “{escape(' '.join(c.quote.split()))}” ({escape(places(c.sources))})"
        for c in answer.citations
    ]
    return "\n\n".join(parts)


def name_of(paper: Paper) -> tuple[str, str]:
    """What a paper is called, and its title where that says something else: a label that is the title cut short, or written
    in plain letters, gives way to it."""
    title = plain(paper.title)
    if title and (paper.label == title or (paper.label.endswith("…") and title.startswith(paper.label[:-1].rstrip()))):
        return paper.title, ""
    return paper.label, paper.title


def places(sources: Iterable[Source]) -> str:
    """``a.txt, row 3; b.txt, row 9``."""
    return "; ".join(place(source) for source in sources)


def place(source: Source) -> str:
    return f"{source.file}, row {source.row}"


def citations_by_paper(citations: Iterable[Citation]) -> dict[str, list[Citation]]:
    """The citations of each paper, papers in the order of their first marker."""
    papers: dict[str, list[Citation]] = {}
    for citation in sorted(citations, key=lambda c: c.marker):
        papers.setdefault(citation.paper_id, []).append(citation)
    return papers
