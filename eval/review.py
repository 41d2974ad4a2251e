"""``citewell eval review``: what a person decides about made questions, kept after each decision.

The file of made questions stays as it is. Beside it stand ``NAME.decisions.json``, all that was decided, and
``NAME.accepted.jsonl``, the questions file that comes of it: accepted and edited ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from eval.questions import Question, as_line, load_questions
from eval.results import Json, write_json, write_text
from rag.errors import CitewellError
from rag.records import Paper

Decision = Literal["accept", "drop"]
_OR = " || "


@dataclass(frozen=True, slots=True)
class Shown:
    """A paper that a question is about (or near), with the places of the words that answer it."""

    label: str
    abstract: str
    quotes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Card:
    """A question as a person is to judge it."""

    id: str
    heading: str
    """Kind, class and split."""
    question: str
    facts: str
    """One fact a line, its alternatives parted by " || "."""
    note: str
    papers: tuple[Shown, ...]
    decision: str
    """ "accept", "drop", or "" where nothing was decided."""


class Review:
    """The questions of a file and the decisions about them."""

    def __init__(self, path: Path, papers: Mapping[str, Paper]) -> None:
        """``papers`` are the library's, by id. Raises CitewellError where the file holds no questions, or what was
        decided about it cannot be read."""
        self._questions = load_questions(path)
        self._papers = papers
        self.decisions_path = path.with_suffix(".decisions.json")
        self.accepted_path = path.with_suffix(".accepted.jsonl")
        self._decisions = self._read()

    def __len__(self) -> int:
        return len(self._questions)

    def card(self, place: int) -> Card:
        """The question at ``place``, from 0, as it stands now."""
        question = self._current(self._questions[place])
        return Card(
            id=question.id,
            heading=" · ".join(x for x in (question.kind, question.class_, question.split) if x),
            question=question.question,
            facts="\n".join(_OR.join(alternatives) for alternatives in question.facts),
            note=question.note,
            papers=tuple(self._shown(i, question) for i in (*question.papers, *question.near)),
            decision=str(self._decisions.get(question.id, {}).get("decision", "")),
        )

    def undecided(self, after: int = -1) -> int | None:
        """The place of the next question without a decision, beginning after ``after`` and going round; None: no more."""
        order = [*range(after + 1, len(self)), *range(after + 1)]
        return next((i for i in order if self._questions[i].id not in self._decisions), None)

    def counts(self) -> dict[str, int]:
        """How many are accepted, dropped and left."""
        made = [d["decision"] for d in self._decisions.values()]
        accepted, dropped = made.count("accept"), made.count("drop")
        return {"accepted": accepted, "dropped": dropped, "left": len(self) - accepted - dropped}

    def decide(self, place: int, decision: Decision, *, question: str, facts: str) -> None:
        """Keeps what was decided about the question at ``place``, with its wording and its facts as they now are.

        Both files are written whole before it returns. Raises CitewellError for an empty question, a fact that is no
        regular expression, or a disk that refuses; nothing is decided then.
        """
        if decision not in get_args(Decision):
            raise CitewellError(f"unknown decision {decision!r}; take one of {', '.join(get_args(Decision))}")
        text = " ".join(question.split())
        if not text:
            raise CitewellError("the question is empty; write one, or drop it")
        made = self._questions[place]
        kept: Json = {"decision": decision, "question": text, "facts": [list(f) for f in _facts(facts)]}
        decisions = {**self._decisions, made.id: kept}
        write_json(self.decisions_path, {"decisions": decisions})
        self._decisions = decisions
        accepted = [self._current(q) for q in self._questions if decisions.get(q.id, {}).get("decision") == "accept"]
        write_text(self.accepted_path, "".join(as_line(q) + "\n" for q in accepted))

    def _current(self, question: Question) -> Question:
        """The question with what a person made of it."""
        decided = self._decisions.get(question.id)
        if decided is None:
            return question
        return replace(question, question=decided["question"], facts=tuple(tuple(f) for f in decided["facts"]))

    def _shown(self, paper_id: str, question: Question) -> Shown:
        paper = self._papers.get(paper_id)
        if paper is None:
            return Shown(paper_id, "(the library no longer holds this paper)", ())
        found = [(paper.abstract.find(words), len(words)) for words in question.evidence]
        return Shown(paper.label, paper.abstract, tuple((at, at + n) for at, n in found if at >= 0))

    def _read(self) -> dict[str, Json]:
        if not self.decisions_path.exists():
            return {}
        try:
            found = json.loads(self.decisions_path.read_text(encoding="utf-8"))["decisions"]
            known = {q.id for q in self._questions}
            return {
                str(i): {
                    "decision": d["decision"],
                    "question": str(d["question"]),
                    "facts": [list(f) for f in d["facts"]],
                }
                for i, d in found.items()
                if i in known and d["decision"] in get_args(Decision)
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CitewellError(
                f"{self.decisions_path} cannot be read as decisions ({error}); mend it, or remove it to begin anew"
            ) from error


def _facts(text: str) -> list[tuple[str, ...]]:
    facts = []
    for line in text.splitlines():
        alternatives = tuple(part.strip() for part in line.split(_OR.strip()) if part.strip())
        for pattern in alternatives:
            try:
                re.compile(pattern)
            except re.error as error:
                raise CitewellError(f"the fact {pattern!r} is no regular expression ({error}); correct it") from error
        if alternatives:
            facts.append(alternatives)
    return facts
