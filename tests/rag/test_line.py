"""The line before the language model: smallest volume first, nobody for ever, and whoever leaves frees the place."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage

from rag.answer import CitewellQueryEngine
from rag.library import Library
from rag.line import Line, Place, tokens_of, volume
from rag.records import Finished, Found, Resolved, Token, Waiting
from rag.retrieve import CitewellRetriever


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def joined(line: Line, size: float) -> tuple[Place, Iterator[Waiting]]:
    """A place in the line, and the wait for it, begun."""
    place = line.place()
    return place, place.wait(size)


def ahead(wait: Iterator[Waiting]) -> int | None:
    """How many come before; None where the language model is there at once."""
    told = next(wait, None)
    return None if told is None else told.ahead


def test_the_volume_is_the_area_of_a_cache_that_grows_with_each_token() -> None:
    assert [volume(600, 75), volume(10, 0), volume(0, 3), volume(10, 2)] == [47_850, 0, 6, 23]
    assert volume(5, 4) == sum(5 + step for step in range(1, 5))


def test_a_prompt_is_measured_in_bytes_so_that_chinese_counts_too() -> None:
    assert tokens_of([ChatMessage(content="a" * 40), ChatMessage(content="文" * 4)]) == 13
    assert tokens_of([ChatMessage(content="half a pair \ud83d")]) == 3


def test_an_empty_line_lets_in_at_once_and_says_nothing() -> None:
    place, wait = joined(Line(), 10)
    assert list(wait) == []
    assert list(place.wait(99)) == []  # it is in already


def test_the_smallest_volume_comes_first_and_everybody_sees_the_place() -> None:
    line = Line(clock=Clock())
    first, wait = joined(line, 50)
    assert ahead(wait) is None
    waits = {size: joined(line, size) for size in (30, 10, 20)}
    assert [ahead(waits[size][1]) for size in (30, 10, 20)] == [1, 1, 2]
    assert [ahead(waits[size][1]) for size in (30, 10, 20)] == [3, 1, 2]
    first.close()
    assert list(waits[10][1]) == [Waiting(0)]
    assert [ahead(waits[size][1]) for size in (30, 20)] == [2, 1]
    assert len(line) == 2


def test_whoever_leaves_frees_the_place_waiting_or_served() -> None:
    line = Line(clock=Clock())
    served, wait = joined(line, 1)
    assert ahead(wait) is None
    (left, second), (_, third), (_, fourth) = joined(line, 2), joined(line, 3), joined(line, 4)
    assert [ahead(w) for w in (second, third, fourth)] == [1, 2, 3]
    second.close()  # type: ignore[attr-defined]
    assert [ahead(w) for w in (third, fourth)] == [1, 2]
    served.close()
    left.close()
    served.close()
    assert [ahead(w) for w in (third, fourth)] == [0, 1]


def test_as_many_are_served_at_a_time_as_there_are_slots() -> None:
    line = Line(2, clock=Clock())
    places = [joined(line, size) for size in (5, 5, 1, 2)]
    assert [ahead(wait) for _, wait in places] == [None, None, 1, 2]
    places[1][0].close()
    assert ahead(places[2][1]) == 0
    assert ahead(places[3][1]) == 1


def test_a_long_question_is_passed_only_by_what_comes_while_its_patience_lasts() -> None:
    clock = Clock()
    line = Line(clock=clock)
    served, wait = joined(line, 1)
    assert ahead(wait) is None
    _, long = joined(line, 50_000)
    assert ahead(long) == 1
    clock.now = 9.0
    quick, first = joined(line, 100)
    assert (ahead(first), ahead(long)) == (1, 2)
    clock.now = 10.0
    _, late = joined(line, 100)
    assert ahead(late) == 3
    served.close()
    assert ahead(first) == 0
    quick.close()
    assert ahead(long) == 0


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 5)), min_size=1, max_size=30), st.integers(1, 4))
def test_all_are_served_and_nobody_is_passed_by_more_than_the_volume_allows(
    arrivals: list[tuple[float, float]], slots: int
) -> None:
    clock = Clock()
    line = Line(slots, clock=clock)
    waiting: list[tuple[float, float, Place, Iterator[Waiting]]] = []
    for size, pause in arrivals:
        clock.now += pause
        place, wait = joined(line, size)
        told = ahead(wait)
        assert (told is None) == (len(waiting) < slots)
        waiting.append((clock.now, size, place, wait))
    running, queue = waiting[:slots], waiting[slots:]
    order = []
    while running:
        running.pop(0)[2].close()
        for item in queue:
            if ahead(item[3]) == 0:
                order.append(item)
                queue.remove(item)
                running.append(item)
                break
    assert not queue
    assert len(line) == 0
    for n, (came, size, *_) in enumerate(order):
        for later, smaller, *_ in order[:n]:
            assert smaller <= size + 5_000 * (came - later) + 1e-3


def test_threads_get_in_one_at_a_time_and_none_is_lost() -> None:
    line, inside, most, order = Line(), 0, 0, []
    guard, together = threading.Lock(), threading.Barrier(20)

    def ask(number: int) -> None:
        nonlocal inside, most
        together.wait(30)
        place = line.place()
        for told in place.wait(number):
            assert told.ahead < 20
        with guard:
            inside += 1
            most = max(most, inside)
        order.append(number)
        with guard:
            inside -= 1
        place.close()

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(ask, range(20)))
    assert sorted(order) == list(range(20))
    assert most == 1
    assert len(line) == 0


QUESTION = "By how much does GeoSPRINT improve FID on CIFAR-10 over DDIM?"


def test_sources_come_before_the_wait_and_a_question_that_is_left_frees_the_language_model(
    seeds_library: Library, scripted: Callable[..., Any]
) -> None:
    engine = CitewellQueryEngine(CitewellRetriever(seeds_library), scripted(answer="GeoSPRINT improves FID [1]."))
    first, second, third = (engine.stream(QUESTION) for _ in range(3))
    for stream in (first, second, third):
        assert isinstance(next(stream), Resolved)
        assert isinstance(next(stream), Found)
    assert isinstance(next(first), Token)
    assert next(second) == Waiting(1)
    assert next(third) == Waiting(2)
    second.close()  # type: ignore[attr-defined]
    assert next(third) == Waiting(1)
    assert isinstance(list(first)[-1], Finished)
    rest = list(third)
    assert rest[0] == Waiting(0)
    assert isinstance(rest[-1], Finished)
    assert len(engine.line) == 0


def test_what_needs_no_language_model_does_not_wait(seeds_library: Library, scripted: Callable[..., Any]) -> None:
    engine = CitewellQueryEngine(CitewellRetriever(seeds_library), scripted(answer="GeoSPRINT improves FID [1]."))
    busy = engine.stream(QUESTION)
    while not isinstance(next(busy), Token):
        pass
    assert engine.ask("Hello!").reason == "not-a-question"
    assert engine.ask("How many papers are about pruning?").status == "answered"
    busy.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("question", ["GeoSPRINT 在 CIFAR-10 上把 FID 改善了多少？"])
def test_a_question_to_be_translated_waits_before_it_is_looked_up(
    question: str, seeds_library: Library, scripted: Callable[..., Any]
) -> None:
    engine = CitewellQueryEngine(CitewellRetriever(seeds_library), scripted(answer="x [1].", to_english=QUESTION))
    busy = engine.stream(QUESTION)
    while not isinstance(next(busy), Token):
        pass
    other = engine.stream(question)
    assert next(other) == Waiting(1)
    busy.close()  # type: ignore[attr-defined]
    assert [type(event) for event in (next(other), next(other), next(other))] == [Waiting, Resolved, Found]
    other.close()  # type: ignore[attr-defined]
    assert len(engine.line) == 0


def test_a_language_model_that_fails_frees_its_slot(seeds_library: Library, scripted: Callable[..., Any]) -> None:
    engine = CitewellQueryEngine(CitewellRetriever(seeds_library), scripted(answer=RuntimeError("boom")))
    for _ in range(2):
        with pytest.raises(Exception, match="boom"):
            engine.ask(QUESTION)
    assert list(engine.line.place().wait(1)) == []
