"""The small fitted models that ship with the library, one JSON file each; ``citewell eval fit`` writes some of them."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files


@cache
def fitted(name: str) -> dict[str, list[float]]:
    """The parts of ``rag/<name>.json`` by their names: weights in the order of the features, bias, thresholds."""
    loaded: dict[str, list[float]] = json.loads(files("rag").joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return loaded
