from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag.cite import Checked, Claim, check_claims, cited, complete, quote_of, split_claims, whole, written
from rag.embed import Embedder
from rag.records import AnswerSentence, Citation, Evidence, Paper, Source
from rag.verify import Judgement, Passage, Verifier, passages_of

ORCA = Paper(
    "p1",
    "ORCA",
    "Deep sets are hard to calibrate when labels are scarce. We present ORCA, which fits one temperature per cluster of "
    "inputs. On CIFAR-100, ORCA lowers the calibration error from 4.1% to 1.3% without any retraining.",
    sources=(Source("a.txt", 1), Source("b.txt", 4)),
)
KITE = Paper(
    "p2", "KITE", "We present KITE, a codec for speech at 2 kbit/s. Listeners prefer it.", sources=(Source("a.txt", 2),)
)
PASSAGES = passages_of(ORCA) + passages_of(KITE)
EVIDENCE = [
    Evidence(n, p.paper_id, p.start, p.end, p.text, score)
    for n, (p, score) in enumerate(zip(PASSAGES[1:4], (0.7, 0.9, 0.2), strict=True), 1)
]
QUESTION = "How does ORCA calibrate a model, and by how much does the calibration error fall?"


def ones(term: str) -> float:
    return 1.0


@pytest.fixture(scope="module")
def verifier(embedder: Embedder) -> Verifier:
    return Verifier(embedder, ones)


@pytest.mark.parametrize(
    ("raw", "claims"),
    [
        ("", []),
        ("[1]", []),
        ("...", []),
        ("One holds [1]. Two holds [2, 3].", [Claim("One holds.", (1,)), Claim("Two holds.", (2, 3))]),
        ("One holds. [1][2] Two holds.[3]", [Claim("One holds.", (1, 2)), Claim("Two holds.", (3,))]),
        ("One [1] and two [2] hold", [Claim("One and two hold", (1, 2))]),
        ("- one holds [1]\n* two holds\n3. three holds [1]", [Claim("one holds", (1,)), Claim("two holds", ()), Claim("three holds", (1,))]),
        ("它有效。[1] 误差为 1.3%【2】。", [Claim("它有效。", (1,)), Claim("误差为 1.3%。", (2,))]),
        ("It holds [1][1] [ 1 ].", [Claim("It holds.", (1,))]),
        ("It holds [99].", [Claim("It holds.", (99,))]),
        ("It costs 3.5 s, e.g. here [2].", [Claim("It costs 3.5 s, e.g. here.", (2,))]),
    ],
)  # fmt: skip
def test_raw_text_is_split_into_sentences_and_the_evidence_they_name(raw: str, claims: list[Claim]) -> None:
    assert split_claims(raw) == claims


@given(
    st.lists(
        st.sampled_from(["[", "]", "【", "】", "1", "23", ",", " ", ".", "a", "B", "\n", "-", "[7]", "句。"]),
        max_size=25,
    )
)
@example(pieces=["a", "[", "[1]", "2", "]", "."])
def test_no_marker_is_left_in_a_claim(pieces: list[str]) -> None:
    for claim in split_claims("".join(pieces)):
        assert not re.search(r"[\[【]\s*\d+\s*[\]】]", claim.text)
        assert claim.text.strip()


@given(st.text(max_size=80))
def test_any_text_can_be_split(raw: str) -> None:
    assert all(re.search(r"\w", claim.text) for claim in split_claims(raw))


def test_a_number_of_thousands_of_digits_in_brackets_is_no_crash() -> None:
    assert [c.text for c in split_claims(f"It holds [{'9' * 5000}].")] == ["It holds."]


def test_claims_are_held_against_the_passages_and_each_is_kept_once(verifier: Verifier) -> None:
    claims = [
        Claim("ORCA fits one temperature per cluster of inputs.", (1,)),
        Claim("One temperature per cluster of inputs: ORCA fits.", (1,)),
        Claim("ORCA lowers the calibration error from 4.1% to 2.3%.", (2,)),
    ]
    kept, failed = check_claims(claims, QUESTION, EVIDENCE, [ORCA, KITE], verifier)
    assert [(k.text, k.judgement.verdict, k.judgement.support, k.quoted) for k in kept] == [
        ("ORCA fits one temperature per cluster of inputs.", "supported", (PASSAGES[1],), False),
        (PASSAGES[2].text, "supported", (PASSAGES[2],), True),  # in the place of what was not so
    ]
    assert [(c, j.verdict, j.reason) for c, j in failed] == [
        (claims[2], "unsupported", "the figure 2.3 is not in the source")
    ]


@pytest.mark.parametrize("numbers", [(), (1,), (3,), (77,), (0,)])
def test_a_wrong_or_missing_marker_is_repaired(verifier: Verifier, numbers: tuple[int, ...]) -> None:
    claim = Claim("ORCA lowers the calibration error from 4.1% to 1.3%.", numbers)
    kept, failed = check_claims([claim], QUESTION, EVIDENCE, [ORCA, KITE], verifier)
    assert (len(kept), failed) == (1, [])
    assert kept[0].judgement.support == (PASSAGES[2],)


def test_a_claim_that_only_says_the_question_again_becomes_what_its_source_says(verifier: Verifier) -> None:
    claim = Claim("ORCA lowers the calibration error on CIFAR-100.", (2,))
    question = "Does ORCA lower the calibration error on CIFAR-100?"
    assert check_claims([claim, claim], question, EVIDENCE, [ORCA, KITE], verifier) == ([quote_of(PASSAGES[2])], [])


def test_a_claim_with_a_figure_of_its_own_is_no_echo_and_no_repetition(verifier: Verifier) -> None:
    """One-digit figures count, though no word index holds them."""
    text = "ORCA lowers the error by 0.7 in one run and by 0.9 in the other."
    paper = Paper("p1", "ORCA", text)
    claims = [Claim("ORCA lowers the error by 0.7.", ()), Claim("ORCA lowers the error by 0.9.", ())]
    kept, failed = check_claims(claims, "By how much does ORCA lower the error?", [], [paper], verifier)
    assert [(k.text, k.quoted) for k in kept] == [(c.text, False) for c in claims]
    assert failed == []


def test_a_claim_about_another_paper_than_its_words_come_from_falls(verifier: Verifier) -> None:
    claim = Claim("KITE fits one temperature per cluster of inputs.", (1,))
    kept, failed = check_claims([claim], QUESTION, EVIDENCE, [ORCA, KITE], verifier)
    assert kept == [quote_of(PASSAGES[1])]
    assert [(c, j.verdict, j.reason) for c, j in failed] == [(claim, "unsupported", "the source is not about kite")]


def test_a_quote_is_the_source_and_certain() -> None:
    passage = PASSAGES[1]
    expected = Checked(passage.text, Judgement("supported", 1.0, (passage,), coverage=1.0), quoted=True)
    assert quote_of(passage) == expected


def test_without_a_sentence_that_holds_the_likeliest_evidence_is_quoted() -> None:
    answer = complete([], 1, QUESTION, EVIDENCE, [], ones)
    assert answer[0] == quote_of(PASSAGES[2])
    assert all(c.quoted for c in answer)
    assert complete([], 0, QUESTION, [], [], ones) == []


def test_a_paper_that_the_question_needs_and_the_answer_passes_over_is_quoted() -> None:
    said = [Checked(p.text, Judgement("supported", 0.9, (p,))) for p in PASSAGES[1:3]]
    assert complete(said, 0, QUESTION, EVIDENCE, [ORCA, KITE], ones) == [*said, quote_of(PASSAGES[3])]


def test_a_sentence_that_says_less_than_half_of_its_source_gives_way_to_it() -> None:
    source = PASSAGES[2]
    short = Checked("ORCA lowers the error.", Judgement("supported", 0.9, (source,)))
    long = Checked(source.text, Judgement("supported", 0.9, (source,)))
    both = Checked("ORCA and Kite differ.", Judgement("supported", 0.9, (source, PASSAGES[3])))
    assert whole([short], QUESTION) == [quote_of(source)]
    assert whole([short, short], QUESTION) == [quote_of(source)]
    assert whole([long, both], QUESTION) == [long, both]


def test_a_straight_answer_with_the_figure_asked_for_stays_short() -> None:
    source = Passage(
        "p1", 0, 95, "On CIFAR-100, ORCA lowers the calibration error from 4.1% to 1.3% without any retraining at all."
    )
    straight = Checked("ORCA lowers the calibration error to 1.3%.", Judgement("supported", 0.9, (source,)))
    assert whole([straight], "To what does ORCA lower the calibration error?") == [straight]
    assert whole([straight], "To what does ORCA lower the error on CIFAR-100?") == [quote_of(source)]


def test_an_answer_that_says_all_is_left_as_it_is() -> None:
    said = [Checked(p.text, Judgement("supported", 0.9, (p,))) for p in PASSAGES[1:3]]
    assert complete(said, 0, QUESTION, EVIDENCE, [ORCA], ones) == said


def test_what_is_shown_is_numbered_in_order_of_appearance() -> None:
    a, b, c = PASSAGES[2], PASSAGES[1], PASSAGES[3]
    checked = [
        Checked("Two things hold.", Judgement("partial", 0.5, (a, b), "the source says only part of this")),
        Checked("误差降低。", Judgement("supported", 0.9, (b,)), original="The error falls."),
        Checked(c.text, Judgement("supported", 1.0, (c, a)), quoted=True),
        Checked("No stop", Judgement("supported", 0.9, (a,))),
    ]
    sentences, citations = cited(checked, {"p1": ORCA, "p2": KITE})
    assert sentences == [
        AnswerSentence("Two things hold.", "partial", (1, 2), "the source says only part of this"),
        AnswerSentence("误差降低。", "supported", (2,), original="The error falls."),
        AnswerSentence(c.text, "supported", (1, 3), quoted=True),
        AnswerSentence("No stop", "supported", (1,)),
    ]
    assert citations == [
        Citation(1, "p1", "ORCA", a.text, a.start, a.end, ORCA.sources),
        Citation(2, "p1", "ORCA", b.text, b.start, b.end, ORCA.sources),
        Citation(3, "p2", "KITE", c.text, c.start, c.end, KITE.sources),
    ]
    assert written(sentences) == (
        "Two things hold [1][2]. 误差降低 [2]。 “We present KITE, a codec for speech at 2 kbit/s.” [1][3] No stop [1]"
    )
    assert cited([], {}) == ([], [])
    assert written([]) == ""


@given(st.lists(st.lists(st.sampled_from(PASSAGES), min_size=1, max_size=3, unique=True), max_size=6))
def test_markers_and_citations_always_agree(rows: list[list[Passage]]) -> None:
    checked = [Checked(f"s{i}.", Judgement("supported", 0.9, tuple(row))) for i, row in enumerate(rows)]
    sentences, citations = cited(checked, {"p1": ORCA, "p2": KITE})
    papers = {"p1": ORCA, "p2": KITE}
    assert list(dict.fromkeys(n for s in sentences for n in s.citations)) == [c.marker for c in citations]
    assert [c.marker for c in citations] == list(range(1, len(citations) + 1))
    assert all(c.quote == papers[c.paper_id].abstract[c.start : c.end] for c in citations)
    for sentence, row in zip(sentences, rows, strict=True):
        assert {citations[n - 1].quote for n in sentence.citations} == {p.text for p in row}
    assert re.findall(r"\[(\d+)\]", written(sentences)) == [str(n) for s in sentences for n in s.citations]
