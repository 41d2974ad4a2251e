"""The HTTP API on a real server: the contract's JSON, events, faults in one line, and engines that are let go."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from rag.contract import answer_json, hit_json, paper_json
from rag.errors import IndexStateError, NotReadyError
from rag.records import Hit, Turn
from serve.api import build_api
from serve.service import Service


def events(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_a_question_is_answered_with_the_json_of_the_command_line(address: str, engine: Any, helpers: Any) -> None:
    history = [{"question": "What is ORCA?", "answer": "A method. [1]", "paper_ids": ["p-orca"]}]
    reply = httpx.post(f"{address}/api/ask", json={"question": "Does it calibrate?", "history": history})
    assert (reply.status_code, reply.json()) == (200, answer_json(helpers.answer_to("Does it calibrate?")))
    assert engine.asked == [("Does it calibrate?", (Turn("What is ORCA?", "A method. [1]", ("p-orca",)),))]


def test_a_stream_tells_what_happens_and_ends_with_the_answer(address: str, helpers: Any) -> None:
    reply = httpx.post(f"{address}/api/ask", json={"question": "Q?", "stream": True})
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert events(reply.text) == [
        ("resolved", {"question": "Q?"}),
        ("found", {"hits": [hit_json(Hit(1, helpers.ORCA, 0.9)), hit_json(Hit(2, helpers.FOO, 0.25))]}),
        ("token", {"text": "ORCA "}),
        ("token", {"text": "calibrates [1]."}),
        ("answer", answer_json(helpers.answer_to("Q?"))),
    ]


def test_papers_are_listed_in_pages_and_found_by_id(address: str, helpers: Any) -> None:
    both = [paper_json(helpers.FOO), paper_json(helpers.ORCA)]
    assert httpx.get(f"{address}/api/papers").json() == {"papers": both, "total": 2}
    assert httpx.get(f"{address}/api/papers?offset=1&limit=1").json() == {"papers": both[1:], "total": 2}
    assert httpx.get(f"{address}/api/papers/p-orca").json() == both[1]
    missing = httpx.get(f"{address}/api/papers/none")
    assert (missing.status_code, missing.json()) == (
        404,
        {"error": "the library holds no paper 'none'; /api/papers lists the ids"},
    )


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("ask", {}, 422, "question: Field required; /docs says what is expected"),
        ("ask", {"question": ""}, 422, "question: String should have at least 1 character"),
        ("ask", {"question": "x" * 4001}, 422, "question: String should have at most 4000 characters"),
        ("ask", {"question": "Q?", "histroy": []}, 422, "histroy: Extra inputs are not permitted"),
        ("ask", {"question": "empty"}, 422, "the question is empty; ask something"),
        ("ask", {"question": "broken"}, 502, "the language model x failed; check it"),
        ("ask", {"question": "crash"}, 500, "something went wrong inside Citewell (ValueError); its log says more"),
        ("search", {"question": "Q?", "k": 0}, 422, "k: Input should be greater than or equal to 1"),
        ("nowhere", {}, 404, "POST /api/nowhere is not offered here; /docs lists what is"),
        ("papers", {}, 405, "POST /api/papers is not offered here; /docs lists what is"),
    ],
)
def test_a_fault_is_one_line_with_its_status(address: str, path: str, body: Any, status: int, words: str) -> None:
    reply = httpx.post(f"{address}/api/{path}", json=body)
    assert reply.status_code == status
    assert list(reply.json()) == ["error"]
    assert reply.json()["error"].startswith(words)
    assert "\n" not in reply.json()["error"]


def test_what_is_no_json_is_refused_in_one_line(address: str) -> None:
    reply = httpx.post(f"{address}/api/ask", content=b"{", headers={"Content-Type": "application/json"})
    assert reply.status_code == 422
    assert list(reply.json()) == ["error"]
    simple = httpx.post(f"{address}/api/ask", content=b'{"question": "Q?"}', headers={"Content-Type": "text/plain"})
    assert simple.status_code == 422  # what another site's page could send without asking


def test_a_fault_in_a_stream_is_its_last_event(address: str) -> None:
    reply = httpx.post(f"{address}/api/ask", json={"question": "broken", "stream": True})
    assert events(reply.text)[-1] == ("error", {"status": 502, "error": "the language model x failed; check it"})


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_frees_the_engine(address: str, engine: Any, helpers: Any, stream: bool) -> None:
    with httpx.Client() as client, pytest.raises(httpx.ReadTimeout):
        client.post(f"{address}/api/ask", json={"question": "hold", "stream": stream}, timeout=1)
    helpers.until(lambda: engine.left == ["hold"])
    assert httpx.post(f"{address}/api/ask", json={"question": "Q?"}, timeout=60).status_code == 200


def test_twenty_at_once_are_answered_in_turn_none_lost_each_seeing_its_place(
    address: str, engine: Any, helpers: Any
) -> None:
    questions = [f"Question {n}?" for n in range(20)]

    def ask(question: str) -> list[tuple[str, Any]]:
        reply = httpx.post(f"{address}/api/ask", json={"question": question, "stream": True}, timeout=120)
        return events(reply.text)

    with ThreadPoolExecutor(21) as pool:
        first = pool.submit(ask, "hold")
        helpers.until(lambda: len(engine.asked) == 1)
        told = [pool.submit(ask, question) for question in questions]
        helpers.until(lambda: len(engine.line) == 20)
        engine.go_on.set()
        assert first.result()[-1][0] == "answer"
        for question, future in zip(questions, told, strict=True):
            seen = future.result()
            assert seen[-1] == ("answer", answer_json(helpers.answer_to(question)))
            places = [value["ahead"] for name, value in seen if name == "waiting"]
            assert 1 <= places[0] <= 20
            assert places[-1] == 0
    assert sorted(question for question, _ in engine.asked[1:]) == sorted(questions)
    assert engine.left == []


def test_until_it_is_ready_it_says_so_and_search_comes_first(helpers: Any) -> None:
    def not_ready() -> Any:
        raise NotReadyError("the language model is not ready yet (Fetching x); try again in a few seconds")

    engine = helpers.Engine()
    service = Service(library=lambda: engine.library, engine=not_ready, status=lambda: "Fetching x")
    with helpers.serving(build_api(service)) as address:
        state = httpx.get(f"{address}/api/status").json()
        assert state == {"status": "Fetching x", "search": True, "ask": False, "papers": 2}
        for stream in (True, False):
            reply = httpx.post(f"{address}/api/ask", json={"question": "Q?", "stream": stream})
            assert (reply.status_code, reply.headers["retry-after"]) == (503, "5")
            assert reply.json()["error"].startswith("the language model is not ready yet")
        assert httpx.get(f"{address}/api/papers/p-foo").status_code == 200


def test_a_library_that_cannot_be_opened_is_said(helpers: Any) -> None:
    def broken() -> Any:
        raise IndexStateError("the library 'x' was not indexed; run 'citewell index'")

    with helpers.serving(build_api(Service(library=broken, engine=broken, status=lambda: "x"))) as address:
        reply = httpx.post(f"{address}/api/search", json={"question": "Q?"})
        assert (reply.status_code, reply.json()["error"]) == (
            503,
            "the library 'x' was not indexed; run 'citewell index'",
        )
        assert httpx.get(f"{address}/api/status").json() == {"status": "x", "search": False, "ask": False, "papers": 0}


def test_the_reference_lists_every_operation_and_fetches_nothing(address: str) -> None:
    schema = httpx.get(f"{address}/openapi.json").json()
    page = httpx.get(f"{address}/docs").text
    assert f"{address}/api/search" in page, "an example can be run as it stands"
    for path in schema["paths"]:
        assert f"<code>{path}</code>" in page
    assert {"/api/ask", "/api/search", "/api/check", "/api/papers", "/api/papers/{paper_id}", "/api/status"} < set(
        schema["paths"]
    )
    assert "<script" not in page
    assert "src=" not in page
    assert [part for part in page.split('"') if part.startswith("http")] == []
    assert "characters: 4,000" in page


def test_search_and_check_speak_of_the_real_seeds(seeds_library: Any, helpers: Any) -> None:
    def not_ready() -> Any:
        raise NotReadyError("no language model yet")

    service = Service(library=lambda: seeds_library, engine=not_ready, status=lambda: "")
    with helpers.serving(build_api(service)) as address:
        question = "By how much does GeoSPRINT improve FID on CIFAR-10 over DDIM?"
        found = httpx.post(f"{address}/api/search", json={"question": question, "k": 3}, timeout=120).json()
        assert (found["question"], [hit["rank"] for hit in found["hits"]]) == (question, [1, 2, 3])
        best = found["hits"][0]
        assert "GeoSPRINT" in best["label"]
        within = {"question": question, "k": 3, "where": {"file": ["002*"]}}
        narrowed = httpx.post(f"{address}/api/search", json=within, timeout=120).json()["hits"]
        assert {any(s["file"].startswith("002") for s in hit["sources"]) for hit in narrowed} == {True}
        nothing = httpx.post(f"{address}/api/search", json={"question": question, "where": {"year": "1900"}})
        assert (nothing.status_code, nothing.json()) == (
            422,
            {"error": "no paper of the library fits the filter (year 1900); 'citewell papers' lists what there is"},
        )
        sentence = "GeoSPRINT improves FID on CIFAR-10 by 0.7-1.1 over DDIM"
        checked = httpx.post(f"{address}/api/check", json={"sentence": sentence}, timeout=120).json()
        assert checked["verdict"] == "supported"
        cited = checked["citations"][0]
        assert best["text"][cited["start"] : cited["end"]] == cited["quote"]
        unknown = httpx.post(f"{address}/api/check", json={"sentence": sentence, "paper_id": "none"}, timeout=120)
        assert unknown.status_code == 422
        listed = httpx.get(f"{address}/api/papers?limit=1000").json()
        assert (listed["total"], len(listed["papers"])) == (71, 71)
