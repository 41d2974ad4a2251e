"""One answer held against its question: right or not, rightly cited or not, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from eval.facts import missing_facts
from eval.matching import SentenceMatch, match_sentence
from eval.questions import Question
from eval.results import Json
from rag.figures import numbers
from rag.mismatch import mismatches
from rag.records import Paper

VERDICTS = ("right", "wrong", "wrongly refused", "rightly refused", "wrongly answered", "error")
_MARKER = re.compile(r"\[(\d+)\]")
_ENOUGH = 0.8
"""F1 of the cited papers from which an answer about the whole library is right."""


def score(question: Question, answer: Json, papers: Mapping[str, Paper]) -> Json:
    """The record of a question: what was asked, what was said, and every finding about it.

    ``answer`` is in the form of ``citewell ask --json``; ``papers`` are the library's, by id.
    """
    answered = answer["status"] == "answered"
    missing = missing_facts(question.facts, answer["answer"]) if question.answerable else []
    cited = list(dict.fromkeys(c["paper_id"] for c in answer["citations"]))
    f1 = f1_of(cited, question.papers)
    right = answered and question.answerable and not missing
    if question.kind == "whole-library":
        right = right and f1 >= _ENOUGH
    ranks = {hit["paper_id"]: hit["rank"] for hit in answer["nearest"]}
    matches = _matches(question, answer, papers) if answered and question.answerable else []
    pairs = [len(m.right) + len(m.wrong) for m in matches]
    precision: float | None = sum(len(m.right) for m in matches) / sum(pairs) if sum(pairs) else 0.0
    recall: float | None = sum(m.fully_cited for m in matches) / len(matches) if matches else 0.0
    borne_out: float | None = sum(m.borne_out for m in matches) / len(matches) if matches else 0.0
    if question.kind == "whole-library":
        # what is cited there is a paper that belongs to a list, not the words of a sentence
        precision, recall = _share(cited, question.papers), _share(question.papers, cited)
    if not answered or not question.answerable:
        precision = recall = borne_out = None
    return {
        "id": question.id,
        "kind": question.kind,
        "class": question.class_,
        "split": question.split,
        "lang": question.lang,
        "question": question.question,
        "history": list(question.history),
        "english": question.english,
        "note": question.note,
        "papers": list(question.papers),
        "near": list(question.near),
        "facts": [list(f) for f in question.facts],
        "evidence": list(question.evidence),
        "count": question.count,
        **{k: v for k, v in answer.items() if k not in ("question", "kept")},
        "verdict": _verdict(question, answer, right),
        "answered": answered,
        "right": right,
        "missing_facts": missing,
        "cited_papers": cited,
        "gold_cited": answered and question.answerable and set(question.papers) <= set(cited),
        "gold_ranks": {p: ranks.get(p) for p in question.papers},
        "f1": f1 if question.kind == "whole-library" and answered else None,
        "count_right": _count_right(question, answer) if answered and question.count is not None else None,
        "citation_precision": precision,
        "citation_recall": recall,
        "borne_out": borne_out,
        "right_and_cited": right and recall == 1.0 and (question.kind != "whole-library" or precision == 1.0),
        "matches": [asdict(m) for m in matches],
        "bad_quotes": bad_quotes(answer, papers),
        "bad_markers": bad_markers(answer),
        "unknown_numbers": unknown_numbers(question, answer, papers) if answered else [],
    }


def f1_of(found: Sequence[str], wanted: Sequence[str]) -> float:
    """F1 of two sets of paper ids; 0 where they share none."""
    common = len(set(found) & set(wanted))
    return 2 * common / (len(set(found)) + len(set(wanted))) if common else 0.0


def bad_quotes(answer: Json, papers: Mapping[str, Paper]) -> list[Json]:
    """The citations whose quote is not ``abstract[start:end]`` of the stored paper they name, or is empty."""
    return [
        {"marker": c["marker"], "paper_id": c["paper_id"]}
        for c in answer["citations"]
        if not c["quote"]
        or c["paper_id"] not in papers
        or papers[c["paper_id"]].abstract[c["start"] : c["end"]] != c["quote"]
    ]


def bad_markers(answer: Json) -> list[int]:
    """The markers, in the text or at a sentence, that point to no citation. Brackets inside quoted words are none."""
    known = {c["marker"] for c in answer["citations"]}
    text = answer["answer"]
    for sentence in answer["sentences"]:
        if sentence["quoted"]:
            text = text.replace(sentence["text"], " ")
    found = {int(n) for n in _MARKER.findall(text)}
    found |= {n for s in answer["sentences"] for n in s["citations"]}
    return sorted(found - known)


def unknown_numbers(question: Question, answer: Json, papers: Mapping[str, Paper]) -> list[str]:
    """The figures of the answer's sentences that no cited abstract holds, in digits, in words or rounded.

    The number of cited papers may be told; for a question about the whole library also what the question
    names and how many papers there are.
    """
    cited = {c["paper_id"] for c in answer["citations"]}
    held = " ".join(papers[i].abstract for i in sorted(cited) if i in papers)
    allowed = {str(len(cited))}
    if question.kind == "whole-library":
        labels = [papers[i].label for i in cited if i in papers]
        places = [s.file for i in cited if i in papers for s in papers[i].sources]
        allowed |= numbers(" ".join([question.question, *labels, *places])) | {str(len(papers))}
    found = [
        m.detail
        for sentence in answer["sentences"]
        for m in mismatches(sentence["text"], held, loose=True)
        if m.kind == "number" and m.detail not in allowed
    ]
    return list(dict.fromkeys(found))


def _verdict(question: Question, answer: Json, right: bool) -> str:
    if "error" in answer:
        return "error"
    answered = answer["status"] == "answered"
    if not question.answerable:
        return "wrongly answered" if answered else "rightly refused"
    if not answered:
        return "wrongly refused"
    return "right" if right else "wrong"


def _matches(question: Question, answer: Json, papers: Mapping[str, Paper]) -> list[SentenceMatch]:
    citations = {c["marker"]: c for c in answer["citations"]}
    abstracts = {i: paper.abstract for i, paper in papers.items()}
    asked = " ".join([question.question, answer["resolved_question"], *question.history])
    return [
        match_sentence(
            sentence.get("original") or sentence["text"],
            [(n, citations[n]["paper_id"], citations[n]["quote"]) for n in sentence["citations"] if n in citations],
            gold=question.papers,
            abstracts=abstracts,
            question=asked,
        )
        for sentence in answer["sentences"]
    ]


def _count_right(question: Question, answer: Json) -> bool:
    """Whether the answer tells the number of papers, or has it as the number of papers it cites."""
    told = numbers(answer["answer"])
    cited = {c["paper_id"] for c in answer["citations"]}
    return str(question.count) in told or (not told and len(cited) == question.count)


def _share(part: Sequence[str], whole: Sequence[str]) -> float:
    """The share of ``part`` that is in ``whole``; 0 for an empty part."""
    return len(set(part) & set(whole)) / len(set(part)) if part else 0.0
