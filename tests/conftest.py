from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

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
