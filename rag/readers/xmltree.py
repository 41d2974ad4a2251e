"""The elements of an XML text one after another, read without expanding entities (defusedxml)."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TextIO
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import iterparse  # type: ignore[import-untyped]

from rag.records import Skipped

_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def elements(stream: TextIO, file: str, names: frozenset[str]) -> Iterator[Element | Skipped]:
    """Every element with one of ``names``, its namespace left off; where the XML breaks, one Skipped ends it."""
    text = _NOT_XML.sub("\ufffd", _DECLARATION.sub("", stream.read(), count=1))
    count = 0
    try:
        for _, element in iterparse(io.BytesIO(text.encode("utf-8", "replace")), events=("end",)):
            if local(element) in names:
                count += 1
                yield element
                element.clear()
    except (ParseError, DefusedXmlException) as error:
        unsafe = isinstance(error, DefusedXmlException)
        what = "it uses XML entities, which are not safe to expand" if unsafe else str(error)
        yield Skipped(file, count + 1 if count else None, f"not valid XML from here on: {what}")


def local(element: Element) -> str:
    """The element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def child(element: Element, path: str) -> Element | None:
    """The first descendant along ``path``, names without namespaces joined by ``/``."""
    for name in path.split("/"):
        found = next((item for item in element if local(item) == name), None)
        if found is None:
            return None
        element = found
    return element


def children(element: Element, name: str) -> list[Element]:
    """All descendants called ``name``, in order."""
    return [item for item in element.iter() if local(item) == name]


def words(element: Element | None) -> str:
    """All text in an element, that of ``<i>``, ``<sub>`` and the like included."""
    return "".join(element.itertext()).strip() if element is not None else ""
