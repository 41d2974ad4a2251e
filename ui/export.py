"""A conversation as a file to keep or to hand on: what was said, the papers it cites, or a record to run again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import rispy  # type: ignore[import-untyped]
from pybtex.database import Person  # type: ignore[import-untyped]
from pybtex.exceptions import PybtexError  # type: ignore[import-untyped]

from rag.contract import answer_json, paper_json, where_json
from rag.latex import unlatex
from rag.records import Paper
from ui.conversation import Conversation, Exchange, cited_papers
from ui.formula import find_formulas
from ui.render import answer_as_markdown, places


@dataclass(frozen=True, slots=True)
class File:
    """A text file to hand to the browser."""

    name: str
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write a conversation down."""

    words: str
    suffix: str
    kind: str
    write: Callable[[Conversation], str]


def export(talk: Conversation, name: str) -> File:
    """The conversation in the format called ``name``, a key of FORMATS."""
    chosen = FORMATS[name]
    stem = re.sub(r"[^\w]+", "-", talk.title or "conversation").strip("-")[:60] or "conversation"
    return File(f"{stem}.{chosen.suffix}", chosen.write(talk), chosen.kind)


def papers_of(talk: Conversation) -> list[Paper]:
    """The papers that a conversation cites, each once, in the order they are first cited."""
    papers: dict[str, Paper] = {}
    for exchange in talk.exchanges:
        known = {hit.paper.paper_id: hit.paper for hit in exchange.hits} | exchange.papers
        for paper_id in cited_papers(exchange.answer) if exchange.answer else ():
            if paper_id in known:
                papers.setdefault(paper_id, known[paper_id])
    return list(papers.values())


def markdown(talk: Conversation) -> str:
    """Questions as headings, answers with a footnote for every marker; what the texts hold is shown, not obeyed."""
    parts = [f"# {_md(talk.title)}"] if talk.title else []
    for number, exchange in enumerate(talk.exchanges, 1):
        parts.append(f"## {_md(' '.join(exchange.question.split()))}")
        if exchange.answer is not None:
            parts.append(answer_as_markdown(exchange.answer, prefix=f"{number}-", escape=_md))
        else:
            parts.append(f"*{_md(exchange.error or 'Stopped before it was answered.')}*")
    return "\n\n".join(parts) + "\n"


def _md(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#|~$])", r"\\\1", text)


def bibtex(talk: Conversation) -> str:
    """The cited papers as BibTeX entries."""
    entries = []
    for key, paper in _keyed(papers_of(talk)):
        fields = {
            "author": " and ".join(_bib_name(name) for name in paper.authors),
            "title": _bib(paper.title or paper.label),
            "journal": _bib(paper.venue),
            "year": str(paper.year or ""),
            "doi": _verbatim(paper.doi),
            "eprint": _verbatim(paper.arxiv),
            "archiveprefix": "arXiv" if paper.arxiv else "",
            "url": _verbatim(paper.url),
            "keywords": _bib(", ".join(paper.keywords)),
            "abstract": _bib(paper.abstract),
            "note": _bib(places(paper.sources)),
        }
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
        entries.append(f"@{'article' if paper.venue else 'misc'}{{{key},\n{lines}\n}}\n")
    return "\n".join(entries)


def ris(talk: Conversation) -> str:
    """The cited papers as RIS records."""
    entries: list[dict[str, Any]] = []
    for key, paper in _keyed(papers_of(talk)):
        entry = {
            "type_of_reference": "JOUR" if paper.venue else "GEN",
            "id": key,
            "title": _line(paper.title or paper.label),
            "authors": [", ".join(filter(None, _parts(name))) for name in paper.authors],
            "journal_name": _line(paper.venue),
            "year": str(paper.year or ""),
            "doi": _line(paper.doi),
            "urls": [_line(paper.url)] if paper.url else [],
            "keywords": [_line(word) for word in paper.keywords],
            "abstract": _line(paper.abstract),
            "notes": [_line(places(paper.sources))] if paper.sources else [],
        }
        entries.append({k: v for k, v in entry.items() if v})
    return str(rispy.dumps(entries, implementation=_Unnumbered)) if entries else ""


def csl_json(talk: Conversation) -> str:
    """The cited papers as CSL-JSON, for citation processors."""
    items = []
    for key, paper in _keyed(papers_of(talk)):
        item = {
            "id": key,
            "type": "article-journal" if paper.venue else "article",
            "title": unlatex(paper.title or paper.label),
            "author": [_csl_name(name) for name in paper.authors],
            "container-title": paper.venue,
            "issued": {"date-parts": [[paper.year]]} if paper.year else None,
            "DOI": paper.doi,
            "URL": paper.url or (f"https://arxiv.org/abs/{paper.arxiv}" if paper.arxiv else ""),
            "keyword": ", ".join(paper.keywords),
            "abstract": paper.abstract,
            "note": places(paper.sources),
        }
        items.append({k: v for k, v in item.items() if v})
    return json.dumps(items, ensure_ascii=False, indent=2) + "\n"


def record(talk: Conversation) -> str:
    """One JSON line an exchange; ``citewell ask --batch`` reads the file and asks everything again, in its order."""
    lines = [
        {
            "id": number,
            "conversation": talk.key or "conversation",
            "question": exchange.question,
            "where": where_json(exchange.where),
            "language": exchange.language,
            "citewell": version("citewell"),
            **_outcome(exchange),
        }
        for number, exchange in enumerate(talk.exchanges, 1)
    ]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _outcome(exchange: Exchange) -> dict[str, Any]:
    if exchange.answer is None:
        return {"error": exchange.error or "stopped"}
    cited = cited_papers(exchange.answer)
    return {
        "result": answer_json(exchange.answer),
        "papers": [paper_json(exchange.papers[i]) for i in cited if i in exchange.papers],
    }


FORMATS = {
    "markdown": Format("Conversation (Markdown)", "md", "text/markdown", markdown),
    "bibtex": Format("Cited papers (BibTeX)", "bib", "application/x-bibtex", bibtex),
    "ris": Format("Cited papers (RIS)", "ris", "application/x-research-info-systems", ris),
    "csl": Format("Cited papers (CSL-JSON)", "json", "application/json", csl_json),
    "record": Format("Record to run again (JSONL)", "jsonl", "application/jsonl", record),
}


def _keyed(papers: Sequence[Paper]) -> list[tuple[str, Paper]]:
    """Each paper with a citation key of its own: family name, year, first word of the title."""
    keyed: dict[str, Paper] = {}
    for paper in papers:
        family = paper.authors[0].split(",")[0].split()[-1:] if paper.authors else []
        words = re.findall(r"[A-Za-z0-9]+", unlatex(paper.title or paper.label)) or [paper.paper_id]
        name = re.sub(r"[^A-Za-z0-9]", "", "".join(family)).lower()
        key = f"{name}{paper.year or ''}{words[0].lower()}"
        if key in keyed:
            key = f"{key}-{paper.paper_id}"
        keyed[key] = paper
    return list(keyed.items())


class _Unnumbered(rispy.RisWriter):  # type: ignore[misc]
    """RIS without a line of its own for the number of each record, which not every reader takes."""

    def set_header(self, count: int) -> str:
        return ""


def _parts(name: str) -> tuple[str, str]:
    """Family name and given names of an author; "" for the latter where the name does not come apart."""
    name = _line(name)
    if " and " in name:  # a group's name; BibTeX would take it for two
        return name, ""
    try:
        person = Person(name)
    except PybtexError:  # more commas than a name has
        return name, ""
    family = " ".join([*person.prelast_names, *person.last_names, *person.lineage_names])
    return family, " ".join([*person.first_names, *person.middle_names])


def _csl_name(name: str) -> dict[str, str]:
    family, given = _parts(name)
    return {"family": family, "given": given} if given else {"literal": family}


def _bib_name(name: str) -> str:
    family, given = map(_bib, _parts(name))
    return f"{family}, {given}" if given else f"{{{family}}}" if re.search(r"[\s,]", family) else family


def _bib(text: str) -> str:
    """Text as the value of a BibTeX field: on one line, its braces in pairs, TeX's own signs escaped where they are
    neither in a formula nor escaped already, and formulas and macros as they stand."""
    text, out, position = _line(text), [], 0
    for formula in find_formulas(text):
        out += [_escaped(text[position : formula.start]), text[formula.start : formula.end]]
        position = formula.end
    return _verbatim("".join([*out, _escaped(text[position:])]))


def _escaped(text: str) -> str:
    return re.sub(r"\\*([%&_#$])", r"\\\1", text)


def _verbatim(text: str) -> str:
    depth = 0
    for sign in re.findall(r"[{}]", text):
        depth += 1 if sign == "{" else -1
        if depth < 0:
            break
    return _line(text if depth == 0 else re.sub(r"[{}]", "", text))


def _line(text: str) -> str:
    return " ".join(text.split())
