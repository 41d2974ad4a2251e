"""Filters as programs send them, and searches within them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rag.filters import Filter
from rag.records import Hit
from rag.retrieve import CitewellRetriever
from serve.service import Service

_Values = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=50)]


class Where(BaseModel):
    """Which papers are looked at: those that fit every field, in any of its values; empty, all of them."""

    model_config = ConfigDict(extra="forbid")
    year: Annotated[str, Field(max_length=20, description='"2019", "2019..2021", "2019.." or "..2021"')] = ""
    venue: _Values = []
    author: _Values = []
    keyword: _Values = []
    file: _Values = []

    def filter(self) -> Filter:
        """Raises QuestionError for a value that nothing could fit."""
        return Filter.parse(**self.model_dump())


def found(service: Service, question: str, k: int, where: Filter) -> list[Hit]:
    """The ``k`` best papers within ``where``. Raises QuestionError where no paper fits it."""
    return where.fitting(CitewellRetriever(service.library()).search(question, k=k, where=where))
