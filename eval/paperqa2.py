"""PaperQA2 in an environment of its own, with the same language model through an OpenAI-compatible server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from llama_index.core.llms.llm import LLM

from eval.peer_answers import Cited, OutOfPatience, as_answer
from eval.questions import Question
from eval.results import Json
from rag.build import load_embedder
from rag.config import Config
from rag.embed import Embedder
from rag.errors import CitewellError
from rag.records import Paper

VERSION = "2026.8.12"
STARTING = 60.0
"""Seconds that its own imports may take beside."""
_KEYS = re.compile(r"\((?:pqac-[0-9a-f]+(?:\s*[,;]\s*)?)+\)|\[?pqac-[0-9a-f]+\]?")
_KEY = re.compile(r"pqac-[0-9a-f]+")


class PaperQA:
    """One text an abstract by its own API, no PDF, no network; its defaults else."""

    def __init__(
        self,
        config: Config,
        llm: LLM,
        papers: Sequence[Paper],
        *,
        python: Path | None = None,
        patience: float = 600.0,
    ) -> None:
        """``patience`` is how many seconds a question may take: it asks the language model eleven times.
        ``python`` is the interpreter of its environment; None makes one in ``<data>/peers`` where it is missing."""
        self.print = f"paper-qa {VERSION} {config.embedder}"
        self._config = config
        self._llm = llm
        self._papers = {p.paper_id: p for p in papers}
        self._python = python
        self._patience = patience

    def ask(self, question: Question) -> Json:
        job = self._job(question.question)
        python = self._python or environment(self._config.data / "peers" / "paperqa")
        found = run(python, job)
        text, cited = numbered(found["answer"], found["contexts"], self._papers)
        return as_answer(
            question.question,
            text,
            cited,
            self._papers,
            [c["paper"] for c in found["contexts"]],
            timings_ms={"total": round(1000 * found["seconds"], 1)},
            llm=str(job["model"]),
        )

    @cached_property
    def _embedder(self) -> Embedder:
        return load_embedder(self._config)

    @cached_property
    def _vectors(self) -> dict[str, list[float]]:
        ids = list(self._papers)
        vectors = self._embedder.encode([self._papers[i].abstract for i in ids])
        return {i: [float(x) for x in row] for i, row in zip(ids, vectors, strict=True)}

    @cached_property
    def _server(self) -> tuple[str, str]:
        """Base address and model: those of the settings, else the embedded engine's own server."""
        if self._config.llm_url:
            return self._config.llm_url, self._config.llm_model
        engine: Any = getattr(self._llm, "inner", self._llm)
        address = getattr(engine, "address", "")
        if not address:
            raise CitewellError("PaperQA2 needs the embedded engine or a server; set 'llm_url' and 'llm_model'")
        return f"{address.rstrip('/')}/v1", self._llm.metadata.model_name

    def _job(self, question: str) -> Json:
        base, model = self._server
        asked = [float(x) for x in self._embedder.encode([question])[0]]
        return {
            "papers": [
                {"id": p.paper_id, "label": p.label, "text": p.abstract, "vector": self._vectors[p.paper_id]}
                for p in self._papers.values()
            ],
            "question": {"text": question, "vector": asked},
            "base": base,
            "model": model,
            "timeout": self._patience,
        }


def environment(folder: Path) -> Path:
    """The interpreter of an environment with PaperQA2, made in ``folder`` with pip where it is missing.

    Raises CitewellError where it cannot be made; what was begun is made anew the next time.
    """
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    done = folder / f"paper-qa-{VERSION}"
    if done.exists():
        return python
    print(f"installing paper-qa {VERSION} into {folder} (once, about 360 MB)", file=sys.stderr, flush=True)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True, capture_output=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", f"paper-qa=={VERSION}"],
            check=True,
            capture_output=True,
        )
        done.touch()
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        last = next((line for line in reversed(said.decode("utf-8", "replace").splitlines()) if line.strip()), "")
        raise CitewellError(
            f"paper-qa {VERSION} cannot be installed into {folder} ({last.strip()[:200]}); "
            "leave it out with --peers citewell,citation-engine"
        ) from error
    return python


def run(python: Path, job: Json) -> Json:
    """What the runner says to a job. Raises OutOfPatience where it takes longer than ``timeout``, CitewellError where it
    fails."""
    patience = float(job["timeout"])
    script = Path(str(files("eval").joinpath("paperqa_runner.py")))
    try:
        done = subprocess.run(
            # -I: else the script's folder comes first, and its collections.py stands for the standard library's
            [str(python), "-I", str(script)],
            input=json.dumps(job).encode(),
            capture_output=True,
            timeout=patience + STARTING,
            check=True,
        )
        found: Json = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise OutOfPatience(f"PaperQA2 came to no answer within {patience:g} s") from error
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise CitewellError(
            f"PaperQA2 came to no answer ({error}); run it again, or leave it out of --peers"
        ) from error
    if "error" in found:
        raise CitewellError(f"PaperQA2 failed ({found['error'][:300]}); run it again, or leave it out of --peers")
    return found


def numbered(answer: str, contexts: Sequence[Json], papers: dict[str, Paper]) -> tuple[str, dict[int, Cited]]:
    """The answer with its keys ``(pqac-…)`` as markers ``[n]``, and what they point to: the abstract of the paper."""
    known = {c["id"]: c["paper"] for c in contexts if c["paper"] in papers}
    numbers: dict[str, int] = {}

    def marks(match: re.Match[str]) -> str:
        keys = _KEY.findall(match.group())
        return "".join(f"[{numbers.setdefault(k, len(numbers) + 1)}]" for k in keys)

    text = _KEYS.sub(marks, answer)
    return text, {n: Cited(known[k], papers[known[k]].abstract) for k, n in numbers.items() if k in known}
