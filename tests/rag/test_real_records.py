"""Real lists and real records that trip readers: every one is accounted for."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from rag.dedupe import dedupe
from rag.readers import read
from rag.records import Skipped, SourceRecord

NO_ABSTRACT = {
    "iros2018-8594490",
    "iros2018-8594044",
    "icra2021-9562011",
    "aistats2011-5cf0682208",
}
"""Of the odd records those that hold a placeholder or a preface where the abstract should be."""


@pytest.fixture(scope="module")
def odd(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, SourceRecord | Skipped]:
    """What the readers make of the odd records, by id."""
    lines = (shared / "data/duplicates/odd_records.jsonl").read_text("utf-8").split("\n")
    ids = [json.loads(line)["id"] for line in lines if line]
    wanted = re.compile(b'"id": ?"(' + b"|".join(re.escape(i.encode()) for i in ids) + b')"')
    with gzip.open(shared / "data/papers/papers.jsonl.gz") as file:
        found = [(match[1].decode(), line) for line in file if (match := wanted.search(line))]
    path = tmp_path_factory.mktemp("odd") / "odd.jsonl"
    path.write_bytes(b"".join(line for _, line in found))
    assert sorted(i for i, _ in found) == sorted(ids)
    return dict(zip((i for i, _ in found), read(path), strict=True))


def test_every_odd_record_is_a_paper_or_skipped_with_the_reason(odd: dict[str, SourceRecord | Skipped]) -> None:
    skipped = {i: item.reason for i, item in odd.items() if isinstance(item, Skipped)}
    assert skipped == dict.fromkeys(NO_ABSTRACT, "boilerplate instead of an abstract")
    for i, item in odd.items():
        if isinstance(item, SourceRecord):
            assert (item.key, bool(item.title), len(item.abstract) > 90) == (i, True, True)
            assert len(item.title.splitlines()) == 1
            said = " ".join((item.title, *item.authors, item.abstract))
            assert not re.search("[\x00\x80-\x9f\ud800-\udfff]|â€|Ã.|&\\w+;", said), i


def test_what_the_odd_records_hold_is_kept(odd: dict[str, SourceRecord | Skipped]) -> None:
    papers = {i: item for i, item in odd.items() if isinstance(item, SourceRecord)}
    assert papers["ijcai2022-paper135"].title == (
        "ScaleFormer: Revisiting the Transformer-based Backbones from a Scale-wise Perspective "
        "for Medical Image Segmentation"
    )
    assert papers["acml2022-ebbc9b0703"].title.startswith("DALE: Differential Accumulated Local Effects for efficient")
    assert papers["rss2009-95d047797e"].authors == ("K. Lai", "D. Fox")
    assert papers["rss2016-9cf359b693"].authors[3] == "Roberto Martín-Martín"
    assert "canonical’ surface of revolution" in papers["rss2013-353050cc02"].abstract
    assert "<context, knowledge, stylized response>" in papers["naacl2022-2022.naacl-main.241"].abstract
    assert "—" in papers["colm2025-mxcCg9YRqj"].abstract
    assert "ℓ" in papers["eccv2022-7c597adc05"].abstract
    assert len(papers["nips2002-3013581335"].abstract) == 4650
    (paper,) = dedupe([papers["icra2019-8793828"]]).papers
    assert paper.authors == ("Hadi Ravanbakhsh", "Sriram Sankaranarayanan", "Sanjit A. Seshia")


@pytest.mark.parametrize(
    ("name", "papers", "skipped"), [("corl2022", 197, []), ("icml2017", 434, [423]), ("nips2016", 568, [108, 391])]
)
def test_the_raw_lists_are_read_whole(shared: Path, name: str, papers: int, skipped: list[int]) -> None:
    path = shared / f"data/papers/raw/{name}.json"
    items = list(read(path))
    assert len(items) == len(json.loads(path.read_text("utf-8")))
    assert [item for item in items if isinstance(item, Skipped)] == [
        Skipped(f"{name}.json", row, "no abstract") for row in skipped
    ]
    found = dedupe(item for item in items if isinstance(item, SourceRecord))
    assert (len(found.papers), found.duplicates, found.flags) == (papers, (), ())
