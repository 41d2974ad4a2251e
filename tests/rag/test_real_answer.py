"""The real 1.5B model over the real index of the seeds; slow, so only two questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from rag.answer import CitewellQueryEngine
from rag.build import open_engine
from rag.config import Config
from rag.records import Answer, Finished, Found, Token

pytestmark = pytest.mark.llm


@pytest.fixture(scope="module")
def engine(seeds_config: Config) -> Iterator[CitewellQueryEngine]:
    engine = open_engine(seeds_config)
    yield engine
    engine._llm.close()  # type: ignore[attr-defined]
    engine.library.close()


def labels(answer: Answer) -> set[str]:
    return {c.label for c in answer.citations}


def test_a_figure_is_found_and_cited(engine: CitewellQueryEngine, keeps_the_contract: Callable[..., None]) -> None:
    events = list(engine.stream("By how much does GeoSPRINT improve FID on CIFAR-10 over DDIM?"))
    kinds = [type(e) for e in events]
    assert kinds.index(Found) < kinds.index(Token)
    assert sum(isinstance(e, Token) and bool(e.text) for e in events) > 3
    last = events[-1]
    assert isinstance(last, Finished)
    answer = last.answer
    keeps_the_contract(answer, engine.library)
    assert answer.status == "answered"
    assert "0.7" in answer.text
    assert "GeoSPRINT" in labels(answer)
    assert answer.llm.lower().startswith("qwen2.5-coder-1.5b-instruct")


def test_a_chinese_question_is_answered_from_the_english_abstract(
    engine: CitewellQueryEngine, keeps_the_contract: Callable[..., None]
) -> None:
    answer = engine.ask("TransitLM 数据集覆盖了多少个站点和多少条线路？")
    keeps_the_contract(answer, engine.library)
    assert answer.status == "answered"
    assert "120,845" in answer.text or "120845" in answer.text
    assert "TransitLM" in labels(answer)
