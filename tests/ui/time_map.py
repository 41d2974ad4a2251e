"""How long the map takes: ``python -m tests.ui.time_map http://127.0.0.1:7860/``, with ``citewell chat`` running there.

The first time is that of making the map only where the data folder holds no ``map-*.npz`` of the library.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from playwright.sync_api import sync_playwright

from tests.ui.conftest import ARGUMENTS, chromium

_DRAWN = """() => {
    const canvas = document.querySelector("#cw-canvas");
    if (!canvas || !canvas.width || !document.querySelector("#cw-map-making").hidden) return false;
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    return pixels.some((value, at) => at % 4 === 3 && value > 0);
}"""


def main(url: str) -> None:
    """Prints seconds: for the first look, for the next one in the same tab, and for one in another tab."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=ARGUMENTS)

        def opened() -> Any:
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            context.set_default_timeout(600_000)
            page = context.new_page()
            page.goto(url)
            page.wait_for_function("window.citewellServers && window.citewellServers.map")
            return page

        def look(page: Any) -> float:
            started = time.monotonic()
            page.click("[data-view-link=map]")
            page.wait_for_function(_DRAWN)
            return time.monotonic() - started

        page = opened()
        print(f"first look: {look(page):.1f} s")
        page.click("[data-view-link=chat]")
        print(f"second look, same tab: {look(page):.2f} s")
        print(f"second look, another tab: {look(opened()):.2f} s")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
