from __future__ import annotations

from rag.records import Answer, Citation, Hit, Paper
from ui.conversation import Exchange
from ui.examples import examples_of, suggestions_of


def paper(number: int, label: str) -> Paper:
    return Paper(f"{number:02}", label, "An abstract.")


def test_questions_are_asked_about_papers_whose_label_is_a_name() -> None:
    papers = [
        paper(1, "GeoSPRINT"),
        paper(2, "Transfer learning for a linear regression task"),
        paper(3, "G³RAG"),
        paper(4, "DeltaVid"),
        paper(5, "Fixed-mask MC"),
        paper(6, "TRIP"),
        paper(7, "ODIN"),
        paper(8, "LieVLM"),
    ]
    read = iter(papers)
    assert examples_of(read) == [
        "What does GeoSPRINT do, and how well does it work?",
        "Which problem does G³RAG solve?",
        "How does DeltaVid work?",
        "What are Fixed-mask MC and TRIP each about?",
    ]
    assert [p.label for p in read] == ["ODIN", "LieVLM"], "no more are read than are needed"


def test_a_library_without_names_has_no_examples() -> None:
    assert examples_of([paper(1, "A study of cells"), paper(2, "On the growth of …")]) == []


def exchange(question: str, *, cites: tuple[Paper, ...], near: tuple[Paper, ...]) -> Exchange:
    citations = tuple(Citation(n, p.paper_id, p.label, "An", 0, 2, ()) for n, p in enumerate(cites, 1))
    hits = tuple(Hit(n, p, 0.5) for n, p in enumerate((*cites, *near), 1))
    status = "answered" if cites else "abstained"
    return Exchange(question, Answer(question, question, status, "So. [1]", (), citations, hits, 0.9), hits)


def test_questions_to_go_on_with_are_about_the_papers_cited_and_those_near() -> None:
    cited, near = paper(1, "GeoSPRINT"), paper(2, "DeltaVid")
    asked = exchange("How fast is it?", cites=(cited,), near=(paper(3, "A study of cells"), near))
    assert suggestions_of(asked, ["How fast is it?"]) == [
        "Which problem does GeoSPRINT solve?",
        "How does GeoSPRINT work?",
        "What are GeoSPRINT and DeltaVid each about?",
    ]
    assert suggestions_of(asked, ["how does  geosprint work?", "Which problem does GeoSPRINT solve?"]) == [
        "What are GeoSPRINT and DeltaVid each about?",
        "What does DeltaVid do, and how well does it work?",
    ]
    assert suggestions_of(exchange("它有多快？", cites=(cited,), near=()), []) == [
        "GeoSPRINT解决什么问题？",
        "GeoSPRINT是如何工作的？",
    ]
    assert suggestions_of(exchange("Weather?", cites=(), near=(near,)), []) == [
        "What does DeltaVid do, and how well does it work?"
    ]
    assert suggestions_of(Exchange("Weather?", error="no model"), []) == []
