"""A record from named fields, whatever a source calls them: JSON, CSV, BibTeX, front matter."""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from rag.readers.clean import clean, line
from rag.records import Source, SourceRecord

_NAMES = {
    "title": (
        *("title", "papertitle", "articletitle", "documenttitle", "primarytitle", "ti", "t1"),
        *("标题", "题目", "篇名"),
    ),
    "abstract": (
        *("abstract", "paperabstract", "abstracttext", "abstractnote", "summary", "ab", "n2", "description", "text"),
        *("摘要", "内容"),
    ),
    "authors": ("authors", "author", "authornames", "authorfullnames", "creators", "creator", "au", "作者"),
    "venue": (
        *("venue", "journal", "journaltitle", "booktitle", "conference", "conferencename", "publicationtitle"),
        *("sourcetitle", "containertitle", "journalname", "publication", "source", "publicationvenue", "会议", "期刊"),
    ),
    "year": (
        *("year", "publicationyear", "pubyear", "py", "date", "publicationdate", "pubdate", "published", "issued"),
        *("年份", "年"),
    ),
    "keywords": ("keywords", "keyword", "authorkeywords", "kw", "tags", "manualtags", "关键词"),
    "doi": ("doi",),
    "arxiv": ("arxiv", "arxivid", "eprint"),
    "url": ("url", "urls", "link", "site", "website", "openaccessurl", "pdfurl", "pdf"),
    "key": (
        *("key", "id", "paperid", "citationkey", "citekey", "bibtexkey", "eid", "pmid", "corpusid", "forum", "number"),
    ),
}
KNOWN = frozenset(name for names in _NAMES.values() for name in names)
"""Every field name that is understood, as ``field_name`` writes it."""
_TELLING = frozenset((*_NAMES["title"], *_NAMES["abstract"]))
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_ARXIV = re.compile(r"(?i)(?:arxiv[:.\s/]*(?:org/(?:abs|pdf)/)?)(\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})")
_BARE_ARXIV = re.compile(r"^(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Za-z]{2})?/\d{7})(?:v\d+)?$")
_DOI = re.compile(r"(?i)^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)")


@lru_cache(maxsize=4096)  # files repeat their fields
def field_name(name: str) -> str:
    """A field's name without case, blanks and signs: "Author Keywords" -> "authorkeywords"."""
    return re.sub(r"[\W_]+", "", name.casefold())


def is_telling(name: str) -> bool:
    """Whether a field of this name holds a title or an abstract."""
    return field_name(name) in _TELLING


def to_record(fields: Mapping[str, object], source: Source) -> SourceRecord:
    """The record that ``fields`` describe; nested ``content``, ``metadata`` and ``{"value": …}`` are looked into."""
    values = _flat(fields)

    def first(kind: str) -> object:
        return next((values[name] for name in _NAMES[kind] if _filled(values.get(name))), "")

    identifiers = _flat(cast("Mapping[str, object]", values.get("externalids") or {}))
    doi = _DOI.sub("", line(_string(first("doi") or identifiers.get("doi", ""))))
    url = line(_string(first("url")))
    return SourceRecord(
        source,
        clean(_string(first("abstract"))),
        title=line(_string(first("title"))),
        authors=tuple(authors(first("authors"))),
        venue=line(_venue(first("venue"))),
        year=_year(first("year")),
        keywords=tuple(_keywords(first("keywords"))),
        doi=doi,
        arxiv=_arxiv(first("arxiv") or identifiers.get("arxiv", ""), url, doi),
        url=url,
        key=line(_string(first("key"))),
    )


@dataclass(frozen=True, slots=True)
class Raw:
    """A record as its file holds it: named fields, nothing cleaned."""

    fields: Mapping[str, object]
    source: Source
    make: Callable[[Mapping[str, object], Source], SourceRecord] = to_record

    def record(self) -> SourceRecord:
        return self.make(self.fields, self.source)

    def print(self) -> str:
        """24 hex digits: of equal prints come equal records, but for where they stand. Other code, another print."""
        held: Any = (self.make.__module__, self.fields)
        try:
            body = marshal.dumps(held, 2)  # the last version whose bytes depend on nothing but the values
        except ValueError:
            body = repr(held).encode("utf-8", "backslashreplace")
        return blake2b(body, digest_size=12, key=_code()).hexdigest()


@cache
def _code() -> bytes:
    """Stands for the code that makes records of fields."""
    rag = Path(__file__).parents[1]
    files = (*sorted(Path(__file__).parent.glob("*.py")), rag / "fold.py", rag / "latex.py", rag / "records.py")
    return blake2b(b"".join(path.read_bytes() for path in files if path.exists()), digest_size=16).digest()


def authors(value: object) -> Iterator[str]:
    """The names in a list or string of authors, "Given Family" or "Family, Given" as they stand."""
    if isinstance(value, dict):
        if name := _person(value):
            yield line(name)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from authors(item) if not isinstance(item, str) else _split_and(item)
    elif isinstance(value, str):
        yield from _split_names(clean(value))


def _split_names(text: str) -> Iterator[str]:
    if ";" in text:
        parts = text.split(";")
    elif re.search(r"\sand\s", text) and not re.search(r",[^,]*,", re.split(r"\sand\s", text)[0]):
        parts = re.split(r"\s+and\s+", text)
    elif "\n" in text or "|" in text:
        parts = re.split(r"[\n|]", text)
    elif "、" in text or "，" in text:
        parts = re.split("[、，]", text)
    else:
        parts = re.split(r",\s*(?:and\s+)?|\s+and\s+", text)
        if len(parts) == 2 and not all(" " in part.strip() for part in parts):
            parts = [text]  # "Family, Given"
    for part in parts:
        if name := line(part).strip(" ,"):
            yield name


def _split_and(text: str) -> Iterator[str]:
    if " and " not in text:
        if name := line(text).strip(" ,;"):
            yield name
        return
    yield from (name for part in re.split(r"\s+and\s+", text) if (name := line(part).strip(" ,;")))


def _person(value: Mapping[object, object]) -> str:
    parts = {field_name(str(name)): item for name, item in value.items()}
    for name in ("name", "fullname", "displayname", "author", "value", "literal"):
        if isinstance(found := parts.get(name), str | dict) and found:
            return found if isinstance(found, str) else _person(found)
    given = next((parts[name] for name in ("given", "first", "firstname", "forename") if parts.get(name)), "")
    family = next((parts[name] for name in ("family", "last", "lastname", "surname") if parts.get(name)), "")
    return f"{given} {family}".strip()


def _flat(fields: Mapping[str, object]) -> dict[str, object]:
    values: dict[str, object] = {}
    if not isinstance(fields, dict):
        return values
    nested = []
    for name, value in fields.items():
        short = field_name(str(name))
        if isinstance(value, dict) and "value" in value:
            value = value["value"]
        if short in ("content", "metadata") and isinstance(value, dict):
            nested.append(value)
        elif _filled(value):
            values.setdefault(short, value)
    for inner in nested:
        for short, value in _flat(inner).items():
            values.setdefault(short, value)
    return values


def _filled(value: object) -> bool:
    return value is not None and value != "" and value != [] and value != {}


def _string(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(_string(item) for item in value)
    if isinstance(value, dict):
        return _string(next((item for item in value.values() if isinstance(item, str)), ""))
    return "" if value is None or isinstance(value, bool) else str(value)


def _venue(value: object) -> str:
    if isinstance(value, dict):
        return _string(value.get("name", ""))
    return _string(value)


def _year(value: object) -> int | None:
    if isinstance(value, dict):  # CSL: {"date-parts": [[2024, 5]]}
        value = value.get("date-parts", "")
    match = _YEAR.search(str(value))
    return int(match[1]) if match else None


def _keywords(value: object) -> Iterator[str]:
    items: Iterable[object] = value if isinstance(value, list | tuple) else re.split(_separator(str(value)), str(value))
    for item in items:
        if word := line(_string(item)):
            yield word


def _separator(text: str) -> str:
    return next((sign for sign in (";", r"\n", "；", "、", ",") if re.search(sign, text)), ",")


def _arxiv(value: object, url: str, doi: str) -> str:
    text = line(_string(value))
    if match := _BARE_ARXIV.match(text):
        return match[1]
    match = _ARXIV.search(text) or _ARXIV.search(url) or _ARXIV.search(doi)
    return match[1] if match else ""
