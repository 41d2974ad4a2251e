"""The settings: the wiring of their form, which is filled in by settings.js and asks Python what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import gradio as gr

from rag.config import Config
from rag.errors import CitewellError
from rag.library import Library
from ui.settings import BUDGETS, LLM_KEYS, filters_of, settings_html
from ui.wiring import PLAIN, functions


class Chooser(Protocol):
    """What the view needs of ``ui.chat.Preparation``."""

    @property
    def outside(self) -> frozenset[str]:
        """Names of the settings that the environment decides."""

    @property
    def config(self) -> Config:
        """The settings in force."""

    def choose(self, changes: dict[str, str | int | float]) -> str:
        """Puts settings in force, keeps them, and says in one line what comes of it. Raises CitewellError."""

    def try_llm(self, changes: dict[str, str | int | float]) -> str:
        """Asks the language model of other settings for a word and says in one line what came. Raises CitewellError."""


def settings_view(
    chooser: Chooser, library_of: Callable[[str], Library | None], *, shared: bool, signed_in: bool
) -> None:
    """Builds the view where it is called, inside the page. ``shared`` leaves a reader only what concerns them alone;
    ``signed_in``: readers have accounts."""

    def form(_: object) -> str:
        return settings_html(chooser.config, outside=chooser.outside, shared=shared, signed_in=signed_in)

    def filtered(values: dict[str, str]) -> dict[str, Any]:
        """Whether the filter can be used, and how many papers it lets through."""
        try:
            where = filters_of({str(k): str(v) for k, v in values.items()})
            opened = library_of(str(values.get("library") or ""))
            if not where or opened is None:
                return {
                    "fits": True,
                    "said": "Every paper is looked at." if not where else "Used from the next question on.",
                }
            within = opened.within(where, opened.snapshot())
            if within is None or not len(within):
                return {"fits": False, "said": f"No paper fits: {where}."}
            return {
                "fits": True,
                "said": f"{len(within):,} of {len(opened):,} papers fit. Used from the next question on.",
            }
        except CitewellError as error:
            return {"fits": False, "said": str(error)}

    def changed(values: dict[str, Any], act: Callable[[dict[str, str | int | float]], str]) -> str:
        if shared:
            return "Only whoever runs this server may change that."
        try:
            return act(_changes(values))
        except CitewellError as error:
            return str(error)

    def test(values: dict[str, Any]) -> str:
        return changed(values, chooser.try_llm)

    def save(values: dict[str, Any]) -> str:
        return changed(values, chooser.choose)

    functions("settings", form, filtered, test, save)
    with gr.Column(elem_id="cw-settings", elem_classes="cw-view"):
        gr.HTML('<h2 class="cw-vh">Settings</h2><div class="cw-settings"></div>', elem_id="cw-settings-form", **PLAIN)


def _changes(values: dict[str, Any]) -> dict[str, str | int | float]:
    """The settings that the form may change. An empty key means that the one that is kept stays."""
    changes: dict[str, str | int | float] = {
        key: " ".join(str(values[key]).split())
        for key in LLM_KEYS
        if key in values and (key != "llm_key" or values[key])
    }
    if str(values.get("evidence_tokens")) in map(str, BUDGETS):
        changes["evidence_tokens"] = int(values["evidence_tokens"])
    return changes
