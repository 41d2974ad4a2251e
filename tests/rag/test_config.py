from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from rag.config import Config, load_config
from rag.errors import ConfigError


def loaded(folder: Path, toml: str = "", environ: dict[str, str] | None = None, **overrides: object) -> Config:
    (folder / "citewell.toml").write_text(toml, encoding="utf-8")
    return load_config(overrides, environ=environ or {}, folder=folder)


def test_without_file_and_environment_the_defaults_are_in_force(tmp_path: Path) -> None:
    assert load_config(environ={}, folder=tmp_path) == Config()


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    config = loaded(
        tmp_path,
        'library = "file"\nllm_model = "file"\nthreads = 3\nllm_timeout = 7\n',
        {
            "CITEWELL_LIBRARY": "env",
            "CITEWELL_LLM_MODEL": "env",
            "CITEWELL_PAPERS": "4",
            "CITEWELL_LLM": "",
            "HOME": "x",
        },
        library="given",
        llm_url=None,
    )
    changed = {"library": "given", "llm_model": "env", "threads": 3, "llm_timeout": 7.0, "papers": 4}
    assert asdict(config) == asdict(Config()) | changed


def test_the_file_may_be_named_by_a_variable(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('library = "mine"', encoding="utf-8")
    (tmp_path / "citewell.toml").write_text('library = "other"', encoding="utf-8")
    named = {"CITEWELL_CONFIG": str(tmp_path / "mine.toml")}
    assert load_config(environ=named, folder=tmp_path) == Config(library="mine")


def test_paths_are_absolute_and_know_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/someone")
    config = loaded(tmp_path, 'data = "here"\ncache = "~/there"')
    assert (config.data, config.cache) == (tmp_path / "here", Path("/home/someone/there"))


def test_the_switches_of_other_modules_are_no_unknown_settings(tmp_path: Path) -> None:
    others = {"CITEWELL_OFFLINE": "1", "CITEWELL_SHARED": "/x", "NOT_CITEWELL_FOO": "1"}
    assert load_config(environ=others, folder=tmp_path) == Config()


@pytest.mark.parametrize(
    ("toml", "environ", "message"),
    [
        (
            'libary = "x"',
            {},
            r"citewell.toml: unknown setting 'libary'; known ones: cache, context, data, .*threads, upload_mb$",
        ),
        (
            "",
            {"CITEWELL_LIBARY": "x"},
            r"^unknown setting CITEWELL_LIBARY in the environment; known ones: CITEWELL_CACHE",
        ),
        ("library = ", {}, r"citewell.toml cannot be read as TOML: Invalid value.*; mend or remove it$"),
        ("threads = 0", {}, r"^setting threads is 0; it must be above 0$"),
        ("threads = 2.5", {}, r"^setting threads is 2.5; it must be a int$"),
        ("threads = inf", {}, r"^setting threads is inf; it must be a int$"),
        ("threads = true", {}, r"^setting threads is True; it must be a int$"),
        ("llm_timeout = nan", {}, r"^setting llm_timeout is nan; it must be a float$"),
        ("llm_timeout = inf", {}, r"^setting llm_timeout is inf; it must be above 0$"),
        ("library = 7", {}, r"^setting library is 7; it must be a str$"),
        ("data = 7", {}, r"^setting data is 7; it must be a Path$"),
        ('data = "~nobody-of-that-name/x"', {}, r"^setting data is '~nobody-of-that-name/x'; it must be a Path$"),
        ("[library]\nname = 1", {}, r"^setting library is \{'name': 1\}; it must be a str$"),
        ("", {"CITEWELL_THREADS": "many"}, r"^setting threads is 'many'; it must be a int$"),
        ("", {"CITEWELL_CONTEXT": "-1"}, r"^setting context is -1; it must be above 0$"),
        (
            "",
            {"CITEWELL_CONFIG": "/no/such/file"},
            r"^CITEWELL_CONFIG names /no/such/file, which is no file; correct or",
        ),
    ],
)
def test_an_unusable_setting_is_named_with_its_value(
    tmp_path: Path, toml: str, environ: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        loaded(tmp_path, toml, environ)


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "citewell.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"citewell.toml cannot be read as TOML: .*; mend or remove it"):
        load_config(environ={}, folder=tmp_path)


@pytest.mark.parametrize("name", ["", ".", "..", ".x", "a/b", "a\\b", "/x", "a\0b", "a\nb", "x" * 61])
def test_a_library_name_cannot_leave_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"^library name .* cannot be used; take letters, digits, '-' and '_'$"):
        load_config({"library": name}, environ={}, folder=tmp_path)


@pytest.mark.parametrize("name", ["default", "NeurIPS-2026", "lab_3", "论文", "v1.2", "my papers"])
def test_a_library_may_have_a_name_of_any_language(tmp_path: Path, name: str) -> None:
    assert load_config({"library": name}, environ={}, folder=tmp_path).library == name
