"""PubMed XML, as the E-utilities and the yearly baseline give it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO
from xml.etree.ElementTree import Element

from rag.readers.fields import Raw
from rag.readers.xmltree import child, children, elements, words
from rag.records import Skipped, Source


def looks_like(head: str) -> bool:
    """Whether the XML holds PubMed articles."""
    return bool(re.search(r"<(?:PubmedArticleSet|PubmedArticle|PubmedBookArticle|MedlineCitation)\b", head))


def read(stream: TextIO, file: str) -> Iterator[Raw | Skipped]:
    """The articles of a PubMed XML text; a structured abstract keeps its labels, a line each."""
    row = 0
    for found in elements(stream, file, frozenset({"PubmedArticle", "PubmedBookArticle"})):
        if isinstance(found, Skipped):
            yield found
        else:
            row += 1
            yield _record(found, Source(file, row))


def _record(article: Element, source: Source) -> Raw:
    citation = child(article, "MedlineCitation")
    if citation is None:
        citation = child(article, "BookDocument")
    body = citation if citation is not None else article
    pmid = words(child(body, "PMID"))
    inner = child(body, "Article")
    inner = inner if inner is not None else body
    ids = [*children(inner, "ELocationID"), *children(article, "ArticleId")]
    dois = [words(item) for item in ids if "doi" in (item.get("EIdType"), item.get("IdType"))]
    dates = [*children(inner, "PubDate"), *children(inner, "ArticleDate"), *children(article, "PubMedPubDate")]
    return Raw(
        {
            "title": words(child(inner, "ArticleTitle")) or words(child(inner, "VernacularTitle")),
            "abstract": _abstract(inner),
            "authors": [{"name": name} for name in map(_author, children(inner, "Author")) if name],
            "venue": words(child(inner, "Journal/Title")) or words(child(inner, "Book/BookTitle")),
            "year": next((words(date) for date in dates if re.search(r"\d{4}", words(date))), ""),
            "keywords": [words(item) for item in children(body, "Keyword")],
            "doi": dois[0] if dois else "",
            "url": f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/" if pmid else "",
            "key": pmid,
        },
        source,
    )


def _abstract(article: Element) -> str:
    abstract = child(article, "Abstract")
    parts = []
    for item in children(abstract, "AbstractText") if abstract is not None else []:
        label = item.get("Label", "")
        parts.append(f"{label}: {words(item)}" if label and label != "UNLABELLED" else words(item))
    return "\n".join(part for part in parts if part)


def _author(author: Element) -> str:
    given = words(child(author, "ForeName")) or words(child(author, "Initials"))
    return f"{given} {words(child(author, 'LastName'))}".strip() or words(child(author, "CollectiveName"))
