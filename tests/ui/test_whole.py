"""Everything at once, nothing scripted: the page, the seeds, the real embedding and language models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.config import Config
from ui.app import build_page, start
from ui.chat import Preparation


@pytest.mark.browser
@pytest.mark.llm
def test_a_question_to_the_seeds_is_answered_by_the_real_model_and_its_marker_opens_the_exact_words(
    opened: Callable[..., Any], seeds: Path, seeds_config: Config
) -> None:
    preparation = Preparation(seeds_config, [seeds])
    page = build_page(preparation.engine, examples=preparation.examples, status=preparation.status)
    url = start(page, port=0)
    preparation.start()
    try:
        tab = opened(url)
        tab.wait_for_function("document.querySelector('#cw-state').innerText.includes('71 papers')", timeout=300_000)
        tab.fill("#cw-box textarea", "By how much does GeoSPRINT improve FID over DDIM on CIFAR-10?")
        tab.press("#cw-box textarea", "Enter")
        tab.wait_for_function("document.querySelector('#cw-panel').innerText.includes('GeoSPRINT')", timeout=60_000)
        assert tab.query_selector("#cw-past .cw-turn") is None  # the sources are there before the answer
        tab.wait_for_selector("#cw-past .cw-turn .cw-ref", timeout=300_000)
        answer = tab.inner_text("#cw-past .cw-turn")
        assert "0.7" in answer
        assert "1.1" in answer
        tab.click("#cw-past .cw-turn .cw-ref")
        tab.wait_for_selector("#cw-panel mark.cw-quote", state="visible")
        assert "GeoSPRINT improves FID" in " ".join(tab.inner_text("#cw-panel").split())
    finally:
        page.close(verbose=False)
