"""The JSON of the command line: what scripts read. Field names and meanings do not change without notice."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rag.check import Verification
from rag.errors import QuestionError
from rag.filters import Filter
from rag.records import Answer, Citation, Hit, Paper, Source
from rag.sync import Report

Json = dict[str, Any]


def sources_json(sources: tuple[Source, ...]) -> list[Json]:
    return [{"file": s.file, "row": s.row} for s in sources]


def hit_json(hit: Hit) -> Json:
    """One paper found; ``text`` is the whole abstract."""
    return {
        "rank": hit.rank,
        "paper_id": hit.paper.paper_id,
        "label": hit.paper.label,
        "score": round(hit.score, 6),
        "text": hit.paper.abstract,
        "sources": sources_json(hit.paper.sources),
    }


def search_json(question: str, hits: list[Hit]) -> Json:
    return {"question": question, "hits": [hit_json(h) for h in hits]}


def where_json(where: Filter) -> Json:
    """A filter as programs send it; ``where_of`` reads it."""
    return {
        "year": where.year,
        "venue": list(where.venues),
        "author": list(where.authors),
        "keyword": list(where.keywords),
        "file": list(where.files),
    }


def where_of(value: object) -> Filter:
    """The filter that a program sent. Raises QuestionError for what is none."""
    kinds = where_json(Filter())
    if not isinstance(value, dict) or not value.keys() <= kinds.keys():
        raise QuestionError(f'"where" must be an object of {", ".join(kinds)}')
    for kind, given in value.items():
        texts = [given] if kind == "year" else given
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise QuestionError(f'the {kind} of "where" must be {"a text" if kind == "year" else "a list of texts"}')
    return Filter.parse(**value)


def paper_json(paper: Paper) -> Json:
    return {
        "paper_id": paper.paper_id,
        "label": paper.label,
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": list(paper.authors),
        "venue": paper.venue,
        "year": paper.year,
        "keywords": list(paper.keywords),
        "sources": sources_json(paper.sources),
    }


def report_json(report: Report) -> Json:
    return asdict(report) | {"skipped": [asdict(s) for s in report.skipped]}


def answer_json(answer: Answer) -> Json:
    """An answer; every ``quote`` is ``abstract[start:end]`` of the paper it names."""
    return {
        "question": answer.question,
        "resolved_question": answer.resolved_question,
        "status": answer.status,
        "answer": answer.text,
        "sentences": [
            {
                "text": s.text,
                "verdict": s.verdict,
                "citations": list(s.citations),
                "reason": s.reason,
                "quoted": s.quoted,
                "original": s.original,
            }
            for s in answer.sentences
        ],
        "citations": [citation_json(c) for c in answer.citations],
        "nearest": [hit_json(h) for h in answer.nearest],
        "confidence": round(answer.confidence, 4),
        "reason": answer.reason,
        "guarantee": answer.guarantee,
        "timings_ms": answer.timings_ms,
        "llm": answer.llm,
        "index": answer.index,
    }


def verification_json(found: Verification) -> Json:
    return {
        "sentence": found.sentence,
        "verdict": found.verdict,
        "score": round(found.score, 4),
        "citations": [citation_json(c) for c in found.citations],
        "reason": found.reason,
    }


def citation_json(citation: Citation) -> Json:
    return {
        "marker": citation.marker,
        "paper_id": citation.paper_id,
        "label": citation.label,
        "quote": citation.quote,
        "start": citation.start,
        "end": citation.end,
        "sources": sources_json(citation.sources),
    }
