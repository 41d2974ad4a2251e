"""A scripted engine for the page, the records it hands out, and the browser that looks at it."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from rag.errors import QuestionError
from rag.filters import Filter
from rag.line import Line
from rag.records import (
    Answer,
    AnswerSentence,
    Citation,
    Event,
    Finished,
    Found,
    Hit,
    Paper,
    Resolved,
    Source,
    Token,
    Turn,
)

FIEDLER = Paper(
    paper_id="p1",
    label="FiedlerPrune",
    abstract=(
        "Large language models (LLMs) have achieved remarkable success across diverse tasks, yet their ever-growing model "
        "sizes impose significant computational and memory costs that hinder practical deployment. Pruning addresses this "
        "by introducing sparsity into weight matrices, but existing layer-wise pruning methods operate independently on "
        "each linear layer, ignoring cross-layer dependencies and yielding globally suboptimal masks. End-to-end pruning "
        "methods address this limitation but incur prohibitive computational overhead. In this work, we propose "
        "FiedlerPrune, a pruning framework that achieves a better balance between the two paradigms by incorporating "
        "cross-layer dependencies. It costs $O(N\\log(N))$ time instead of $\\Omega(N^2)$ and less than $3000, "
        "at \\emph{no} loss. Extensive experiments demonstrate that FiedlerPrune consistently improves over layer-wise "
        "baselines. We further demonstrate FiedlerPrune's practical utility through inference speedup, compatibility with "
        "quantization, and post-pruning fine-tuning."
    ),
    sources=(Source("002_334f2774112c2d30.txt", 1), Source("000_78485c96e14bfbbe.txt", 12)),
)
GHOSTED = Paper(
    paper_id="p2",
    label="Ghosted Layers",
    abstract=(
        "Layer pruning removes entire Transformer decoder blocks from large language models, but introduces a mismatch "
        "between the hidden state received by the next surviving layer and the distribution it was trained to process. We "
        "propose Ghosted Layers, a training-free recovery module that addresses this issue by solving a boundary activation "
        "alignment problem. Our method derives a closed-form optimal linear operator from a small calibration set."
    ),
    title="Ghosted Layers: Training-Free Recovery",
    authors=("A. Author", "B. Writer", "C. Third", "D. Fourth"),
    venue="NeurIPS",
    year=2026,
    sources=(Source("000_78485c96e14bfbbe.txt", 1),),
)
WICKED = Paper(
    paper_id="p3",
    label="<b>Wicked</b>",
    abstract=(
        "<script>window.hacked=1</script><img src=x onerror='window.hacked=2'> [click](javascript:window.hacked=3) "
        "![pic](http://evil.example/x.png) $\\text{<img src=x onerror=window.hacked=4>}$ \\url{javascript:alert(1)} ok."
    ),
    sources=(Source("evil <i>.txt", 3),),
)
PAPERS = (FIEDLER, GHOSTED, WICKED)


def cite(marker: int, paper: Paper, quote: str) -> Citation:
    start = paper.abstract.index(quote)
    return Citation(marker, paper.paper_id, paper.label, quote, start, start + len(quote), paper.sources)


@dataclass
class FakeLibrary:
    name: str = "test"

    def papers(self, paper_ids: Sequence[str] | None = None) -> list[Paper]:
        known = {paper.paper_id: paper for paper in PAPERS}
        return list(PAPERS) if paper_ids is None else [known[i] for i in paper_ids if i in known]

    def __len__(self) -> int:
        return len(PAPERS)


@dataclass
class FakeEngine:
    """Answers by script: what the question holds decides. Keeps what it was asked and how its streams ended."""

    delay: float = 0.02
    library: FakeLibrary = field(default_factory=FakeLibrary)
    line: Line = field(default_factory=Line)
    asked: list[tuple[str, tuple[Turn, ...]]] = field(default_factory=list)
    ways: list[tuple[Filter | None, str]] = field(default_factory=list)
    """Of each question, the filter and the language it was asked with."""
    closed: list[str] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    gates: dict[str, threading.Event] = field(default_factory=dict)

    def hold(self, *stages: str) -> None:
        """Lets no stream go on to a stage ("found", "words", "finished") before ``release`` is called for it."""
        self.gates = {stage: threading.Event() for stage in stages}

    def release(self, stage: str) -> None:
        self.gates[stage].set()

    def _pass(self, stage: str) -> None:
        if stage in self.gates:
            assert self.gates[stage].wait(120), f"nobody released {stage!r}"

    def stream(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        where: Filter | None = None,
        language: str = "",
    ) -> Iterator[Event]:
        self.ways.append((where, language))
        with closing(self.line.place()) as place:
            yield from place.wait(len(question))
            yield from self._served(question, history)

    def _served(self, question: str, history: Sequence[Turn]) -> Iterator[Event]:
        with self.lock:
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        finished = False
        try:
            self.asked.append((question, tuple(history)))
            if len(question) > 4000:
                raise QuestionError(f"the question has {len(question)} characters; the most is 4000, so shorten it")
            if "crash" in question:
                raise ValueError("boom <b>")
            resolved = "Does FiedlerPrune work with quantization?" if history and "it" in question.split() else question
            yield Resolved(resolved)
            self._pass("found")
            hits = (Hit(1, FIEDLER, 0.9), Hit(2, GHOSTED, 0.6), Hit(3, WICKED, 0.1))
            yield Found(hits)
            self._pass("words")
            answer = script(question, resolved, hits)
            raw = "".join(sentence.text + " [4] " for sentence in answer.sentences) or "I cannot say. [9]"
            for piece in raw.split(" "):
                yield Token(piece + " ")
                time.sleep(self.delay)
            while "endless" in question:
                yield Token("")
                time.sleep(self.delay)
            self._pass("finished")
            yield Finished(answer)
            finished = True
        finally:
            with self.lock:
                self.running -= 1
            if not finished:
                self.closed.append(question)


def script(question: str, resolved: str, hits: tuple[Hit, ...]) -> Answer:
    """The answer the fake engine comes to."""
    if "weather" in question:
        return Answer(question, resolved, "abstained", "", (), (), hits[:2], 0.04, reason="not-in-library")
    if "wicked" in question:
        evil = "<script>window.hacked=5</script> <img src=x onerror=window.hacked=6> **[x](javascript:alert(1))**"
        wicked = cite(1, WICKED, "<script>window.hacked=1</script>")
        return Answer(
            question,
            resolved,
            "answered",
            f"{evil} [1]",
            (AnswerSentence(evil, "supported", (1,)),),
            (wicked,),
            (),
            0.5,
        )
    citations = (
        cite(
            1,
            FIEDLER,
            "a pruning framework that achieves a better balance between the two paradigms by incorporating cross-layer dependencies",
        ),
        cite(2, FIEDLER, "compatibility with quantization, and post-pruning fine-tuning"),
        cite(3, GHOSTED, "a training-free recovery module"),
        cite(4, FIEDLER, "It costs $O(N\\log(N))$ time instead of $\\Omega"),
    )
    sentences = (
        AnswerSentence(
            "FiedlerPrune is a pruning framework that takes the dependencies between layers into account.",
            "supported",
            (1,),
        ),
        AnswerSentence(
            "It works with quantization and fine-tuning after pruning, at $O(N\\log(N))$ cost.", "supported", (2, 4)
        ),
        AnswerSentence(
            "Ghosted Layers needs no training on 8 GPUs.", "partial", (3,), "the sources do not mention 8 GPUs"
        ),
        AnswerSentence("It was first shown in 1998.", "unsupported", (), "no source says when"),
        AnswerSentence(
            "We propose Ghosted Layers, a training-free recovery module that addresses this issue by solving a boundary "
            "activation alignment problem.",
            "supported",
            (3,),
            quoted=True,
        ),
    )
    marked = " ".join(s.text + "".join(f" [{n}]" for n in s.citations) for s in sentences)
    return Answer(question, resolved, "answered", marked, sentences, citations, hits, 0.82)


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


PATIENCE = 60_000
"""Milliseconds that anything on the page may take before a test gives up: the machine may be slow and busy."""
ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if chromium() is None:
        pytest.skip("no chromium here; 'apt-get install chromium' brings it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address in a profile of its own; fails if the page asked anyone but this machine, or broke."""
    contexts = []
    outside: list[str] = []
    broken: list[str] = []

    def open_page(
        url: str,
        *,
        width: int = 1440,
        height: int = 900,
        scheme: str = "light",
        ready: str = ".cw-chip",
        touch: bool = False,
        still: bool = False,
    ) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            has_touch=touch,
            is_mobile=touch,
            reduced_motion="reduce" if still else "no-preference",
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        context.on("request", lambda request: outside.append(request.url) if is_outside(request.url) else None)
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.goto(url)
        page.wait_for_selector(ready)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert outside == []
    assert broken == []


def is_outside(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "about:"))
