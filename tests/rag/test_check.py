from __future__ import annotations

import pytest

from rag.check import Checker, Verification
from rag.errors import QuestionError
from rag.library import Library
from rag.records import Citation, Paper
from rag.retrieve import CitewellRetriever

LSUN = (
    "On LSUN Church, it reduces FID from 1.48 to 1.26 at 52 steps, and on Stable Diffusion v1.5 it achieves up to 1.93 "
    "FID improvement over DDIM."
)
SAID = "On LSUN Church, GeoSPRINT reduces FID from 1.48 to 1.26 at 52 steps."


@pytest.fixture(scope="module")
def checker(seeds_library: Library) -> Checker:
    return Checker(CitewellRetriever(seeds_library))


@pytest.fixture(scope="module")
def geosprint(seeds_library: Library) -> Paper:
    return next(p for p in seeds_library.papers() if p.label == "GeoSPRINT")


def citation(paper: Paper, quote: str) -> Citation:
    start = paper.abstract.index(quote)
    return Citation(1, paper.paper_id, paper.label, quote, start, start + len(quote), paper.sources)


@pytest.mark.parametrize("one_paper", [True, False])
def test_a_true_sentence_is_supported_with_the_exact_words(checker: Checker, geosprint: Paper, one_paper: bool) -> None:
    found = checker.check(f" {SAID}\n", paper_id=geosprint.paper_id if one_paper else None)
    assert found == Verification(SAID, "supported", found.score, (citation(geosprint, LSUN),), "")
    assert 0.5 < found.score <= 1


@pytest.mark.parametrize("one_paper", [True, False])
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "On LSUN Church, GeoSPRINT reduces FID from 1.48 to 1.16 at 52 steps.",
            "the figure 1.16 is not in the source",
        ),
        (
            "On LSUN Church, GeoSPRINT increases FID from 1.48 to 1.26 at 52 steps.",
            "the source says the opposite of “increases”",
        ),
        (
            "On LSUN Church, GeoSPRINT does not reduce FID from 1.48 to 1.26 at 52 steps.",
            "the source does not agree on the negation (not reduce FID from)",
        ),
    ],
)
def test_a_false_sentence_is_contradicted_by_the_exact_words(
    checker: Checker, geosprint: Paper, said: str, reason: str, one_paper: bool
) -> None:
    found = checker.check(said, paper_id=geosprint.paper_id if one_paper else None)
    assert found == Verification(said, "contradicted", found.score, (citation(geosprint, LSUN),), reason)
    assert 0 <= found.score < 0.5


@pytest.mark.parametrize(
    "said", ["France won the football World Cup in 1998.", "Tiramisu goes well with Chianti.", "lorem ipsum", "?"]
)
def test_what_the_library_does_not_speak_of_is_unsupported_and_cites_nothing(checker: Checker, said: str) -> None:
    found = checker.check(said)
    assert (found.sentence, found.verdict, found.citations) == (said, "unsupported", ())
    assert found.reason


def test_another_paper_does_not_bear_the_sentence_out(
    checker: Checker, geosprint: Paper, seeds_library: Library
) -> None:
    for other in seeds_library.papers():
        if other.paper_id != geosprint.paper_id:
            assert checker.check(SAID, paper_id=other.paper_id).verdict != "supported"


@pytest.mark.parametrize("one_paper", [True, False])
def test_another_method_is_not_credited_with_a_result(checker: Checker, geosprint: Paper, one_paper: bool) -> None:
    said = "On LSUN Church, GeoDASH reduces FID from 1.48 to 1.26 at 52 steps."
    assert checker.check(said, paper_id=geosprint.paper_id if one_paper else None).verdict != "supported"


def test_every_sentence_of_a_paper_is_supported_by_it(checker: Checker, geosprint: Paper) -> None:
    for sentence in geosprint.abstract.split(". ")[:3]:
        found = checker.check(sentence, paper_id=geosprint.paper_id)
        assert found.verdict == "supported"
        for one in found.citations:
            assert one.quote == geosprint.abstract[one.start : one.end]


def test_what_cannot_be_checked_is_refused(checker: Checker, geosprint: Paper) -> None:
    with pytest.raises(QuestionError, match=r"^the library holds no paper 'nope'; 'citewell papers' lists the ids$"):
        checker.check(SAID, paper_id="nope")
    for said in ("", " \n"):
        with pytest.raises(QuestionError, match="empty"):
            checker.check(said, paper_id=geosprint.paper_id)
    with pytest.raises(QuestionError, match="20,000 characters"):
        checker.check("x" * 20_000)
