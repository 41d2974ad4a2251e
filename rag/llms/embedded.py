"""llama.cpp inside the process, as a LlamaIndex ``LLM``: a GGUF file on the CPU, streamed, cancellable.

Prompts that begin alike share their cached prefix. Closing a stream stops the engine at the next token.
"""

from __future__ import annotations

import atexit
import queue
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import xllamacpp
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseGen,
    LLMMetadata,
    LogProb,
    MessageRole,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.llms.custom import CustomLLM

from rag.errors import ModelError

_CACHES = 2
"""Caches the engine has at least: the beginnings of two prompts (say, translation and answer) stay in them side by
side even where one question is answered at a time."""
_SIGN_OF_LIFE = 0.25
"""Seconds after which a stream that has nothing to say yields an empty piece."""
_RIVALS = 20
"""Tokens that are told with their log probabilities where a reply of one token is asked for."""


@dataclass
class _Told:
    """What the engine tells of a reply beside its text."""

    usage: dict[str, int] = field(default_factory=dict)
    odds: list[list[LogProb]] = field(default_factory=list)
    """For each token what else could have stood there, the likeliest first."""


class EmbeddedLLM(CustomLLM):
    """A language model in this process. Greedy by default, so that equal prompts get equal answers.

    A reply of one token (``max_tokens=1``) comes with ``logprobs``: the log probabilities of the likeliest tokens.
    """

    path: str
    context: int
    """Tokens of prompt and answer together; a longer prompt is refused, never cut."""
    max_tokens: int
    address: str
    """Where the engine's own OpenAI-compatible server listens, on the loopback interface."""
    _server: Any = PrivateAttr()
    _workers: weakref.WeakSet[threading.Thread] = PrivateAttr()
    _stopping: threading.Event = PrivateAttr()

    @classmethod
    def load(cls, path: Path, *, threads: int, context: int, slots: int = 1, max_tokens: int = 400) -> EmbeddedLLM:
        """Starts an engine with the model in ``path`` that takes ``slots`` prompts at a time, in one batch.

        Raises ModelError where it cannot be loaded.
        """
        caches = max(slots, _CACHES)
        if not path.is_file():
            raise ModelError(f"{path}: no such model file; run 'citewell models pull' or set 'llm' to a .gguf file")
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = context * caches
        params.n_parallel = caches
        params.n_gpu_layers = 0
        params.warmup = False
        params.cache_ram_mib = 512
        params.verbosity = -1
        for cpu in (params.cpuparams, params.cpuparams_batch):
            cpu.n_threads = threads
            cpu.poll = 0  # waiting threads that spin starve whatever else runs, and each other
        try:
            server = xllamacpp.Server(params)
        except Exception as error:  # the engine raises RuntimeError or its own kinds
            raise ModelError(
                f"{path} cannot be loaded as a language model ({error}); run 'citewell models verify' or set 'llm' to another"
            ) from error
        llm = cls(path=str(path), context=context, max_tokens=max_tokens, address=str(server.listening_address))
        llm._server = server
        # a thread inside the engine when the interpreter ends would abort the process
        atexit.register(llm.close)
        return llm

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._workers = weakref.WeakSet()
        self._stopping = threading.Event()

    def close(self) -> None:
        """Stops whatever is being generated and waits until the engine is at rest."""
        self._stopping.set()
        for worker in list(self._workers):
            worker.join(timeout=30)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(
            context_window=self.context, num_output=self.max_tokens, is_chat_model=True, model_name=Path(self.path).stem
        )

    @classmethod
    def class_name(cls) -> str:
        return "citewell_embedded_llm"

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        told = _Told()
        text = "".join(self._deltas(messages, kwargs, told))
        return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=text), logprobs=told.odds or None)

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        def generate() -> ChatResponseGen:
            text = ""
            told = _Told()
            for delta in self._deltas(messages, kwargs, told):
                text += delta
                yield ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=text), delta=delta)
            # a last piece that says nothing but what was told of it, under the names LlamaIndex's OpenAI class uses
            yield ChatResponse(
                message=ChatMessage(role=MessageRole.ASSISTANT, content=text),
                delta="",
                additional_kwargs=told.usage,
                logprobs=told.odds or None,
            )

        return generate()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.chat([ChatMessage(content=prompt)], **kwargs).message.content or "")

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        def generate() -> CompletionResponseGen:
            for part in self.stream_chat([ChatMessage(content=prompt)], **kwargs):
                yield CompletionResponse(text=part.message.content or "", delta=part.delta)

        return generate()

    def _deltas(self, messages: Sequence[ChatMessage], options: dict[str, Any], told: _Told) -> Iterator[str]:
        """Pieces of the answer as the engine makes them, and in ``told`` what it tells of them.

        Raises ModelError where it refuses the prompt.
        """
        request = {
            "messages": [{"role": m.role.value, "content": m.content or ""} for m in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            "cache_prompt": True,
            "temperature": 0.0,
            "max_tokens": self.max_tokens,
            **({"logprobs": True, "top_logprobs": _RIVALS} if options.get("max_tokens") == 1 else {}),
            **options,
        }
        pieces: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        stopped = threading.Event()

        def receive(piece: dict[str, Any]) -> bool:
            pieces.put(piece)
            return stopped.is_set() or self._stopping.is_set()

        def run() -> None:
            try:
                self._server.handle_chat_completions(request, receive)
            except Exception as error:  # reaches the reader as any refusal of the engine does
                pieces.put({"error": {"message": str(error)}})
            finally:
                pieces.put(None)

        worker = threading.Thread(target=run, name="citewell-llm", daemon=True)
        worker.start()
        self._workers.add(worker)
        try:
            while True:
                try:
                    piece = pieces.get(timeout=_SIGN_OF_LIFE)
                except queue.Empty:
                    yield ""  # whoever reads may want to stop before the first word
                    continue
                if piece is None:
                    return
                if "error" in piece:
                    raise ModelError(f"the language model {Path(self.path).name} refused: {piece['error']['message']}")
                if used := piece.get("usage"):
                    told.usage.update({name: int(used[name]) for name in ("prompt_tokens", "completion_tokens")})
                choices = piece.get("choices") or [{}]
                for token in (choices[0].get("logprobs") or {}).get("content") or ():
                    rivals = token.get("top_logprobs") or ()
                    told.odds.append([LogProb(token=r["token"], logprob=r["logprob"]) for r in rivals])
                if delta := choices[0].get("delta", {}).get("content"):
                    yield delta
        finally:
            stopped.set()
