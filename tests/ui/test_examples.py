from __future__ import annotations

from rag.records import Paper
from ui.examples import examples_of


def paper(number: int, label: str) -> Paper:
    return Paper(f"{number:02}", label, "An abstract.")


def test_questions_are_asked_about_papers_whose_label_is_a_name() -> None:
    papers = [
        paper(5, "Fixed-mask MC"),
        paper(1, "GeoSPRINT"),
        paper(2, "Transfer learning for a linear regression task"),
        paper(3, "G³RAG"),
        paper(4, "DeltaVid"),
        paper(6, "TRIP"),
    ]
    assert examples_of(papers) == [
        "What does GeoSPRINT do, and how well does it work?",
        "Which problem does G³RAG solve?",
        "How does DeltaVid work?",
        "What are Fixed-mask MC and TRIP each about?",
    ]


def test_a_library_without_names_has_no_examples() -> None:
    assert examples_of([paper(1, "A study of cells"), paper(2, "On the growth of …")]) == []
