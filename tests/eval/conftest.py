"""A tiny real library (Chroma, the real embedding model) and a language model that says what it is told to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.llms.custom import CustomLLM

from rag import build, models
from rag.config import Config, load_config
from rag.embed import Embedder

ABSTRACTS = (
    "Tree pruning saves memory in forests of decision trees. We propose LeafCut, which removes leaves that no sample "
    "reaches. On the Covertype data set LeafCut removes 41% of the leaves and loses 0.2 points of accuracy.",
    "Whale songs change from year to year. We record 310 humpback whales off Tonga and find that a new song spreads "
    "from west to east within two seasons. The recordings are released with the paper.",
    "Concrete cures slowly in cold weather. ThermoMix adds a salt that keeps the reaction warm at minus 10 degrees. "
    "Blocks made with ThermoMix reach full strength after 9 days instead of 28.",
    "Sorting networks of small depth are hard to find. We search with a SAT solver and symmetry breaking, and report "
    "networks of depth 8 for 18 inputs, the best known so far.",
)


class ScriptedLLM(CustomLLM):
    """Says what ``reply`` makes of the prompt; keeps every prompt it was given."""

    reply: Callable[[str], str]
    _prompts: list[str] = PrivateAttr(default_factory=list)

    @property
    def prompts(self) -> list[str]:
        return self._prompts

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted", is_chat_model=False)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self._prompts.append(prompt)
        return CompletionResponse(text=self.reply(prompt))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        self._prompts.append(prompt)
        text = self.reply(prompt)

        def pieces() -> CompletionResponseGen:
            for at in range(0, len(text), 20):
                yield CompletionResponse(text=text[: at + 20], delta=text[at : at + 20])

        return pieces()


def first_evidence(prompt: str) -> str:
    """The first sentence of the evidence, cited; a follow-up and a translation are left as they stand."""
    last = prompt[prompt.rfind("user:") :]
    found = re.search(r"^\[1\] (.*)$", last, re.MULTILINE)
    if found:
        return f"{found[1].rstrip('.')} [1]."
    asked = re.search(r"Last question: (.*)", last)
    return asked[1] if asked else last.partition(":")[2].strip().partition("\n")[0]


@pytest.fixture
def scripted() -> Callable[..., ScriptedLLM]:
    """Makes a language model; by default one that says the first sentence of its evidence."""
    return lambda reply=first_evidence: ScriptedLLM(reply=reply)


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    config = load_config()
    return Embedder.load(models.resolve(config.embedder, cache=config.cache))


@pytest.fixture(scope="session")
def data(embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one library, ``tiny``, of ABSTRACTS."""
    from rag.sync import sync

    folder = tmp_path_factory.mktemp("data")
    papers = tmp_path_factory.mktemp("papers") / "papers.txt"
    papers.write_text("\n\n".join(ABSTRACTS) + "\n", encoding="utf-8")
    sync(folder / "libraries" / "tiny", [papers], lambda: embedder, embedder_print=embedder.fingerprint)
    return folder


@pytest.fixture
def config(data: Path, tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Settings for the library ``tiny``, with a cache of answers of the test's own."""
    monkeypatch.setattr(build, "load_embedder", lambda config: embedder)
    (tmp_path / "libraries").symlink_to(data / "libraries")
    return load_config({"data": tmp_path, "cache": tmp_path / "cache", "library": "tiny"}, environ={}, folder=tmp_path)


@pytest.fixture
def paper_ids(config: Config) -> list[str]:
    """The ids of the papers, in the order of ABSTRACTS."""
    catalogue = build.open_catalogue(config)
    by_text = {p.abstract: p.paper_id for p in catalogue.papers()}
    catalogue.close()
    return [by_text[a] for a in ABSTRACTS]


@pytest.fixture
def write_questions(tmp_path: Path) -> Callable[[Sequence[dict[str, Any]]], Path]:
    """Writes a questions file."""

    def write(items: Sequence[dict[str, Any]]) -> Path:
        path = tmp_path / "questions.jsonl"
        path.write_text("\n".join(json.dumps(item, ensure_ascii=False) for item in items) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def questions_file(paper_ids: list[str], write_questions: Callable[[Sequence[dict[str, Any]]], Path]) -> Path:
    """Six questions about ABSTRACTS, one of each sort that matters."""
    common = {"split": "tune", "lang": "en"}
    return write_questions(
        [
            {
                "id": "s1",
                "kind": "single",
                "question": "How many of the leaves does LeafCut remove on the Covertype data set?",
                "papers": paper_ids[:1],
                "facts": [["41 ?%"]],
                "evidence": ["On the Covertype data set LeafCut removes 41% of the leaves"],
                **common,
            },
            {
                "id": "s2",
                "kind": "single",
                "question": "After how many days do blocks made with ThermoMix reach full strength?",
                "papers": paper_ids[2:3],
                "facts": [["no such fact"]],
                **common,
            },
            {
                "id": "f1",
                "kind": "follow-up",
                "question": "And what are they for, those recordings of whales?",
                "history": ["How many humpback whales were recorded off Tonga?"],
                "papers": paper_ids[1:2],
                "facts": [["whale"]],
                **common,
            },
            {
                "id": "u1",
                "kind": "unanswerable",
                "class": "outside",
                "question": "Who won the chess championship of Iceland?",
                "papers": [],
                "near": [],
                **common,
            },
            {
                "id": "u2",
                "kind": "unanswerable",
                "class": "not-a-question-about-papers",
                "question": "Hello!",
                "papers": [],
                "near": [],
                **common,
            },
            {
                "id": "t1",
                "kind": "two-paper",
                "question": "What do LeafCut and ThermoMix do?",
                "papers": [paper_ids[0], paper_ids[2]],
                "facts": [["leaves"]],
                **common,
                "split": "test",
            },
        ]
    )
