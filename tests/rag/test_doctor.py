from __future__ import annotations

import shutil
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from rag import doctor
from rag.cli import main
from rag.config import Config
from rag.doctor import Finding, examine

pytestmark = pytest.mark.usefixtures("no_network")
SERVED = {"llm_url": "http://127.0.0.1:1/v1", "llm_model": "some-model"}


def by_subject(config: Config) -> dict[str, Finding]:
    return {finding.subject: finding for finding in examine(config)}


def test_where_all_is_there_every_finding_is_in_order(seeds_config: Config) -> None:
    findings = examine(replace(seeds_config, **SERVED))
    assert [(f.subject, f.ok) for f in findings] == [
        ("Python", True),
        ("packages", True),
        ("SQLite", True),
        ("disk", True),
        ("model all-MiniLM-L6-v2", True),
        ("language model", True),
        ("library default", True),
    ]
    assert findings[-3].text == str(seeds_config.cache / "models" / "all-MiniLM-L6-v2")
    assert findings[-2].text == "some-model at http://127.0.0.1:1/v1"
    assert findings[-1].text == f"made by all-MiniLM-L6-v2, in {seeds_config.data / 'libraries' / 'default'}"


def test_what_is_missing_is_named_with_the_command_that_brings_it(tmp_path: Path) -> None:
    found = by_subject(Config(data=tmp_path / "data", cache=tmp_path / "deep" / "cache"))
    assert {subject: found[subject].text for subject in list(found)[-3:]} == {
        "model all-MiniLM-L6-v2": "not fetched; run 'citewell models pull all-MiniLM-L6-v2'",
        "model Qwen2.5-Coder-1.5B-Instruct": "not fetched; run 'citewell models pull Qwen2.5-Coder-1.5B-Instruct'",
        "library default": f"the library 'default' has not been indexed (nothing in "
        f"{tmp_path}/data/libraries/default); run 'citewell index PATH' first",
    }
    assert not any(found[subject].ok for subject in list(found)[-3:])
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_is_not_of_the_registry_is_left_to_its_use(tmp_path: Path) -> None:
    found = by_subject(Config(cache=tmp_path, data=tmp_path, embedder="hf:some/embedder", llm="/some/file.gguf"))
    assert found["model hf:some/embedder"] == Finding(
        "model hf:some/embedder", True, "not of the registry; looked at when it is used"
    )
    assert found["model /some/file.gguf"].ok


def test_a_server_without_a_model_to_ask_for_is_a_fault(tmp_path: Path) -> None:
    config = Config(cache=tmp_path, data=tmp_path, llm_url="http://127.0.0.1:1/v1")
    assert not by_subject(config)["language model"].ok


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name in ("gradio", "torch"):
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    assert by_subject(Config(cache=tmp_path, data=tmp_path))["packages"] == Finding(
        "packages", False, "missing: gradio, torch"
    )


def test_too_little_room_and_old_parts_are_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=2_900_000_000))
    monkeypatch.setattr(doctor.sqlite3, "sqlite_version_info", (3, 34, 9))
    monkeypatch.setattr(doctor.sys, "version_info", (3, 10, 4))
    found = by_subject(Config(cache=tmp_path, data=tmp_path))
    assert [found[subject].ok for subject in ("Python", "SQLite", "disk")] == [False, False, False]
    assert found["Python"].text == "3.10.4 (3.11 or newer is needed)"
    assert found["disk"].text == f"2.9 GB free at {tmp_path} (3 GB are needed for the models)"


def test_the_command_prints_a_line_a_finding_and_fails_when_one_is_bad(
    seeds_config: Config, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, value in (*SERVED.items(), ("data", seeds_config.data)):
        monkeypatch.setenv(f"CITEWELL_{name.upper()}", str(value))
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:4] for line in lines] == ["ok  "] * 7
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path))
    assert main(["doctor"]) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1].startswith("BAD library default: the library 'default' has not been indexed")
    assert captured.err == ""
