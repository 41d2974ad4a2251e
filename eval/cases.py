"""``citewell eval cases``: thumbs that readers gave, as questions that the next version must answer at least as well."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from eval.facts import missing_facts, normal
from eval.questions import Question, default_questions, load_questions
from eval.results import Json
from eval.spans import Facts, facts_of, telling_words, word_fact
from eval.splits import split_of, splits_of_papers
from eval.tables import table
from rag.build import library_folder, open_catalogue
from rag.config import Config
from rag.feedback import Feedback, Opinion
from rag.language import language_of
from rag.lexical import LexicalIndex
from rag.records import Paper

CLASS = "thumb"
"""The class of an unanswerable question whose refusal was liked."""


def cases_of(config: Config) -> tuple[list[Question], list[tuple[Opinion, str]]]:
    """The thumbs on the library of ``config`` as questions, and those that cannot be one, with why.

    Raises IndexStateError where there is no such library.
    """
    catalogue = open_catalogue(config)
    papers = {p.paper_id: p for p in catalogue.papers()}
    catalogue.close()
    words = LexicalIndex.build(papers.values())
    splits = splits_of_papers(load_questions(default_questions()))
    questions: dict[str, Question] = {}
    left = []
    for opinion in Feedback(library_folder(config)).opinions():
        question = case_of(opinion, papers, words, splits)
        if question is None:
            left.append((opinion, "the library no longer holds its papers"))
        else:
            questions[question.id] = question
    return list(questions.values()), left


def case_of(
    opinion: Opinion, papers: Mapping[str, Paper], words: LexicalIndex, splits: Mapping[str, str]
) -> Question | None:
    """The question that an opinion makes; None where none of its papers is held any more.

    - a good answer: the same papers, and the figures and names (else the rarest words) that it shares with its quotes;
    - a bad answer: at least one of its sentences must not come again; a person may put the right facts in its place;
    - a good refusal: a question without an answer;
    - a bad refusal: the paper found first must be cited, whatever is said of it.
    """
    answered, up = opinion.status == "answered", opinion.thumb == "up"
    if not answered and up:
        held: tuple[str, ...] = ()
    else:
        held = tuple(p for p in (opinion.papers if answered else opinion.nearest[:1]) if p in papers)
        if not held:
            return None
    kind = "unanswerable" if not held else "follow-up" if opinion.history else _kind(len(held))
    facts: Facts = ()
    if answered:
        facts = _shared(opinion, words) if up else not_again(opinion.sentences)
    digest = hashlib.sha256("\x1f".join([opinion.question, *opinion.history, opinion.answer]).encode())
    told = {True: "thumb up", False: "thumb down"}[up] + (f": {opinion.reason}" if opinion.reason else "")
    near = opinion.nearest[:1] if not held else ()
    return Question(
        id=f"thumb-{digest.hexdigest()[:10]}",
        kind=kind,
        class_=CLASS if not held else "",
        split=split_of((held or near or (opinion.question,))[0], splits),
        lang={"English": "en", "Chinese": "zh"}.get(language_of(opinion.question), "other"),
        question=opinion.question,
        history=opinion.history,
        papers=held,
        near=tuple(p for p in near if p in papers),
        facts=facts,
        evidence=tuple(q for q in opinion.quotes if any(q in papers[p].abstract for p in held)) if up else (),
        note=told,
    )


def not_again(sentences: Sequence[str]) -> Facts:
    """One fact that an answer holds as long as it lacks at least one of ``sentences``, however it is marked up."""
    alternatives = []
    for sentence in sentences:
        ways = [r"\W+".join(re.findall(r"\w+", way)) for way in dict.fromkeys([sentence, normal(sentence)])]
        said = "|".join(dict.fromkeys(way for way in ways if way))
        if said:
            alternatives.append(rf"(?s)\A(?!.*(?:{said}))")
    return (tuple(alternatives),) if alternatives else ()


def print_cases(questions: Sequence[Question], left: Sequence[tuple[Opinion, str]]) -> str:
    """The cases, one a line."""
    if not questions and not left:
        return "no thumbs yet; they are given below an answer on the page of 'citewell chat'"
    rows = [[q.question[:70], q.kind, str(len(q.papers)), str(len(q.facts)), q.note[:60]] for q in questions]
    rows += [[opinion.question[:70], "-", "-", "-", why] for opinion, why in left]
    return table(["question", "kind", "papers", "facts", "from"], rows)


def cases_json(questions: Sequence[Question], left: Sequence[tuple[Opinion, str]], out: str) -> Json:
    """What was exported, and what could not be."""
    return {
        "cases": [
            {"id": q.id, "kind": q.kind, "question": q.question, "papers": list(q.papers), "note": q.note}
            for q in questions
        ],
        "left_out": [{"question": opinion.question, "reason": why} for opinion, why in left],
        "file": out,
    }


def _kind(papers: int) -> str:
    return "single" if papers == 1 else "two-paper" if papers == 2 else "whole-library"


def _shared(opinion: Opinion, words: LexicalIndex) -> Facts:
    """What the liked answer says that its quotes say too."""
    quotes = " ".join(opinion.quotes)
    facts = [f for s in opinion.sentences for f in facts_of(f": {s}") if not missing_facts([f], quotes)]
    if not facts:
        told = [w for w in telling_words(" ".join(opinion.sentences), words.idf) if w.lower() in quotes.lower()]
        facts = [tuple(word_fact(w) for w in told[:2])] if told else []
    asked = f"{opinion.question} {opinion.resolved_question}"
    return tuple(dict.fromkeys(f for f in facts if missing_facts([f], asked)))[:3]
