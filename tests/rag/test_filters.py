"""Filters: what fits, that searches keep to it, and what is said where nothing does."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import QueryBundle
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from rag import within
from rag.answer import CitewellQueryEngine
from rag.catalogue import SORTS, Catalogue
from rag.contract import where_json, where_of
from rag.count import count
from rag.errors import QuestionError
from rag.filters import Filter
from rag.library import Library
from rag.records import Paper, Source
from rag.retrieve import CitewellRetriever, filter_of
from rag.survey import Survey
from rag.sync import sync

PAPERS = [
    Paper("p1", "b", "One.", "Beta", ("Yoshua Bengio", "Aurélien Géron"), "ICML", 2019, ("Graph-neural networks",)),
    Paper(
        "p2", "A", "Two.", "alpha", ("Bengio, S.", "Rianne van den Berg"), "Proc. of EMNLP-IJCNLP", 2020, ("graphs",)
    ),
    Paper("p3", "c", "Three MORE.", "", ("李明", "Wang Wei"), "Neural Information Processing", None, ("图神经网络",)),
    Paper("p4", "d", "Four.", "Gamma", (), "", 2021, ()),
]
PLACES = [("talks/icml2019.json", 1), ("talks/emnlp.bib", 2), ("003_cn.txt", 1), ("talks/Old/a.tar.gz/x.csv", 4)]


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalogue]:
    found = Catalogue(tmp_path_factory.mktemp("filters") / "catalogue.sqlite")
    found.write_papers(
        [
            Paper(*(getattr(p, name) for name in Paper.__slots__[:-1]), sources=(Source(*place),))
            for p, place in zip(PAPERS, PLACES, strict=True)
        ],
        remove=[],
    )
    yield found
    found.close()


@pytest.mark.parametrize(
    ("asked", "fit"),
    [
        ({"year": "2019"}, "p1"),
        ({"year": "2019..2020"}, "p1 p2"),
        ({"year": "2020.."}, "p2 p4"),
        ({"year": " ..2020 "}, "p1 p2"),
        ({"year": "2020-2021"}, "p2 p4"),
        ({"venue": "icml"}, "p1"),
        ({"venue": ["ICML", "emnlp"]}, "p1 p2"),
        ({"venue": "neural information"}, "p3"),
        ({"venue": "information neural"}, ""),
        ({"venue": "neur"}, ""),
        ({"keyword": "graph neural"}, "p1"),
        ({"keyword": "GRAPHS"}, "p2"),
        ({"keyword": "神经"}, "p3"),
        ({"author": "bengio"}, "p1 p2"),
        ({"author": "Y. Bengio"}, "p1"),
        ({"author": "Bengio, Samy"}, "p2"),
        ({"author": "Bengio Yoshua"}, "p1"),
        ({"author": "Yann Bengio"}, ""),
        ({"author": "geron"}, "p1"),
        ({"author": "van den Berg"}, "p2"),
        ({"author": "R. van den Berg"}, "p2"),
        ({"author": "Wei Wang"}, "p3"),
        ({"author": "李明"}, "p3"),
        ({"file": "talks"}, "p1 p2 p4"),
        ({"file": "talks/old/"}, "p4"),
        ({"file": "ICML2019"}, "p1"),
        ({"file": "emnlp.bib"}, "p2"),
        ({"file": "003*"}, "p3"),
        ({"file": "icml"}, ""),
        ({"year": "2019..2021", "author": ["bengio", "geron"], "file": "*.bib"}, "p2"),
    ],
)
def test_what_fits_a_filter(catalogue: Catalogue, asked: dict[str, Any], fit: str) -> None:
    assert catalogue.matching(Filter.parse(**asked)) == set(fit.split())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"year": "20192021"}, "the year '20192021' is no year; write 2019, 2019..2021, 2019.. or ..2021"),
        ({"year": ".."}, "the year '..' is no year"),
        ({"year": "19"}, "the year '19' is no year"),
        ({"year": "2021..2019"}, "the years '2021..2019' end before they begin; write 2019..2021"),
        ({"venue": "?!"}, "the venue '\\?!' holds no word to look for"),
        ({"author": ["Ann", "Anonymous"]}, "the author 'Anonymous' holds no word to look for"),
        ({"file": " "}, "the file ' ' holds no word to look for"),
    ],
)
def test_a_filter_that_nothing_could_fit_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(QuestionError, match=said):
        Filter.parse(**asked)


def test_a_filter_says_what_it_is() -> None:
    assert str(Filter.parse(year="2019", venue=["ICML", "NeurIPS"])) == "year 2019, venue ICML or NeurIPS"
    assert str(Filter.parse(year="..2021", author="Y. Bengio", keyword="", file="a.txt")) == (
        "year ..2021, author Y. Bengio, file a.txt"
    )
    assert not Filter.parse(venue="")


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        ({}, "p1 p2 p3 p4"),
        ({"sort": "year"}, "p1 p2 p4 p3"),
        ({"sort": "year", "reverse": True}, "p4 p2 p1 p3"),
        ({"sort": "title"}, "p2 p1 p4 p3"),
        ({"sort": "label", "limit": 2}, "p2 p1"),
        ({"sort": "venue"}, "p1 p3 p2 p4"),
        ({"sort": "file"}, "p3 p4 p2 p1"),
        ({"contains": " three  more"}, "p3"),
        ({"contains": "BETA"}, "p1"),
        ({"limit": 0}, ""),
    ],
)
def test_papers_are_listed_in_an_order(catalogue: Catalogue, options: dict[str, Any], listed: str) -> None:
    assert [p.paper_id for p in catalogue.listed(Filter(), **options)] == listed.split()
    assert set(SORTS) == {"id", "year", "label", "title", "venue", "file"}


def test_a_catalogue_of_an_older_format_learns_its_fields(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    old = Catalogue(path)
    old.write_papers(PAPERS, remove=[])
    old.close()
    database = sqlite3.connect(path)
    first = {"meta", "roots", "files", "records", "papers", "chunks", "merges"}
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    later = "".join(f"DROP TABLE {name};" for name in sorted(tables - first))
    database.executescript(f"{later} PRAGMA user_version=1;")
    database.close()
    new = Catalogue(path)
    assert new.matching(Filter.parse(author="Y. Bengio")) == {"p1"}
    new.write_papers([], remove=["p1"])
    assert new.matching(Filter.parse(year="2019..")) == {"p2", "p4"}
    new.close()


@pytest.fixture
def library(tmp_path: Path, fake) -> Iterator[Library]:  # type: ignore[no-untyped-def]
    """90 papers of three years and two venues; those of the last year share no word with "pruning graphs"."""
    path = tmp_path / "list.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["title", "abstract", "year", "venue"])
        for n in range(90):
            year = 2019 + n % 3
            about = "We hear distant sounds" if year == 2021 else "We prune large graphs"
            rows.writerow(
                [f"Study {n}", f"{about} in way {n * 7919}. It is number {n}.", year, "ICML" if n < 45 else "X"]
            )
    sync(tmp_path / "lib", [path], lambda: fake, embedder_print=fake.fingerprint)
    found = Library(tmp_path / "lib", fake)
    yield found
    found.close()


@pytest.mark.parametrize("compared", [0, 5000])
@pytest.mark.parametrize("asked", [{"year": "2021"}, {"year": "2021", "venue": "icml"}, {"venue": "x"}])
def test_a_filtered_search_is_the_whole_ranking_with_the_others_left_out(
    library: Library, monkeypatch: pytest.MonkeyPatch, compared: int, asked: dict[str, str]
) -> None:
    monkeypatch.setattr(within, "_COMPARED", compared)
    where = Filter.parse(**asked)
    fit = library.within(where, library.snapshot())
    assert fit is not None
    retriever = CitewellRetriever(library)
    whole = [h for h in retriever.search("prune graphs", k=90) if h.paper.paper_id in fit.paper_ids]
    for k in (1, 10, 90):
        found = retriever.search("prune graphs", k=k, where=where)
        assert [h.score for h in found] == pytest.approx([h.score for h in whole[:k]])
        assert {h.paper.paper_id for h in found} <= fit.paper_ids
        assert len({h.paper.paper_id for h in found}) == min(k, len(fit))
    assert CitewellRetriever(library, where=where).search("prune graphs", k=3) == retriever.search(
        "prune graphs", k=3, where=where
    )


def test_the_graph_is_asked_for_more_until_enough_papers_fit(
    library: Library, monkeypatch: pytest.MonkeyPatch, fake: Any
) -> None:
    monkeypatch.setattr(within, "_COMPARED", 0)
    snapshot = library.snapshot()
    fit = library.within(Filter.parse(year="2021"), snapshot)
    assert fit is not None
    for depth, papers in ((1, 1), (5, 5), (1, 30), (1000, 1)):
        (row,) = fit.nearest(snapshot, fake.encode(["We prune large graphs"]), depth, papers)
        assert len(row) >= min(30, max(depth, papers))
        assert {snapshot.paper_of_chunk[c] for c, _ in row} <= fit.paper_ids
        assert [cosine for _, cosine in row] == sorted((cosine for _, cosine in row), reverse=True)


def test_what_llama_index_calls_filters_is_understood(library: Library) -> None:
    filters = MetadataFilters(
        filters=[
            MetadataFilter(key="year", value=2019, operator=FilterOperator.GT),
            MetadataFilter(key="year", value=2021, operator=FilterOperator.LTE),
            MetadataFilter(key="venue", value=["ICML", "NeurIPS"], operator=FilterOperator.IN),
            MetadataFilter(key="authors", value="Y. Bengio"),
        ]
    )
    assert filter_of(filters) == Filter(2020, 2021, ("ICML", "NeurIPS"), ("Y. Bengio",))
    of_2020 = MetadataFilters(filters=[MetadataFilter(key="year", value=2020)])
    nodes = CitewellRetriever(library, filters=of_2020).retrieve(QueryBundle("prune graphs"))
    assert [node.metadata["year"] for node in nodes] == [2020] * 10
    for unknown in (
        MetadataFilters(filters=[MetadataFilter(key="label", value="x")]),
        MetadataFilters(filters=[MetadataFilter(key="venue", value="x", operator=FilterOperator.NE)]),
        MetadataFilters(filters=[of_2020]),
        MetadataFilters(filters=of_2020.filters, condition=FilterCondition.OR),
    ):
        with pytest.raises(QuestionError, match="filter"):
            filter_of(unknown)


def test_answers_keep_to_the_filter_and_say_so(library: Library, scripted: Any) -> None:
    engine = CitewellQueryEngine(CitewellRetriever(library), scripted(answer="Nothing."))
    where = Filter.parse(year="2021", venue="ICML")
    answer = engine.ask("Which wine goes with tiramisu?", where=where)
    assert (answer.status, answer.text) == (
        "abstained",
        "None of the 15 papers within the filter (year 2021, venue ICML) answers this question.",
    )
    assert {hit.paper.year for hit in answer.nearest} == {2021}
    assert engine.ask("Hello!", where=where).text == (
        "Hello! Ask me something about the 15 papers within the filter (year 2021, venue ICML)."
    )
    with pytest.raises(
        QuestionError, match=r"no paper of the library fits the filter \(year 1999\); 'citewell papers'"
    ):
        engine.ask("Which wine?", where=Filter.parse(year="1999"))
    listed = engine.ask("How many papers are about sounds?", where=where)
    assert "15 of the filter's (year 2021, venue ICML) 15 papers (whose abstract holds" in listed.text


def test_a_whole_library_question_looks_at_what_fits(library: Library) -> None:
    counted = count(Survey(("graphs",), ()), library, Filter.parse(year="2019", venue="X"))
    assert {(paper.year, paper.venue) for paper in counted.papers} == {(2019, "X")}
    assert counted.items[0].text.startswith("15 of the filter's (year 2019, venue X) 15 papers (")


@pytest.mark.parametrize(
    "asked", [{}, {"year": "2019..2021", "venue": ["ICML"], "author": ["Y. Bengio"], "file": ["a*"]}]
)
def test_a_filter_goes_to_a_program_and_back(asked: dict[str, Any]) -> None:
    assert where_of(where_json(Filter.parse(**asked))) == Filter.parse(**asked)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ("ICML", '"where" must be an object of year, venue'),
        ({"topic": "x"}, '"where" must be an object of year, venue'),
        ({"year": 2019}, 'the year of "where" must be a text'),
        ({"venue": "ICML"}, 'the venue of "where" must be a list of texts'),
    ],
)
def test_what_is_no_filter_is_said(sent: object, message: str) -> None:
    with pytest.raises(QuestionError, match=message):
        where_of(sent)
