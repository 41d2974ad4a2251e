"""Filters: which papers of a library are looked at, by year, venue, author, keyword and source file.

A word or name fits whatever its case, accents and hyphens. A venue or keyword fits where it holds the words asked for
side by side; an author by family name and what both tell of the given names; a file by its path, its name with or
without its ending, a folder it is in, or a pattern with ``*``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from rag.errors import QuestionError
from rag.fold import fold
from rag.names import Name, fits, name
from rag.records import Hit, Paper

_YEARS = re.compile(r"\s*(\d{4})?\s*(\.\.|-|–)?\s*(\d{4})?\s*")
_JOINTS = re.compile(r"[-‐‑/_]")
_WIDE = re.compile("([\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff])")


@dataclass(frozen=True, slots=True)
class Filter:
    """Papers that fit every field; of the values of one field any will do. Empty: all papers."""

    first: int | None = None
    """The first year, and ``last`` the last one, both included; None: open. A paper without a year fits neither."""
    last: int | None = None
    venues: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @classmethod
    def parse(
        cls,
        *,
        year: str = "",
        venue: str | Sequence[str] = (),
        author: str | Sequence[str] = (),
        keyword: str | Sequence[str] = (),
        file: str | Sequence[str] = (),
    ) -> Filter:
        """The filter a user wrote; ``year`` is "2019", "2019..2021", "2019.." or "..2021", and empty is no filter.

        Raises QuestionError for a value that nothing could fit.
        """
        first, last = _years(year) if year else (None, None)
        lists = {"venue": _many(venue), "author": _many(author), "keyword": _many(keyword), "file": _many(file)}
        for kind, values in lists.items():
            for value in values:
                if not (value.strip() if kind == "file" else name(value) if kind == "author" else folded(value)):
                    raise QuestionError(f"the {kind} {value!r} holds no word to look for; give a {kind} of the library")
        return cls(first, last, *lists.values())

    def __bool__(self) -> bool:
        return self != EVERYTHING

    @property
    def year(self) -> str:
        """The years as a user writes them: "2019", "2019..2021", "2019.." or "..2021"; "" for all."""
        ends = ["" if year is None else str(year) for year in (self.first, self.last)]
        return ends[0] if ends[0] == ends[1] else "..".join(ends)

    def __str__(self) -> str:
        """As it is said to the user: "year 2019..2021, venue ICML or NeurIPS"."""
        parts = [f"year {self.year}"] if self.year else []
        lists = (("venue", self.venues), ("author", self.authors), ("keyword", self.keywords), ("file", self.files))
        parts += [f"{kind} {' or '.join(values)}" for kind, values in lists if values]
        return ", ".join(parts)

    def nothing_fits(self) -> QuestionError:
        """What to raise where no paper fits."""
        return QuestionError(f"no paper of the library fits the filter ({self}); 'citewell papers' lists what there is")

    def fitting(self, hits: list[Hit]) -> list[Hit]:
        """``hits``, found within it. Raises QuestionError where there are none: then no paper fits."""
        if self and not hits:
            raise self.nothing_fits()
        return hits

    def has_author(self, held: str) -> bool:
        """Whether one of ``held`` (as in ``Fields``) is asked for."""
        people = [_person(line) for line in held.split("\n") if line]
        return any((asked := name(author)) and any(fits(asked, person) for person in people) for author in self.authors)

    def has_file(self, held: str) -> bool:
        """Whether one of the paths ``held`` (as in ``Fields``) is asked for."""
        return any(_names(path, asked) for path in held.split("\n") for asked in self.files)


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Fields:
    """What of a paper a filter looks at, folded, in the form the catalogue keeps it."""

    year: int | None
    venue: str
    """A blank on either side of each word."""
    authors: str
    """A line for each, family name first, a line break on either side."""
    keywords: str
    """A line for each, a blank on either side of each word."""
    files: str
    """A line for each path."""

    @classmethod
    def of(cls, paper: Paper) -> Fields:
        people = "".join(f"\n{' '.join(found)}" for author in paper.authors if (found := name(author)))
        return cls(
            paper.year,
            folded(paper.venue),
            f"{people}\n" if people else "",
            "\n".join(filter(None, map(folded, paper.keywords))),
            "\n".join(dict.fromkeys(source.file.casefold() for source in paper.sources)),
        )


@lru_cache(maxsize=1 << 16)
def folded(text: str) -> str:
    """The words of ``text`` with a blank on either side of each; empty without a word."""
    words = fold(_WIDE.sub(r" \1 ", _JOINTS.sub(" ", text)))
    return f" {words} " if words else ""


def families(authors: Iterable[str]) -> list[str]:
    """What a line of ``Fields.authors`` begins with, if it is about one of ``authors``."""
    found = [person for author in authors if (person := name(author))]
    return sorted({f"\n{word} " for family, given in found for word in (family, *given.split())})


def _many(values: str | Sequence[str]) -> tuple[str, ...]:
    return ((values,) if values else ()) if isinstance(values, str) else tuple(values)


def _person(line: str) -> Name:
    family, _, given = line.partition(" ")
    return family, given


def _names(path: str, asked: str) -> bool:
    """Whether ``asked`` names the file at ``path``, which is in lower case, or a folder it is in."""
    asked = asked.strip().casefold().rstrip("/")
    base = path.rpartition("/")[2]
    if any(sign in asked for sign in "*?["):
        return fnmatchcase(path, asked) or fnmatchcase(base, asked)
    stems = {base, base.rpartition(".")[0], base.partition(".")[0]}
    return asked == path or path.startswith(f"{asked}/") or asked in stems


def _years(text: str) -> tuple[int | None, int | None]:
    match = _YEARS.fullmatch(text)
    first, dots, last = match.groups() if match else ("", "", "")
    if not (first or last) or (bool(dots) != bool(last) and not (first and dots)):
        raise QuestionError(f"the year {text!r} is no year; write 2019, 2019..2021, 2019.. or ..2021")
    one = int(first) if first else None
    two = int(last) if last else None if dots else one
    if one is not None and two is not None and one > two:
        raise QuestionError(f"the years {text!r} end before they begin; write {two}..{one}")
    return one, two
