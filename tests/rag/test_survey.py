from __future__ import annotations

import pytest

from rag.library import Library
from rag.records import Source
from rag.survey import Survey, count, survey_of


@pytest.mark.parametrize(
    ("question", "survey"),
    [
        ("How many papers are about federated learning?", Survey(("federated learning",), ())),
        ("Which papers use Llama models?", Survey(("Llama models",), ())),
        ("List all papers on flow matching.", Survey(("flow matching",), ())),
        ("Which papers are position papers?", Survey(("position paper",), ())),
        (
            "How many papers deal with partial differential equations (PDEs)?",
            Survey(("partial differential equations", "PDE"), ()),
        ),
        ("What is in file 002?", Survey((), ("002",))),
        ("How many papers are contained in both file 000 and file 001?", Survey((), ("000", "001"))),
        ("How many papers are there?", Survey((), ())),
        ("Which paper proposes FiedlerPrune?", None),
        ("How many samples does UFCOD need?", None),
        ("What does FiedlerPrune do?", None),
    ],
)
def test_a_question_about_the_whole_library_is_told_from_others(question: str, survey: Survey | None) -> None:
    assert survey_of(question) == survey


def test_every_paper_of_a_topic_is_counted_and_cited_with_the_sentence_that_tells(seeds_library: Library) -> None:
    counted = count(Survey(("federated learning",), ()), seeds_library)
    assert [p.label for p in counted.papers] == ["RISE", "FedSEM"]
    assert [item.text for item in counted.items] == [
        "2 of the library's 71 papers (whose abstract holds or comes near “federated learning”): RISE",
        "FedSEM",
    ]
    for item, paper in zip(counted.items, counted.papers, strict=True):
        (passage,) = item.judgement.support
        assert paper.abstract[passage.start : passage.end] == passage.text
        assert "federated learning" in passage.text.lower()


def test_a_name_is_looked_for_as_it_is_spelt(seeds_library: Library) -> None:
    labels = [p.label for p in count(Survey(("CIFAR",), ()), seeds_library).papers]
    assert labels == ["GeoSPRINT", "Trajectory-Matching Meta Pseudo-Labeling"]


def test_the_papers_of_two_files_are_those_that_stand_in_both(seeds_library: Library) -> None:
    counted = count(Survey((), ("000", "001")), seeds_library)
    assert [p.label for p in counted.papers] == [
        "RISE",
        "Conformal Abstention",
        "Merging with Directional Alignment",
        "LieVLM",
        "Flow matching for distributions obtained by smoothing a density on a compact…",
    ]
    assert counted.papers[0].sources == (
        Source("000_78485c96e14bfbbe.txt", 3),
        Source("001_3b4b1a2a6c9c9e9d.txt", 1),
    )


def test_a_topic_nobody_writes_about_counts_nothing(seeds_library: Library) -> None:
    assert count(Survey(("volcanic lava sampling",), ()), seeds_library).papers == ()
