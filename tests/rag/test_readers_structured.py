from __future__ import annotations

import json
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.readers import atom, bibtex, jsonlist, medline, pubmed, ris, table
from rag.readers.fields import Raw
from rag.readers.formats import Reader
from rag.records import Skipped, Source, SourceRecord

ONE = "Graphs are hard to read. We draw them in layers and show that readers err less."
TWO = "Retrieval costs tokens. We build the index from geometry alone, at no cost in tokens."
FULL = SourceRecord(
    Source("f", 1),
    ONE,
    title="Layered drawings",
    authors=("Ann Lee", "Bo Chen"),
    venue="ICML",
    year=2024,
    keywords=("graphs", "drawing"),
    doi="10.1000/xyz",
    url="https://example.org/1",
    key="k1",
)


def found(reader: Reader, text: str) -> list[SourceRecord | Skipped]:
    return [item.record() if isinstance(item, Raw) else item for item in reader(StringIO(text), "f")]


def test_the_paper_list_form_takes_venue_and_year_from_its_bibtex() -> None:
    paper = {
        "id": "k1",
        "title": "Layered drawings",
        "status": "Poster",
        "abstract": ONE,
        "keywords": "graphs;drawing",
        "author": "Ann Lee; Bo Chen",
        "aff": "X; Y",
        "site": "https://example.org/1",
        "bibtex": "@inproceedings{a,\n booktitle = {ICML},\n doi={10.1000/xyz},\n year = {2024}\n}",
    }
    assert found(jsonlist.read, json.dumps([paper], indent=1)) == [FULL]
    broken = {**paper, "bibtex": "@inproceedings{a, booktitle = {ICML"}
    assert found(jsonlist.read, json.dumps([broken])) == [
        SourceRecord(
            *(Source("f", 1), ONE, "Layered drawings", ("Ann Lee", "Bo Chen"), "", None, ("graphs", "drawing"), "", ""),
            url="https://example.org/1",
            key="k1",
        )
    ]


def test_openreview_values_are_nested() -> None:
    note = {
        "id": "k1",
        "forum": "k1",
        "content": {
            "title": {"value": "Layered drawings"},
            "abstract": {"value": ONE},
            "keywords": {"value": ["graphs"]},
            "authors": {"value": ["Ann Lee", "Bo Chen"]},
            "venue": {"value": "ICLR 2024"},
        },
    }
    assert found(jsonlist.read, json.dumps({"notes": [note], "count": 1})) == [
        SourceRecord(
            Source("f", 1), ONE, "Layered drawings", ("Ann Lee", "Bo Chen"), "ICLR 2024", None, ("graphs",), key="k1"
        )
    ]


def test_semantic_scholar_fields_are_read() -> None:
    paper = {
        "paperId": "k1",
        "title": "Layered drawings",
        "abstract": ONE,
        "venue": "ICML",
        "year": 2024,
        "authors": [{"authorId": "1", "name": "Ann Lee"}, {"authorId": None, "name": "Bo Chen"}],
        "externalIds": {"DOI": "10.1000/xyz", "ArXiv": "2401.00001"},
        "url": "https://example.org/1",
        "tldr": None,
    }
    assert found(jsonlist.read, json.dumps({"total": 1, "data": [paper]})) == [
        SourceRecord(
            *(Source("f", 1), ONE, "Layered drawings", ("Ann Lee", "Bo Chen"), "ICML", 2024, ()),
            doi="10.1000/xyz",
            arxiv="2401.00001",
            url="https://example.org/1",
            key="k1",
        )
    ]


def test_beir_lines_are_read_and_a_broken_line_costs_only_itself() -> None:
    lines = [
        json.dumps({"_id": "1", "title": "A\u2028B", "text": ONE, "metadata": {"year": 2020}}, ensure_ascii=False),
        '{"_id": "2", "title": "cut',
        "",
        json.dumps({"_id": "3", "title": "C", "text": TWO}),
        "[1, 2]",
    ]
    assert found(jsonlist.read, "\r\n".join(lines)) == [
        SourceRecord(Source("f", 1), ONE, title="A B", year=2020, key="1"),
        Skipped("f", 2, "not valid JSON: Unterminated string starting at: line 1 column 23 (char 22)"),
        SourceRecord(Source("f", 3), TWO, title="C", key="3"),
        Skipped("f", 4, "no record: neither object nor text"),
    ]


def test_a_broken_object_in_an_array_costs_only_itself() -> None:
    good = json.dumps({"title": "C", "abstract": TWO})
    items = found(jsonlist.read, f'[{good},\n{{"title": "x" "abstract"}},\n{good}, {{"title": "cut')
    assert [
        (type(item).__name__, item.source.row if isinstance(item, SourceRecord) else item.row) for item in items
    ] == [
        ("SourceRecord", 1),
        ("Skipped", 2),
        ("SourceRecord", 3),
        ("Skipped", 4),
    ]


def test_lone_surrogates_and_nuls_are_replaced() -> None:
    text = r'{"title": "A\ud800B", "abstract": "One\u0000two. \ud83d\ude00"}'
    assert found(jsonlist.read, text) == [SourceRecord(Source("f", 1), "One\ufffdtwo. 😀", title="A\ufffdB")]


HEADED = "Title,Abstract,Authors,Year,Venue,Keywords,DOI,URL,ID\n"


@pytest.mark.parametrize("sign", [",", "\t", ";", "|"])
def test_a_table_with_a_header_is_read(sign: str) -> None:
    cells = ["Layered drawings", ONE, '"Ann Lee; Bo Chen"', "2024", "ICML", '"graphs; drawing"', "10.1000/xyz"]
    row = sign.join([*cells, "https://example.org/1", "k1"])
    assert found(table.read, HEADED.replace(",", sign) + row) == [FULL]


def test_quotes_newlines_and_short_rows_are_read() -> None:
    text = f'title,abstract\n"A ""new"" one","{ONE}\n\n{TWO}"\n\nB\n'
    assert found(table.read, text) == [
        SourceRecord(Source("f", 1), f"{ONE}\n\n{TWO}", title='A "new" one'),
        SourceRecord(Source("f", 2), "", title="B"),
    ]


def test_an_unclosed_quote_costs_only_its_row() -> None:
    assert found(table.read, f'title,abstract\n"A,{ONE}\nB,{TWO}\n') == [
        Skipped("f", 1, "not valid CSV: a quotation mark is not closed"),
        SourceRecord(Source("f", 2), TWO, title="B"),
    ]


def test_surplus_cells_are_an_abstract_or_a_fault() -> None:
    assert found(table.read, f"title,abstract\nB,{TWO},\n") == [SourceRecord(Source("f", 1), TWO, title="B")]
    assert found(table.read, f"abstract,title\n{TWO},B\n") == [
        Skipped("f", 1, "not valid CSV: 3 cells in a table of 2 columns")
    ]


def test_a_table_without_a_header_is_read_by_its_columns() -> None:
    text = f"1\tLayered drawings of graphs\t{ONE}\t2024\n2\tAn index without tokens\t{TWO}\t2025\n"
    assert found(table.read, text) == [
        SourceRecord(Source("f", 1), ONE, title="Layered drawings of graphs", year=2024),
        SourceRecord(Source("f", 2), TWO, title="An index without tokens", year=2025),
    ]


def test_bibtex_entries_are_read_and_a_broken_one_costs_only_itself() -> None:
    text = f"""
@string{{icml = "ICML"}}
@inproceedings{{k1,
  title = {{{{L}}ayered drawings}}, author = "Ann Lee and Bo Chen", booktitle = icml, year = 2024,
  abstract = {{{ONE}}}, keywords = {{graphs, drawing}}, doi = {{https://doi.org/10.1000/xyz}},
  url = {{https://example.org/1}}
}}
@article{{k2, title = {{Unclosed, abstract = {{{TWO}}},
@comment{{nothing}}
@article{{k3, title = {{Poincar\\'e maps}}, author = {{Lee, Ann and {{The Group}}}}, journal = nosuch,
  abstract = {{{TWO}}} }}
"""
    first, second, third = found(bibtex.read, text)
    assert first == FULL
    assert isinstance(second, Skipped)
    assert (second.row, second.reason[:17]) == (2, "not valid BibTeX:")
    assert third == SourceRecord(Source("f", 3), TWO, "Poincaré maps", ("Lee, Ann", "The Group"), key="k3")


def test_ris_references_are_read() -> None:
    text = f"""TY  - CONF
TI  - Layered drawings
AU  - Lee, Ann
AU  - Chen, Bo
T2  - ICML
PY  - 2024/05/01
AB  - {ONE}
KW  - graphs
KW  - drawing
DO  - 10.1000/xyz
UR  - https://example.org/1
ID  - k1
ER  -\x20

TY  - JOUR
T1  - Tokens
N2  - {TWO}
ER  -\x20
"""
    first, second = found(ris.read, text)
    assert isinstance(first, SourceRecord)
    assert (first.source, first.abstract, first.title, first.authors) == (
        *(Source("f", 1), ONE, "Layered drawings"),
        ("Lee, Ann", "Chen, Bo"),
    )
    assert (first.venue, first.year, first.keywords, first.doi, first.url, first.key) == (
        *("ICML", 2024, ("graphs", "drawing"), "10.1000/xyz", "https://example.org/1", "k1"),
    )
    assert second == SourceRecord(Source("f", 2), TWO, title="Tokens")


def test_medline_citations_are_read() -> None:
    text = f"""
PMID- 123
TI  - Layered
      drawings
AB  - {ONE[:28].strip()}
      {ONE[28:].strip()}
FAU - Lee, Ann
AU  - Lee A
LID - 10.1000/xyz [doi]
JT  - Journal of graphs
DP  - 2024 May
OT  - *graphs

PMID- 124
TI  - Tokens
AB  - {TWO}
"""
    assert found(medline.read, text) == [
        SourceRecord(
            *(Source("f", 1), ONE, "Layered drawings", ("Lee, Ann",), "Journal of graphs", 2024, ("graphs",)),
            doi="10.1000/xyz",
            url="https://pubmed.ncbi.nlm.nih.gov/123/",
            key="123",
        ),
        SourceRecord(Source("f", 2), TWO, title="Tokens", url="https://pubmed.ncbi.nlm.nih.gov/124/", key="124"),
    ]


def test_pubmed_articles_keep_the_labels_of_their_abstracts() -> None:
    text = f"""<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://dtd.nlm.nih.gov/pubmed.dtd">
<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>123</PMID><Article>
<Journal><JournalIssue><PubDate><MedlineDate>2024 May-Jun</MedlineDate></PubDate></JournalIssue>
<Title>Journal of graphs</Title></Journal><ArticleTitle>Layered <i>drawings</i></ArticleTitle>
<ELocationID EIdType="doi">10.1000/xyz</ELocationID>
<Abstract><AbstractText Label="AIM">{ONE}</AbstractText><AbstractText Label="RESULT">{TWO}</AbstractText></Abstract>
<AuthorList><Author><LastName>Lee</LastName><ForeName>Ann</ForeName></Author>
<Author><CollectiveName>The Group</CollectiveName></Author></AuthorList></Article>
<KeywordList><Keyword>graphs</Keyword></KeywordList></MedlineCitation></PubmedArticle></PubmedArticleSet>"""
    assert found(pubmed.read, text) == [
        SourceRecord(
            *(Source("f", 1), f"AIM: {ONE}\nRESULT: {TWO}", "Layered drawings", ("Ann Lee", "The Group")),
            *("Journal of graphs", 2024, ("graphs",)),
            doi="10.1000/xyz",
            url="https://pubmed.ncbi.nlm.nih.gov/123/",
            key="123",
        )
    ]


ENTRY = f"""<entry><id>http://arxiv.org/abs/2401.00001v2</id><published>2024-01-01T00:00:00Z</published>
<title>Layered
  drawings</title><summary> {ONE} </summary><author><name>Ann Lee</name></author><author><name>Bo Chen</name></author>
<category term="cs.LG"/></entry>"""


def test_arxiv_entries_are_read_and_broken_xml_keeps_those_before() -> None:
    expected = SourceRecord(
        *(Source("f", 1), ONE, "Layered drawings", ("Ann Lee", "Bo Chen"), "arXiv", 2024, ("cs.LG",)),
        arxiv="2401.00001",
        url="http://arxiv.org/abs/2401.00001v2",
        key="2401.00001v2",
    )
    feed = f'<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom">{ENTRY}'
    assert found(atom.read, feed + "</feed>") == [expected]
    first, second = found(atom.read, feed + "<entry><title>cut")
    assert first == expected
    assert isinstance(second, Skipped)
    assert (second.row, second.reason[:32]) == (2, "not valid XML from here on: no e")


def test_entity_bombs_are_refused() -> None:
    text = '<!DOCTYPE feed [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><feed xmlns="http://www.w3.org/2005/Atom">&b;</feed>'
    assert found(atom.read, text) == [
        Skipped("f", None, "not valid XML from here on: it uses XML entities, which are not safe to expand")
    ]


@given(st.lists(st.fixed_dictionaries({"title": st.text(max_size=20), "abstract": st.text(min_size=1, max_size=60)})))
def test_every_json_object_is_one_record(papers: list[dict[str, str]]) -> None:
    array = found(jsonlist.read, json.dumps(papers))
    assert [item.source.row for item in array if isinstance(item, SourceRecord)] == list(range(1, len(papers) + 1))
    if papers:
        assert found(jsonlist.read, "\n".join(map(json.dumps, papers))) == array
