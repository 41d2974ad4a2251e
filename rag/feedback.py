"""What readers think of answers: one line of JSON a thumb, beside the library it is about; no language model needed.

The file only ever grows. Who thinks again, or takes a thumb back, adds a line; the last one about an answer counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from filelock import FileLock

from rag.errors import IndexStateError
from rag.records import Answer, Turn

Thumb = Literal["up", "down", "withdrawn"]

FILE_NAME = "feedback.jsonl"
LONGEST_REASON = 2000
"""Characters of a reason that are kept."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """A thumb on an answer, with all that is needed to ask again and to see what it was about."""

    question: str
    resolved_question: str
    history: tuple[str, ...]
    """The questions before it, each standing alone."""
    status: str
    answer: str
    sentences: tuple[str, ...]
    """The answer's sentences without markers."""
    papers: tuple[str, ...]
    """Ids of the papers cited."""
    quotes: tuple[str, ...]
    """The words cited."""
    nearest: tuple[str, ...]
    """Ids of the papers found, best first."""
    thumb: Thumb
    reason: str = ""
    llm: str = ""
    index: str = ""
    at: str = ""
    """When, in UTC, to the second: 2026-12-01T03:00:00+00:00."""

    @property
    def about(self) -> tuple[str, tuple[str, ...], str]:
        """What the thumb is on: a question in its conversation, and the words it was answered with."""
        return (self.question, self.history, self.answer)


class Feedback:
    """The thumbs on a library's answers."""

    def __init__(self, folder: Path) -> None:
        """``folder`` is the library's (``rag.build.library_folder``); nothing is read or written yet."""
        self.path = folder / FILE_NAME

    def add(self, answer: Answer, thumb: Thumb, reason: str = "", *, history: Sequence[Turn] = ()) -> Opinion:
        """Keeps a thumb on ``answer``, which followed the turns ``history``, and returns what was kept.

        Safe from several threads and processes: the line is written whole, after whatever stands in the file.
        Raises IndexStateError where it cannot be written; ValueError for an unknown thumb.
        """
        if thumb not in get_args(Thumb):
            raise ValueError(f"unknown thumb {thumb!r}; take one of {', '.join(get_args(Thumb))}")
        opinion = Opinion(
            question=answer.question,
            resolved_question=answer.resolved_question,
            history=tuple(turn.question for turn in history),
            status=answer.status,
            answer=answer.text,
            sentences=tuple(s.text for s in answer.sentences),
            papers=tuple(dict.fromkeys(c.paper_id for c in answer.citations)),
            quotes=tuple(dict.fromkeys(c.quote for c in answer.citations)),
            nearest=tuple(hit.paper.paper_id for hit in answer.nearest),
            thumb=thumb,
            reason=" ".join(reason.encode("utf-8", "replace").decode().split())[:LONGEST_REASON],
            llm=answer.llm,
            index=answer.index,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        line = json.dumps(asdict(opinion), ensure_ascii=False) + "\n"
        try:
            with FileLock(f"{self.path}.lock"), self.path.open("ab+") as file:
                file.seek(0, os.SEEK_END)
                if file.tell():
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b"\n":  # a line that was cut off stays by itself
                        line = "\n" + line
                file.write(line.encode("utf-8", "replace"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise IndexStateError(
                f"the thumb cannot be kept in {self.path} ({error}); make that folder writable or free some space"
            ) from error
        return opinion

    def opinions(self) -> list[Opinion]:
        """The thumbs that stand, in the order they were first given: of several on one answer the last.

        A line that is cut off or damaged is passed over. Raises IndexStateError where the file cannot be read.
        """
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.exists() else ""
        except OSError as error:
            raise IndexStateError(f"{self.path} cannot be read ({error}); make it readable") from error
        found: dict[tuple[str, tuple[str, ...], str], Opinion] = {}
        for line in text.split("\n"):
            opinion = _read(line)
            if opinion is not None:
                found[opinion.about] = opinion
        return [opinion for opinion in found.values() if opinion.thumb != "withdrawn"]


_TEXTS = {f.name for f in fields(Opinion) if not f.type.startswith("tuple")}
_REQUIRED = {"question", "status", "answer", "thumb"}


def _read(line: str) -> Opinion | None:
    try:
        item: Any = json.loads(line)
    except ValueError:
        return None
    if not isinstance(item, dict) or not item.keys() >= _REQUIRED or item["thumb"] not in get_args(Thumb):
        return None
    values: dict[str, Any] = {}
    for field in fields(Opinion):
        value = item.get(field.name, "" if field.name in _TEXTS else [])
        if field.name in _TEXTS and isinstance(value, str):
            values[field.name] = value
        elif field.name not in _TEXTS and isinstance(value, list) and all(isinstance(v, str) for v in value):
            values[field.name] = tuple(value)
        else:
            return None
    return Opinion(**values)
