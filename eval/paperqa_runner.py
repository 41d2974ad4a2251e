"""Asks PaperQA2: run by the interpreter of its own environment, so this file imports nothing of ours.

Standard input is one JSON object: ``papers`` [{id, label, text, vector}], ``question`` {text, vector}, ``base`` and
``model`` of an OpenAI-compatible server, ``timeout`` in seconds. Standard output is one: ``answer`` with the keys of
its contexts, ``contexts`` [{id, paper}], ``seconds``; or ``error``.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network for prices


def settings_of(job: dict[str, Any]) -> Any:
    """PaperQA2's defaults, but for the language model and for what would look papers up on the network."""
    from paperqa import Settings

    name = "openai/" + job["model"]
    given = {"model": name, "api_base": job["base"], "api_key": "none", "temperature": 0.0, "timeout": job["timeout"]}
    router = {"model_list": [{"model_name": name, "litellm_params": given}]}
    settings = Settings(llm=name, llm_config=router, summary_llm=name, summary_llm_config=router)
    settings.parsing.use_doc_details = False
    settings.answer.max_concurrent_requests = 1  # one engine, one question at a time
    return settings


def embedding_of(job: dict[str, Any]) -> Any:
    """The vectors that Citewell's embedder made, by text."""
    from paperqa import EmbeddingModel

    vectors = {p["text"]: p["vector"] for p in job["papers"]}
    vectors[job["question"]["text"]] = job["question"]["vector"]

    class Given(EmbeddingModel):  # type: ignore[misc]
        name: str = "given"

        async def embed_documents(self, texts: Sequence[str]) -> list[Any]:
            return [vectors[text] for text in texts]

    return Given()


async def ask(job: dict[str, Any]) -> dict[str, Any]:
    from paperqa import Doc, Docs, Text

    settings, embedding = settings_of(job), embedding_of(job)
    docs = Docs()
    for paper in job["papers"]:
        doc = Doc(docname=paper["id"], dockey=paper["id"], citation=paper["label"])
        text = Text(text=paper["text"], name=paper["id"], doc=doc, embedding=paper["vector"])
        await docs.aadd_texts([text], doc, settings=settings, embedding_model=embedding)
    started = time.monotonic()
    session = await docs.aquery(job["question"]["text"], settings=settings, embedding_model=embedding)
    return {
        "answer": session.raw_answer,
        "contexts": [{"id": c.id, "paper": c.text.doc.dockey} for c in session.contexts],
        "seconds": time.monotonic() - started,
    }


def main() -> None:
    job = json.loads(sys.stdin.read())
    said, sys.stdout = sys.stdout, sys.stderr  # whatever its libraries print is no answer
    try:
        found = asyncio.run(ask(job))
    except Exception as error:
        found = {"error": f"{type(error).__name__}: {error}"}
    said.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
