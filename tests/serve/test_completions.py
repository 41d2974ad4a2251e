"""The real client of OpenAI against a real server."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from rag.contract import answer_json
from rag.records import Turn

ANSWER = "ORCA calibrates. [1]\n\n[1] ORCA (p-orca): “ORCA, which calibrates”"


@pytest.fixture
def client(address: str) -> Any:
    with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0, timeout=60) as client:
        yield client


def ask(client: Any, *messages: str, **options: Any) -> Any:
    roles = ["user", "assistant"] * len(messages)
    chat = [{"role": role, "content": text} for role, text in zip(roles, messages, strict=False)]
    return client.chat.completions.create(model="citewell", messages=chat, **options)


def test_the_answer_carries_markers_footnotes_and_the_structured_citations(client: Any, helpers: Any) -> None:
    reply = ask(client, "Does ORCA calibrate?", temperature=0.5, max_tokens=5)
    assert (reply.model, reply.object, len(reply.choices)) == ("citewell", "chat.completion", 1)
    assert (reply.choices[0].message.role, reply.choices[0].message.content) == ("assistant", ANSWER)
    assert reply.choices[0].finish_reason == "stop"
    assert reply.model_extra["citewell"] == answer_json(helpers.answer_to("Does ORCA calibrate?"))


def test_earlier_messages_are_turns_with_the_papers_of_their_footnotes(client: Any, engine: Any) -> None:
    ask(client, "Does ORCA calibrate?", ANSWER, "Does it need labels?")
    assert engine.asked == [
        ("Does it need labels?", (Turn("Does ORCA calibrate?", "ORCA calibrates. [1]", ("p-orca",)),))
    ]


def test_a_system_message_has_no_effect_and_parts_of_text_are_read(client: Any, engine: Any) -> None:
    parts = [{"type": "text", "text": "Does ORCA"}, {"type": "text", "text": "calibrate?"}]
    messages = [{"role": "system", "content": "Answer in rhymes."}, {"role": "user", "content": parts}]
    client.chat.completions.create(model="citewell", messages=messages)
    assert engine.asked == [("Does ORCA\ncalibrate?", ())]


def test_a_stream_says_checked_words_only_and_ends_with_the_citations(client: Any, helpers: Any) -> None:
    chunks = list(ask(client, "Does ORCA calibrate?", stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == ANSWER
    assert chunks[0].choices[0].delta.role == "assistant"
    assert len({chunk.id for chunk in chunks}) == 1
    assert [chunk.choices[0].finish_reason for chunk in chunks[-2:]] == [None, "stop"]
    assert chunks[-1].model_extra["citewell"] == answer_json(helpers.answer_to("Does ORCA calibrate?"))


def test_an_abstention_names_the_nearest_papers(client: Any) -> None:
    said = ask(client, "What is the weather?").choices[0].message.content
    assert said == "The library holds no answer to this question.\n\nNearest papers: Foo <b>"


def test_the_models_are_one(client: Any) -> None:
    assert [model.id for model in client.models.list()] == ["citewell"]
    assert client.models.retrieve("citewell").owned_by == "citewell"
    with pytest.raises(openai.NotFoundError, match="there is no model 'gpt-9' here; ask for 'citewell'"):
        client.models.retrieve("gpt-9")


@pytest.mark.parametrize(
    ("messages", "options", "error", "words"),
    [
        (["broken"], {}, openai.InternalServerError, "the language model x failed; check it"),
        (["broken"], {"stream": True}, openai.APIError, "the language model x failed; check it"),
        (["Q?", "A."], {}, openai.UnprocessableEntityError, "the last message is not the user's"),
        ([], {}, openai.UnprocessableEntityError, "messages: List should have at least 1 item"),
    ],
)
def test_faults_reach_the_client_as_its_own_errors(
    client: Any, messages: list[str], options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        list(ask(client, *messages, **options))


def test_a_stream_that_is_closed_frees_the_engine(client: Any, engine: Any, helpers: Any) -> None:
    stream = ask(client, "hold", stream=True)
    assert next(iter(stream)).choices[0].delta.content == ""
    helpers.until(lambda: len(engine.asked) == 1)
    stream.close()
    helpers.until(lambda: engine.left == ["hold"])
