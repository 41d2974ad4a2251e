"""LlamaIndex's CitationQueryEngine as it comes, over the same abstracts with the same models."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import cast

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.response.schema import StreamingResponse
from llama_index.core.llms.llm import LLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import CitationQueryEngine

from eval.peer_answers import Cited, as_answer
from eval.questions import Question
from eval.results import Json
from rag.build import load_embedder
from rag.config import Config
from rag.records import Paper

_SOURCE = re.compile(
    r"[\[(]\s*sources?\s*(\d+(?:\s*(?:,|and|&)\s*(?:source\s*)?\d+)*)(?:\s*,[^\])]*)?[\])]", re.IGNORECASE
)
"""What small models write for a marker ``[1]``: [Source 1], (Source 1), [Sources 1 and 2], [Source 1, Section 3]."""
_HEAD = re.compile(r"^Source \d+:\n")


class CitationEngine:
    """One Document an abstract, every setting the engine's default; it streams, so that its first word can be timed."""

    def __init__(self, config: Config, llm: LLM, papers: Sequence[Paper]) -> None:
        self.print = f"citation-engine llama-index-core {version('llama-index-core')} {config.embedder}"
        self._papers = {p.paper_id: p for p in papers}
        self._name = llm.metadata.model_name
        self._config = config
        self._llm = llm
        self._engine: CitationQueryEngine | None = None

    def ask(self, question: Question) -> Json:
        engine = self._opened()
        replayed = getattr(self._llm, "replayed", 0)
        started = time.monotonic()
        response = cast(StreamingResponse, engine.query(question.question))
        text, first = "", None
        for delta in response.response_gen:
            if delta and first is None:
                first = time.monotonic()
            text += delta
        total = time.monotonic()
        timings = {
            "first_token": round(1000 * ((first or total) - started), 1),
            "total": round(1000 * (total - started), 1),
        }
        if getattr(self._llm, "replayed", 0) > replayed:
            timings = {}  # what a record took says nothing of the model
        sources = [(str(n.node.ref_doc_id), n.node.get_content()) for n in response.source_nodes]
        cited = {n: Cited(i, _HEAD.sub("", content).strip()) for n, (i, content) in enumerate(sources, 1)}
        return as_answer(
            question.question,
            markers(text),
            cited,
            self._papers,
            [i for i, _ in sources],
            timings_ms=timings,
            llm=self._name,
        )

    def _opened(self) -> CitationQueryEngine:
        if self._engine is None:
            documents = [Document(text=p.abstract, id_=p.paper_id) for p in self._papers.values()]
            # what the global settings would choose where nobody has set them
            index = VectorStoreIndex.from_documents(
                documents, embed_model=load_embedder(self._config), transformations=[SentenceSplitter()]
            )
            self._engine = CitationQueryEngine.from_args(index, llm=self._llm, streaming=True)
        return self._engine


def markers(text: str) -> str:
    """``text`` with every marker of the engine's in the form ``[1]``."""
    return _SOURCE.sub(lambda m: "".join(f"[{n}]" for n in re.findall(r"\d+", m[1])), text)
