from __future__ import annotations

import pytest

from rag.count import count
from rag.library import Library
from rag.records import Source
from rag.statements import STATEMENTS
from rag.survey import Survey, survey_of

KINDS = {s.name: s for s in STATEMENTS}
POSITION, LATER, RELEASED = KINDS["a position"], KINDS["code promised for later"], KINDS["code or models released"]
ROBOTS, PROOF, UNTRAINED = KINDS["trials on real hardware"], KINDS["a proof or guarantee"], KINDS["no training needed"]


@pytest.mark.parametrize(
    ("question", "survey"),
    [
        ("How many papers are about federated learning?", Survey(("federated learning",), ())),
        ("Which papers use Llama models?", Survey(("Llama",), ())),
        ("List all papers on flow matching.", Survey(("flow matching",), ())),
        ("Which papers are position papers?", Survey((), (), (POSITION,))),
        ("Which papers promise to release their code later on?", Survey((), (), (LATER,))),
        (
            "Which papers deal with both federated learning and embeddings?",
            Survey(("federated learning", "embeddings"), (), all_topics=True),
        ),
        (
            "List the benchmarks and datasets named for 3D scenes, pose estimation and SLAM.",
            Survey(("3D scenes", "pose estimation", "SLAM"), (), lists="benchmarks and datasets"),
        ),
        ("List the datasets that FiedlerPrune is tested on.", None),
        ("List the two components of GeoSPRINT.", None),
        (
            "How many papers deal with partial differential equations (PDEs)?",
            Survey(("partial differential equations", "PDE"), ()),
        ),
        ("What is in file 002?", Survey((), ("002",))),
        ("How many papers are contained in both file 000 and file 001?", Survey((), ("000", "001"))),
        ("How many papers are there?", Survey((), ())),
        ("who evaluates on cifar", Survey(("cifar",), ())),
        ("zeroth-order optimisation - who uses it", Survey(("zeroth-order optimisation",), ())),
        ("any lora papers?", Survey(("lora",), ())),
        ("List the Gaussian splatting papers.", Survey(("Gaussian splatting",), ())),
        ("list everything that works with video", Survey(("video",), ())),
        ("what's there on 3d or 4d scene reconstruction", Survey(("3d 4d scene reconstruction",), ())),
        ("in 004, who works on PDEs?", Survey(("PDEs",), ("004",))),
        (
            "I'm collecting papers on oversmoothing in graph neural networks, which ones do you have?",
            Survey(("oversmoothing in graph neural networks",), ()),
        ),
        (
            "Which papers evaluate on multi-hop question answering, e.g. HotpotQA?",
            Survey(("multi-hop question answering", "HotpotQA"), ()),
        ),
        ("Is there any paper that was tested on real robots, not only in simulation?", Survey((), (), (ROBOTS,))),
        ("Which theory papers prove excess risk bounds?", Survey(("excess risk",), (), (PROOF,))),
        ("Which papers release code or promise that they will?", Survey((), (), (LATER, RELEASED))),
        ("are there papers that are listed twice? which ones?", Survey((), (), twice=True)),
        ("Which methods call themselves training-free?", Survey((), (), (UNTRAINED,))),
        ("Which methods does FiedlerPrune outperform?", None),
        ("What works best for pruning?", None),
        ("Tell me about the FiedlerPrune paper.", None),
        ("Does the paper report a speed-up?", None),
        ("How many transit records does TransitLM contain?", None),
        ("Who are the authors of GeoSPRINT?", None),
        ("What drawbacks do one-step meta-gradient methods have?", None),
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


def test_what_papers_state_of_their_own_work_is_found_in_whatever_words(seeds_library: Library) -> None:
    asked = survey_of("Which papers promise to release their code later on?")
    assert asked is not None
    counted = count(asked, seeds_library)
    assert [item.text for item in counted.items] == [
        "3 of the library's 71 papers (whose abstract tells of code promised for later): "
        "Geometry-Aware Representation Denoising (GARD)",
        "TeSCo",
        "Transcoda",
    ]
    assert [item.judgement.support[0].text for item in counted.items] == [
        "Our code and weights will be publicly released for full reproducibility.",
        "Our code and model as well as results will be released.",
        "We will make our model, data and generation pipeline publicly available upon publication of the paper.",
    ]


def test_benchmarks_are_listed_by_name_each_with_its_sentence(seeds_library: Library) -> None:
    asked = survey_of("List the benchmarks for pose estimation and SLAM.")
    assert asked is not None
    counted = count(asked, seeds_library)
    assert [item.text.rsplit(": ", 1)[-1] for item in counted.items] == [
        "REAL275, Wild6D (Synthetic-to-real (Syn2Real) generalized COPE)",
        "Replica, ScanNet (Concord-SLAM)",
    ]


def test_an_acronym_stands_for_what_the_library_says_and_is_not_found_inside_words(seeds_library: Library) -> None:
    spelt_out = count(Survey(("neural collapse",), ()), seeds_library).papers
    assert {"Merging with Directional Alignment", "Multi-class CE dynamics"} <= {p.label for p in spelt_out}
    assert spelt_out == count(Survey(("NC",), ()), seeds_library).papers
