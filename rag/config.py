"""Settings, from the environment and one TOML file; the only reader of either.

Order, later wins: the defaults here, ``citewell.toml`` (in the working directory, or where ``CITEWELL_CONFIG``
points), environment variables ``CITEWELL_<KEY>``. An unknown key is an error, since a misspelt one would be obeyed
by nobody.
"""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

from platformdirs import user_cache_path, user_data_path

from rag.errors import ConfigError

FILE_NAME = "citewell.toml"
_OTHER_VARIABLES = frozenset({"CITEWELL_CONFIG", "CITEWELL_OFFLINE", "CITEWELL_SHARED"})
"""No settings: where the file is, the switch of ``rag.models``, the test data."""
_LIBRARY_NAME = re.compile(r"[\w-][\w. -]{0,59}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that can be set; see the README for what each means."""

    data: Path = user_data_path("citewell")  # noqa: RUF009
    """Where libraries live: one folder a library."""
    cache: Path = user_cache_path("citewell")  # noqa: RUF009
    """Where models live."""
    library: str = "default"
    embedder: str = "all-MiniLM-L6-v2"
    """A name of the model registry, "fast" (see ``rag.distill``), a local folder, or ``hf:REPO``."""
    reranker: str = ""
    """A cross-encoder that looks again at what was found: a local folder, or ``hf:REPO``; none by default."""
    llm: str = "Qwen2.5-Coder-1.5B-Instruct"
    """A name of the model registry, a .gguf file, or ``hf:REPO/FILE.gguf``; not used when llm_url is set."""
    llm_url: str = ""
    """Base address of an OpenAI-compatible server, such as http://127.0.0.1:11434/v1."""
    llm_model: str = ""
    """The model to ask for at llm_url."""
    llm_key: str = ""
    """The key for llm_url, if it wants one."""
    llm_timeout: float = 120.0
    """Seconds to wait for llm_url."""
    judge_key: str = ""
    """The key for the judge of 'citewell eval answers', if it wants one."""
    threads: int = min(os.cpu_count() or 2, 8)
    """Threads of the embedded language model."""
    requests_per_minute: int = 60
    """What a user of a shared server, or an address where there are no accounts, may ask in a minute."""
    upload_mb: int = 100
    """Megabytes of one uploaded file."""
    slots: int = 1
    """Questions the language model works on at a time; the others wait."""
    context: int = 4096
    """Tokens of one conversation with the embedded language model, prompt and answer together."""
    evidence_tokens: int = 260
    """Budget of the numbered evidence in a prompt."""
    papers: int = 6
    """Papers whose sentences are looked at for an answer."""


def load_config(
    overrides: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Config:
    """The settings in force; ``overrides`` (from the command line) win over all, None values in it are ignored.

    Raises ConfigError for an unknown key, an unusable value or a file that is not TOML.
    """
    env = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    path = settings_file(environ=env, folder=folder)
    if path.is_file():
        values.update(read_toml(path))
    elif env.get("CITEWELL_CONFIG"):
        raise ConfigError(f"CITEWELL_CONFIG names {path}, which is no file; correct or unset it")
    known = {f.name for f in fields(Config)}
    for key in values:
        if key not in known:
            raise ConfigError(f"{path}: unknown setting {key!r}; known ones: {', '.join(sorted(known))}")
    variables = {f"CITEWELL_{name.upper()}" for name in known}
    for variable in sorted(env):
        if variable.startswith("CITEWELL_") and variable not in variables | _OTHER_VARIABLES:
            raise ConfigError(
                f"unknown setting {variable} in the environment; known ones: {', '.join(sorted(variables))}"
            )
    for name in known:
        if value := env.get(f"CITEWELL_{name.upper()}"):
            values[name] = value
    values.update({k: v for k, v in (overrides or {}).items() if v is not None})
    types = get_type_hints(Config)
    config = Config(**{key: _convert(key, value, types[key]) for key, value in values.items()})
    for name in (
        "threads",
        "slots",
        "requests_per_minute",
        "upload_mb",
        "context",
        "evidence_tokens",
        "papers",
        "llm_timeout",
    ):
        if not 0 < getattr(config, name) < math.inf:
            raise ConfigError(f"setting {name} is {getattr(config, name)}; it must be above 0")
    check_library_name(config.library)
    return config


def check_library_name(name: str) -> None:
    """Raises ConfigError for a name that no library can have."""
    if not _LIBRARY_NAME.fullmatch(name):
        raise ConfigError(f"library name {name!r} cannot be used; take letters, digits, '-' and '_'")


def settings_file(*, environ: Mapping[str, str] | None = None, folder: Path | None = None) -> Path:
    """Where the settings file is, or would be."""
    env = os.environ if environ is None else environ
    return Path(env["CITEWELL_CONFIG"]) if env.get("CITEWELL_CONFIG") else (folder or Path.cwd()) / FILE_NAME


def set_by_environment(environ: Mapping[str, str] | None = None) -> frozenset[str]:
    """Names of the settings that an environment variable decides, whatever the file says."""
    env = os.environ if environ is None else environ
    return frozenset(f.name for f in fields(Config) if env.get(f"CITEWELL_{f.name.upper()}"))


def save_settings(changes: Mapping[str, str | int | float], path: Path) -> None:
    """Writes ``changes`` into the settings file at ``path``, whole or not at all; whatever else stands there stays.

    Raises ConfigError, and leaves the file as it is, for a value that cannot be used or where it cannot be written.
    """
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    for key, value in changes.items():
        line = f"{key} = {json.dumps(value, ensure_ascii=False)}"  # a JSON string or number is one of TOML
        held = re.search(rf"(?m)^[ \t]*{key}[ \t]*=.*$", text)
        text = f"{text[: held.start()]}{line}{text[held.end() :]}" if held else f"{text.rstrip()}\n{line}\n".lstrip()
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.is_file() else 0o600  # it may hold a key
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        written = load_config(environ={"CITEWELL_CONFIG": str(partial)})
        if any(getattr(written, key) != value for key, value in changes.items()):
            raise ConfigError(f"{path} is written in a way that cannot be changed from here; edit it by hand")
        partial.replace(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error}); make its folder writable") from error
    finally:
        partial.unlink(missing_ok=True)


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises ConfigError where it cannot be read as one."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path} cannot be read as TOML: {error}; mend or remove it") from error


def _convert(key: str, value: Any, kind: type) -> Any:
    try:
        if kind is Path and isinstance(value, str | Path):
            return Path(value).expanduser().absolute()
        if kind in (int, float) and isinstance(value, str | int | float) and not isinstance(value, bool):
            converted = kind(value)
            if not isinstance(value, float) or converted == value:  # 2.5 threads are not 2
                return converted
    except (ValueError, OverflowError, RuntimeError):  # no number; no end; no home for that user
        pass
    if kind is str and isinstance(value, str):
        return value
    raise ConfigError(f"setting {key} is {value!r}; it must be a {kind.__name__}")
