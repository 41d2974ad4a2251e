"""The official MCP client: against the tools in the process, over HTTP, and over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from rag.config import Config
from rag.contract import answer_json, paper_json
from rag.errors import NotReadyError
from rag.records import Turn
from serve.service import Service
from serve.tools import build_tools

QUESTION = "By how much does GeoSPRINT improve FID on CIFAR-10 over DDIM?"


def with_client(server: Any, work: Callable[[Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with Client(server) as client:
            return await work(client)

    return asyncio.run(run())


def tools_over(engine: Any) -> Any:
    return build_tools(Service(library=lambda: engine.library, engine=lambda: engine, status=lambda: ""))


def test_the_tools_say_what_they_take(engine: Any) -> None:
    listed = with_client(tools_over(engine), lambda client: client.list_tools())
    assert [(tool.name, sorted(tool.input_schema["properties"])) for tool in listed.tools] == [
        ("search", ["k", "question", "where"]),
        ("ask", ["history", "question", "where"]),
        ("get_paper", ["paper_id"]),
    ]
    assert all(tool.annotations.read_only_hint for tool in listed.tools)


def test_an_answer_and_a_paper_are_the_json_of_the_command_line(engine: Any, helpers: Any) -> None:
    history = [{"question": "What is ORCA?", "answer": "A method.", "paper_ids": ["p-orca"]}]

    async def work(client: Client) -> tuple[Any, Any]:
        asked = {"question": "Does it calibrate?", "history": history}
        return await client.call_tool("ask", asked), await client.call_tool("get_paper", {"paper_id": "p-foo"})

    answer, paper = with_client(tools_over(engine), work)
    assert answer.structured_content == answer_json(helpers.answer_to("Does it calibrate?"))
    assert json.loads(answer.content[0].text) == answer.structured_content
    assert paper.structured_content == paper_json(helpers.FOO)
    assert engine.asked == [("Does it calibrate?", (Turn("What is ORCA?", "A method.", ("p-orca",)),))]


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("ask", {"question": "broken"}, "the language model x failed"),
        ("ask", {"question": "Q?", "history": [{"question": 1}]}, 'an item of "history" lacks a text "question"'),
        ("get_paper", {"paper_id": "none"}, "the library holds no paper 'none'; 'search' gives the ids"),
        ("search", {"question": "x" * 4001}, "4000"),
    ],
)
def test_a_fault_is_told_to_the_assistant(engine: Any, tool: str, arguments: dict[str, Any], words: str) -> None:
    result = with_client(tools_over(engine), lambda client: client.call_tool(tool, arguments))
    assert result.is_error
    assert words in result.content[0].text


def test_a_call_that_is_given_up_frees_the_engine(engine: Any, helpers: Any) -> None:
    async def work(client: Client) -> None:
        call = asyncio.create_task(client.call_tool("ask", {"question": "hold"}))
        await asyncio.to_thread(helpers.until, lambda: len(engine.asked) == 1)
        call.cancel()
        await asyncio.to_thread(helpers.until, lambda: engine.left == ["hold"])

    with_client(tools_over(engine), work)
    assert (len(engine.asked), engine.left) == (1, ["hold"])


def test_the_same_tools_are_served_over_http(address: str, helpers: Any) -> None:
    answer = with_client(f"{address}/mcp", lambda client: client.call_tool("ask", {"question": "Q?"}))
    assert answer.structured_content == answer_json(helpers.answer_to("Q?"))


def test_search_works_on_the_real_seeds_without_a_language_model(seeds_library: Any) -> None:
    def not_ready() -> Any:
        raise NotReadyError("no language model yet; try again")

    service = Service(library=lambda: seeds_library, engine=not_ready, status=lambda: "")

    async def work(client: Client) -> tuple[Any, Any, Any]:
        found = await client.call_tool("search", {"question": QUESTION, "k": 3})
        within = await client.call_tool("search", {"question": QUESTION, "where": {"year": "1900"}})
        return found, within, await client.call_tool("ask", {"question": QUESTION})

    found, within, refused = with_client(build_tools(service), work)
    assert within.is_error
    assert "no paper of the library fits the filter (year 1900)" in within.content[0].text
    assert len(found.structured_content["hits"]) == 3
    assert "GeoSPRINT" in found.structured_content["hits"][0]["label"]
    assert refused.is_error
    assert refused.content[0].text.endswith(": no language model yet; try again")


def test_an_assistant_starts_the_command_and_speaks_to_it_over_its_input_and_output(seeds_config: Config) -> None:
    environment = {name: value for name, value in os.environ.items() if name.startswith(("CITEWELL_", "PYTHON"))}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-c", "import sys; from rag.cli import main; sys.exit(main(['mcp']))"],
        env=environment | {"CITEWELL_DATA": str(seeds_config.data), "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    async def work(client: Client) -> tuple[Any, Any]:
        found = await client.call_tool("search", {"question": QUESTION, "k": 1})
        best = found.structured_content["hits"][0]
        return best, (await client.call_tool("get_paper", {"paper_id": best["paper_id"]})).structured_content

    best, paper = with_client(server, work)
    assert (paper["paper_id"], paper["abstract"], paper["sources"]) == (best["paper_id"], best["text"], best["sources"])
    assert "GeoSPRINT" in paper["label"]
