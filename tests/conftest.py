from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from rag.config import Config
    from rag.embed import Embedder
    from rag.library import Library

settings.register_profile("citewell", deadline=None)  # the machine may be busy
settings.load_profile("citewell")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def seeds() -> Path:
    return ROOT / "seeds"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the test data that is too large for the repository."""
    folder = Path(os.environ.get("CITEWELL_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"no test data in {folder}; set CITEWELL_SHARED to the folder that holds data/")
    return folder


@pytest.fixture(scope="session", autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The settings of whoever runs the tests do not matter, and their libraries are not touched."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("CITEWELL_") and name not in ("CITEWELL_CACHE", "CITEWELL_OFFLINE", "CITEWELL_SHARED"):
                patch.delenv(name)
        patch.setenv("CITEWELL_DATA", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def embedder(own_settings: None) -> Embedder:
    """The real all-MiniLM-L6-v2, fetched when it is not in the cache."""
    from rag.build import load_embedder
    from rag.config import load_config

    return load_embedder(load_config())


@pytest.fixture(scope="session")
def seeds_config(embedder: Embedder, seeds: Path, tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Settings whose default library is the real index of ``seeds/``. Not to be changed."""
    from rag.build import sync_library
    from rag.config import load_config

    config = load_config({"data": tmp_path_factory.mktemp("seeds")})
    sync_library(config, [seeds])
    return config


@pytest.fixture(scope="session")
def seeds_library(seeds_config: Config, embedder: Embedder) -> Iterator[Library]:
    from rag.build import open_library

    library = open_library(seeds_config, embedder)
    yield library
    library.close()
