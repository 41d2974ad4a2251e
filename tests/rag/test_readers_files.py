from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.errors import SourceError
from rag.readers import Raw, files, made, read
from rag.readers.screen import reason_to_skip
from rag.records import Skipped, Source, SourceRecord

ONE = "Graphs are hard to read. We draw them in layers and show that readers err less."
CHINESE = "图很难读。我们分层绘制图，并证明读者的错误更少。本文的方法很简单。"
FRENCH = "Les graphes sont difficiles à lire. Nous les dessinons en couches, et c'est très réussi."


def written(path: Path, data: bytes | str) -> list[SourceRecord | Skipped]:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return list(read(path))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((text, code) for text in (ONE, CHINESE, FRENCH) for code in ("utf-8", "utf-8-sig", "utf-16", "utf-32")),
        *((CHINESE, "gb18030"), (FRENCH, "latin-1"), (FRENCH, "cp1252"), (ONE, "utf-16-le"), (FRENCH, "utf-16-be")),
    ],
)
def test_every_encoding_reads_the_same(tmp_path: Path, text: str, encoding: str) -> None:
    assert written(tmp_path / "a.txt", text.encode(encoding)) == [SourceRecord(Source("a.txt", 1), text)]


def test_a_broken_byte_costs_only_itself(tmp_path: Path) -> None:
    text = f"{CHINESE * 5}坏"
    assert written(tmp_path / "a.txt", text.encode()[:-1]) == [SourceRecord(Source("a.txt", 1), text[:-1] + "\ufffd")]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b" \n\n", "empty file"),
        (b"%PDF-1.7\nxyz", "not text: it looks like a PDF"),
        (b"abc\0def\0\0", "not text: it holds NUL bytes"),
        (bytes(range(1, 32)) * 9, "not text: it is full of control characters"),
        (b"[]", "no records in it"),
        (b"<!doctype html><html><body>x</body></html>", "a web page; save the list as text, BibTeX, CSV or JSON"),
        (b"<?xml version='1.0'?><a/>", "XML that is neither PubMed's nor Atom (arXiv's)"),
        (gzip.compress(b"x" * 100)[:-20], "a gzip file cut short"),
        (gzip.compress(b"0" * (80 << 20)), "a gzip file that unpacks to too much"),
        (b"PK\x03\x04junk", "a broken zip file: File is not a zip file"),
    ],
)
def test_a_file_that_holds_no_text_is_skipped_with_a_reason(tmp_path: Path, data: bytes, reason: str) -> None:
    assert written(tmp_path / "a.txt", data) == [Skipped("a.txt", None, reason)]


def damaged(method: int, part: bytes, at: int, wrong: bytes) -> bytes:
    """A zip file of é.txt and good.txt with ``wrong`` bytes ``at`` so far behind the first ``part``."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("é.txt", f"{ONE} " * 20)
        archive.writestr("good.txt", ONE)
    data = bytearray(buffer.getvalue())
    place = data.index(part) + at
    data[place : place + len(wrong)] = wrong
    return bytes(data)


CENTRAL, NAME = b"PK\1\2", "é.txt".encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (damaged(zipfile.ZIP_DEFLATED, NAME, 20, b"\xff\xff\xff"), "Error -3 while decompressing data: .*"),
        (damaged(zipfile.ZIP_BZIP2, NAME, 20, b"\xff\xff\xff"), "Invalid data stream"),
        (damaged(zipfile.ZIP_LZMA, NAME, 20, b"\xff\xff\xff"), "Corrupt input data"),
        (damaged(zipfile.ZIP_STORED, NAME, 20, b"?"), "Bad CRC-32 for file '.*'"),
        (damaged(zipfile.ZIP_STORED, NAME, 1, b"\1"), "'utf-8' codec can't decode .*"),
        (damaged(zipfile.ZIP_STORED, CENTRAL, 8, b"\1"), "File .* is encrypted, .*"),
        (damaged(zipfile.ZIP_STORED, CENTRAL, 10, b"\x63"), "That compression method is not supported"),
    ],
)
def test_a_damaged_member_of_a_zip_costs_only_itself(tmp_path: Path, data: bytes, reason: str) -> None:
    good, skipped = written(tmp_path / "a.zip", data)
    assert isinstance(skipped, Skipped)
    assert re.fullmatch(f"cannot be unpacked: {reason}", skipped.reason)
    assert good == SourceRecord(Source("a.zip/good.txt", 1), ONE)


@pytest.mark.parametrize(
    "data",
    [damaged(zipfile.ZIP_STORED, CENTRAL, 6, b"\xff"), damaged(zipfile.ZIP_STORED, CENTRAL, 47, b"\1")],
    ids=["of a version to come", "a name that is no UTF-8"],
)
def test_a_zip_whose_list_is_damaged_is_skipped(tmp_path: Path, data: bytes) -> None:
    (skipped,) = written(tmp_path / "a.zip", data)
    assert isinstance(skipped, Skipped)
    assert skipped.reason.startswith("a broken zip file: ")


def test_no_such_path_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no such file or folder: .*nowhere"):
        list(read(tmp_path / "nowhere"))


def test_folders_are_walked_in_order_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b/2.txt", "b/1.txt", "a.txt", ".hidden.txt", ".git/x.txt", "b/.DS_Store"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{ONE} {name}.")
    names = ["a.txt", "b/1.txt", "b/2.txt"]
    assert files(tmp_path) == [(tmp_path / name, name) for name in names]
    assert files(tmp_path / "b/1.txt") == [(tmp_path / "b/1.txt", "1.txt")]
    assert list(read(tmp_path)) == [SourceRecord(Source(name, 1), f"{ONE} {name}.") for name in names]


FORMATS = {
    "json": json.dumps([{"title": "T", "abstract": ONE}]),
    "jsonl": json.dumps({"title": "T", "abstract": ONE}),
    "csv": f"title,abstract\nT,{ONE}\n",
    "bib": f"@article{{, title = {{T}}, abstract = {{{ONE}}} }}".replace("{,", "{k,"),
    "ris": f"TY  - JOUR\nTI  - T\nAB  - {ONE}\nER  - \n",
    "nbib": f"\nPMID- 1\nTI  - T\nAB  - {ONE}\n",
    "md": f"# T\n\n{ONE}\n",
    "txt": f"Title: T\nAbstract: {ONE}\n",
    "xml": f'<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>T</title><summary>{ONE}</summary></entry></feed>',
}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", ["plain", "gz", "zip"])
def test_the_format_is_found_by_content(tmp_path: Path, kind: str, name: str) -> None:
    data = FORMATS[kind].encode()
    if name == "gz":
        data = gzip.compress(data)
    if name == "zip":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("in/x.dat", data)
            archive.writestr("__MACOSX/in/._x.dat", b"junk")
            archive.writestr("empty.txt", b"")
        data = buffer.getvalue()
    found = written(tmp_path / "x.dat", data)
    file = "x.dat/in/x.dat" if name == "zip" else "x.dat"
    records = [item for item in found if isinstance(item, SourceRecord)]
    assert [(item.source, item.title, item.abstract) for item in records] == [(Source(file, 1), "T", ONE)]
    assert [item for item in found if isinstance(item, Skipped)] == (
        [Skipped("x.dat/empty.txt", None, "empty file")] if name == "zip" else []
    )


@pytest.mark.parametrize(
    ("abstract", "reason"),
    [
        *(
            (text, "placeholder instead of an abstract")
            for text in ("N/A", "n.a.", "-- none --", "Abstract not available.", "No abstract", "No abstract available")
        ),
        *(
            (text, "placeholder instead of an abstract")
            for text in ("The abstract is not available.", "This paper has been withdrawn.", "TBD", "暂无摘要")
        ),
        ("", "no abstract"),
        ("...", "no abstract: it holds no words"),
        ("Layered Drawings.", "no abstract: it only repeats the title"),
        ("1 Graphs ...... 3\n2 Trees ....... 9\n3 Nets ....... 14", "table of contents"),
        ("Preface to the Proceedings of the 4th Conference, 2012, Singapore.", "boilerplate instead of an abstract"),
        (
            "Provides an abstract for each of the plenary presentations and may include a biography of each presenter.",
            "boilerplate instead of an abstract",
        ),
        ("The following topics are dealt with: mobile robots; vision.", "boilerplate instead of an abstract"),
        (ONE, ""),
        ("We find that no abstract domain is available for this class of programs.", ""),
        ("None of the known bounds is tight.", ""),
    ],
)
def test_what_is_no_abstract_is_skipped_with_a_reason(abstract: str, reason: str) -> None:
    assert reason_to_skip(abstract, "Layered drawings") == reason


def test_every_odd_record_is_read_or_skipped_with_its_reason(shared: Path, tmp_path: Path) -> None:
    odd = {
        json.loads(line)["id"]
        for line in (shared / "data/duplicates/odd_records.jsonl").read_text().split("\n")
        if line
    }
    with gzip.open(shared / "data/papers/papers.jsonl.gz", "rt", newline="\n") as stream:
        lines = [line for line in stream if json.loads(line)["id"] in odd]
    found = written(tmp_path / "odd.jsonl", "".join(lines))
    records = {item.key: item for item in found if isinstance(item, SourceRecord)}
    ids = [json.loads(line)["id"] for line in lines]
    skipped = {ids[(item.row or 0) - 1]: item.reason for item in found if isinstance(item, Skipped)}
    placeholders = ("iros2018-8594490", "iros2018-8594044", "icra2021-9562011", "aistats2011-5cf0682208")
    assert skipped == dict.fromkeys(placeholders, "boilerplate instead of an abstract")
    assert records.keys() == odd - skipped.keys()
    assert records["ijcai2022-paper135"].title == (
        "ScaleFormer: Revisiting the Transformer-based Backbones from a Scale-wise Perspective"
        " for Medical Image Segmentation"
    )
    assert records["rss2009-95d047797e"].authors == ("K. Lai", "D. Fox")
    assert records["rss2016-9cf359b693"].authors[1] == "Sebastian Höfer"
    assert "‘canonical’ surface" in records["rss2013-353050cc02"].abstract
    assert "priors, ℓ0 gradients" in records["eccv2022-7c597adc05"].abstract.replace("sparsity, ", "priors, ")
    assert "<context, knowledge, stylized response>" in records["naacl2022-2022.naacl-main.241"].abstract
    assert "—" in records["colm2025-mxcCg9YRqj"].abstract


def test_the_raw_lists_account_for_every_record(shared: Path) -> None:
    counts = {}
    for path in sorted((shared / "data/papers/raw").iterdir()):
        found = list(read(path))
        assert len(found) == len(json.loads(path.read_text()))
        counts[path.name] = [item.row for item in found if isinstance(item, Skipped) and item.reason == "no abstract"]
    assert counts == {"corl2022.json": [], "icml2017.json": [423], "nips2016.json": [108, 391]}


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_stop_a_run(tmp_path: Path, data: bytes) -> None:
    found = written(tmp_path / "x", data)
    assert found
    assert not any(isinstance(item, Skipped) and item.reason.startswith("reading broke off") for item in found)
    for item in found:
        if isinstance(item, SourceRecord):
            item.abstract.encode()


def test_a_record_that_cannot_be_made_is_skipped_and_no_other() -> None:
    def fails(fields: object, source: Source) -> SourceRecord:
        raise KeyError("abstract")

    assert made(Raw({}, Source("a.json", 3), fails)) == Skipped("a.json", 3, "cannot be read: KeyError: 'abstract'")
