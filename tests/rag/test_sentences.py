from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import SupportsIndex

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rag.sentences import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "parts",
    [
        ["We prune graphs.", "It is fast!", "Is it exact?", "Yes."],
        ["We bound $f(x. Y) = 1$.", "Then we go on."],
        ["Let $$a. B$$ hold.", "Then \\(x. Y\\) does.", "So does \\[z. W\\] here."],
        ["It needs $\\Omega(N^2)$ time.", "Ours needs $O(N\\log N)$."],
        ["It costs $3000.", "We pay $40.", "That is cheap."],
        ["It costs $3000 and then $40 more.", "That is cheap."],
        ["We use priors, e.g. Gaussians, i.e. Normal ones, cf. Bishop.", "They fit."],
        ["Smith et al. Show nothing."],  # a name may follow: cut only before a capital
        ["Smith et al. show it.", "We do not."],
        ["We use graphs, trees, etc. for that.", "They help."],
        ["See Fig. 3 and Eq. 4 w.r.t. Sec. 5.", "It holds for i.i.d. samples."],
        ["It drops from 0.83 to 0.5.", "That is 1.5 times less."],
        ["Take Node.js 3.11.7 now.", "It runs."],
        ["It was shown by J. Smith and A. B. Jones.", "We agree."],
        ["Code is at https://a.b/c.html?x=1.", "Data too (https://d.e/f.zip).", "Enjoy."],
        ["Code: \\url{https://a.b/C. D}.", "Run `make x. Y` first.", "Enjoy."],
        ["我们提出方法。", "它很快！", "好吗？", "好；", "完"],
        ["我们提出 GraphFoo。", "It is fast.", "真的。"],
        ['He said "no."', "Then he left (for good.)", "We **stayed.**", "Fine."],
        ["It solves many tasks.", "We show it."],
        ["\\method{} beats \\ours\\ by 2\\%.", "It is \\emph{good}."],
        ["Really?! yes, it is so.", "Good."],
        ["It is fast ... and exact for k = 1 ... 9.", "So it goes...", "We stop."],
        ["A heading", "A text without a stop"],
    ],
)
def test_a_text_is_cut_where_a_reader_would(parts: list[str]) -> None:
    if parts[0] == "Smith et al. Show nothing.":
        assert sentences(parts[0]) == ["Smith et al.", "Show nothing."]
    else:
        assert sentences(("\n \n" if parts[0] == "A heading" else " ").join(parts)) == parts


def test_sentences_joined_without_a_blank_are_parted() -> None:
    assert sentences("It solves many tasks.We show it. Version v1.Two stays.") == [
        "It solves many tasks.",
        "We show it.",
        "Version v1.Two stays.",
    ]


def test_nothing_has_no_sentences() -> None:
    assert sentence_spans("") == []
    assert sentence_spans(" \n\t ") == []


def test_offsets_are_those_of_the_text() -> None:
    assert sentence_spans("  A b.\n\n C 0.5 d.  ") == [(2, 6), (9, 17)]


def test_the_seeds_have_no_sentence_that_starts_in_the_middle(seeds: Path) -> None:
    abstracts = [part for file in sorted(seeds.iterdir()) for part in file.read_text().split("\n\n")[1:]]
    found = [sentence for abstract in abstracts for sentence in sentences(abstract)]
    assert len(abstracts) == 76
    assert [s for s in found if s[0].islower() or s[0] in ",;:.)%"] == []


PIECES = [
    *("e.g.", "et al.", " ", "  ", "\n", "\n\n", "\r\n", "A", "b", "We ", "$x$", "$", "$$a. B$$", "\\(", "\\)", "\\ "),
    *(".", "!", "?", "...", "。", "；", "3.5", "https://a.b/c.", "`x. Y`", "J", "(", ")", '"', "\\url{a. B}", "é"),
    *("\u2028", "\x1f", "\u200b", "🙂"),
]
TEXTS = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))


@settings(max_examples=200)
@given(TEXTS)
@example("$a. B https://c.d/$ E. F")
def test_spans_are_in_order_apart_trimmed_and_cover_every_visible_character(text: str) -> None:
    spans = sentence_spans(text)
    assert [edge for span in spans for edge in span] == sorted(edge for span in spans for edge in span)
    assert all(start < end for start, end in spans)
    assert [text[a:b] for a, b in spans] == [text[a:b].strip() for a, b in spans]
    covered = {i for start, end in spans for i in range(start, end)}
    assert [i for i, character in enumerate(text) if not character.isspace() and i not in covered] == []


class Counted(str):
    """A text that counts the characters that are taken out of it."""

    taken = 0

    def __getitem__(self, key: SupportsIndex | slice) -> str:  # type: ignore[override]
        part = super().__getitem__(key)
        self.taken += len(part)
        return part


@pytest.mark.parametrize(
    ("make", "sentences"),
    [(lambda n: "We show that it works well. " * n, lambda n: n), (lambda n: "a" + "\n" * n + "b", lambda n: 2)],
    ids=["sentences", "empty lines"],
)
def test_a_book_takes_no_more_work_a_character_than_an_abstract(
    make: Callable[[int], str], sentences: Callable[[int], int]
) -> None:
    def work(n: int) -> float:
        text = Counted(make(n))
        assert len(sentence_spans(text)) == sentences(n)
        return text.taken / len(text)

    assert 0 < work(20_000) < 1.1 * work(200)
