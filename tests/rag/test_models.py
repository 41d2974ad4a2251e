"""Models are found, fetched and checked; no test but the one with a local folder of wheels runs pip, none a network."""

from __future__ import annotations

import errno
import hashlib
import http.server
import io
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag import fetch, models
from rag.errors import ModelError
from rag.fetch import FetchError, Fetchers, Hub, pip_wheel
from rag.models import list_models, pull, require_ok, resolve, verify
from rag.registry import REGISTRY, Model, ModelFile, Part, WheelFolder, WheelParts

WHOLE = b"".join(bytes([n]) * 1000 for n in range(5)) + b"end"
FILES = {"model.bin": b"weights" * 500, "1_Pooling/config.json": b"{}"}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def cut(data: bytes, count: int) -> tuple[tuple[Part, ...], dict[str, bytes]]:
    """The parts of ``data`` and the wheels that hold them."""
    step = -(-len(data) // count)
    pieces = [data[start : start + step] for start in range(0, len(data), step)]
    parts = tuple(Part(f"part{n}==1.0", f"part{n}/data/{n}.bin", len(p), sha(p)) for n, p in enumerate(pieces, start=1))
    return parts, {part.requirement: zipped({part.member: p}) for part, p in zip(parts, pieces, strict=True)}


def embedder(wheels: WheelFolder | WheelParts) -> Model:
    files = tuple(ModelFile(path, len(data), sha(data)) for path, data in FILES.items())
    return Model("Tiny", "embedding", "MIT", "", files, wheels, hub="owner/tiny")


class Network:
    """What the two sources hold, and what they were asked, in order."""

    def __init__(self, wheels: dict[str, bytes], hub: dict[str, bytes] | None = None) -> None:
        self.wheels = wheels
        self.hub = hub
        self.asked: list[str] = []
        self.before: Callable[[str], None] = lambda what: None
        self.fetchers = Fetchers(hub=self._hub, wheel=self._wheel)

    def _hub(self, repo: str, file: str, sha256: str, folder: Path, seen: Callable[[int], None]) -> Path:
        self._ask(f"hub {repo} {file}")
        if self.hub is None:
            raise FetchError("not reachable")
        for path, data in self.hub.items():
            if path == file or not file:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(data)
        return folder / file

    def _wheel(self, requirement: str, folder: Path, seen: Callable[[int], None]) -> Path:
        assert list(folder.iterdir()) == []
        self._ask(f"wheel {requirement}")
        if requirement not in self.wheels:
            raise FetchError(f"{requirement}: no such distribution")
        path = folder / "it.whl"
        path.write_bytes(self.wheels[requirement])
        seen(len(self.wheels[requirement]))
        return path

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        self.before(what)


@pytest.fixture(autouse=True)
def _online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CITEWELL_OFFLINE", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


@pytest.fixture
def folder_model(monkeypatch: pytest.MonkeyPatch) -> Network:
    """A registry with "Tiny", an embedder in one wheel and on the Hub."""
    monkeypatch.setitem(REGISTRY, "Tiny", embedder(WheelFolder("tiny==1.0", "tiny/model")))
    wheel = zipped({f"tiny/model/{path}": data for path, data in FILES.items()} | {"tiny/__init__.py": b"1/0"})
    return Network({"tiny==1.0": wheel}, dict(FILES))


@pytest.fixture
def parts_model(monkeypatch: pytest.MonkeyPatch) -> Network:
    """A registry with "Tiny", a language model in five wheels and on no Hub."""
    parts, wheels = cut(WHOLE, 5)
    file = ModelFile("tiny.gguf", len(WHOLE), sha(WHOLE))
    monkeypatch.setitem(REGISTRY, "Tiny", Model("Tiny", "llm", "MIT", "", (file,), WheelParts(parts)))
    return Network(wheels)


def tree(folder: Path) -> dict[str, bytes]:
    found = {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    found.pop(models._RECEIPT, None)
    return found


def test_the_registry_holds_the_four_models_with_a_checksum_for_every_file() -> None:
    assert list(REGISTRY) == [
        "all-MiniLM-L6-v2",
        "all-mpnet-base-v2",
        "Qwen2.5-Coder-1.5B-Instruct",
        "SmolLM2-135M-Instruct",
    ]
    pinned: list[ModelFile | Part] = [file for model in REGISTRY.values() for file in model.files]
    for model in REGISTRY.values():
        if isinstance(model.wheels, WheelParts):
            pinned += model.wheels.parts
    assert len(pinned) == 22 + 22 + 5
    assert all(len(p.sha256) == 64 and p.size > 0 for p in pinned)
    qwen = REGISTRY["Qwen2.5-Coder-1.5B-Instruct"]
    assert isinstance(qwen.wheels, WheelParts)
    assert sum(part.size for part in qwen.wheels.parts) == qwen.size == 1_117_320_768


def test_the_hub_is_asked_before_the_wheels(folder_model: Network, tmp_path: Path) -> None:
    path = resolve("tiny", cache=tmp_path, fetchers=folder_model.fetchers)
    assert path == tmp_path / "models" / "Tiny"
    assert tree(path) == FILES
    assert folder_model.asked == ["hub owner/tiny 1_Pooling/config.json", "hub owner/tiny model.bin"]


def test_a_hub_out_of_reach_gives_way_to_the_wheels(folder_model: Network, tmp_path: Path) -> None:
    folder_model.hub = None
    path = resolve("TINY", cache=tmp_path, fetchers=folder_model.fetchers)
    assert tree(path) == FILES
    assert folder_model.asked == ["hub owner/tiny 1_Pooling/config.json", "wheel tiny==1.0"]
    assert not (tmp_path / "models" / "Tiny.partial").exists()


def test_a_model_in_the_cache_asks_no_source_and_is_not_hashed_again(
    folder_model: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = resolve("Tiny", cache=tmp_path, fetchers=folder_model.fetchers)
    folder_model.asked.clear()
    monkeypatch.setattr(models, "sha256_of", lambda path: pytest.fail(f"hashed {path}"))
    assert resolve("Tiny", cache=tmp_path, fetchers=folder_model.fetchers) == first
    assert folder_model.asked == []


def test_files_put_into_the_cache_by_hand_are_hashed_once_and_used(folder_model: Network, tmp_path: Path) -> None:
    for path, data in FILES.items():
        target = tmp_path / "models" / "Tiny" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    assert resolve("Tiny", cache=tmp_path, fetchers=folder_model.fetchers) == tmp_path / "models" / "Tiny"
    assert folder_model.asked == []
    assert (tmp_path / "models" / "Tiny" / models._RECEIPT).is_file()


def test_a_hub_file_with_another_checksum_is_refused_and_the_wheels_are_taken(
    folder_model: Network, tmp_path: Path
) -> None:
    assert folder_model.hub is not None
    folder_model.hub["model.bin"] = b"other weights"
    path = resolve("Tiny", cache=tmp_path, fetchers=folder_model.fetchers)
    assert tree(path) == FILES
    assert folder_model.asked[-1] == "wheel tiny==1.0"


def test_when_all_sources_fail_the_error_is_one_line_that_says_why_each_did(
    folder_model: Network, tmp_path: Path
) -> None:
    folder_model.hub = {"1_Pooling/config.json": b"[]"}
    folder_model.wheels = {"tiny==1.0": zipped({"tiny/model/model.bin": b"bad"})}
    with pytest.raises(ModelError) as caught:
        resolve("Tiny", cache=tmp_path, fetchers=folder_model.fetchers)
    assert str(caught.value) == (
        "Tiny could not be fetched (local cache: not there; Hugging Face Hub: 1_Pooling/config.json: expected SHA-256 "
        f"{sha(b'{}')}, found {sha(b'[]')}; package index: model.bin: expected SHA-256 {sha(FILES['model.bin'])}, "
        f"found {sha(b'bad')}); connect to a network and run `citewell models pull Tiny`, or give the path of a copy"
    )
    assert not (tmp_path / "models" / "Tiny").exists()


@pytest.mark.parametrize(
    "wheel", [b"no zip at all", zipped({"else": b""}), zipped({"tiny/model/model.bin": b"w" * 9000})]
)
def test_a_damaged_wheel_is_a_clear_error(folder_model: Network, tmp_path: Path, wheel: bytes) -> None:
    folder_model.hub, folder_model.wheels = None, {"tiny==1.0": wheel}
    with pytest.raises(ModelError, match=r"^Tiny could not be fetched .*model\.bin.*citewell models pull Tiny"):
        resolve("Tiny", cache=tmp_path, fetchers=folder_model.fetchers)


def test_offline_no_source_is_asked(folder_model: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_OFFLINE", "1")
    with pytest.raises(ModelError, match=r"Hub: skipped, CITEWELL_OFFLINE is set; package index: skipped, CITEWELL"):
        resolve("Tiny", cache=tmp_path, fetchers=folder_model.fetchers)
    with pytest.raises(ModelError, match=r"hf:a/b/c.gguf is not in .* CITEWELL_OFFLINE is set"):
        resolve("hf:a/b/c.gguf", cache=tmp_path, fetchers=folder_model.fetchers)
    assert folder_model.asked == []


def test_hf_hub_offline_skips_the_hub_only(
    folder_model: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    resolve("Tiny", cache=tmp_path, fetchers=folder_model.fetchers)
    assert folder_model.asked == ["wheel tiny==1.0"]


def test_parts_are_joined_in_order_with_progress_over_the_whole(parts_model: Network, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = resolve(
        "Tiny", cache=tmp_path, fetchers=parts_model.fetchers, on_progress=lambda done, of: seen.append((done, of))
    )
    assert path == tmp_path / "models" / "Tiny" / "tiny.gguf"
    assert path.read_bytes() == WHOLE
    assert seen == sorted(set(seen))
    assert seen[-1] == (len(WHOLE), len(WHOLE))
    assert not (tmp_path / "models" / "Tiny.partial").exists()


def test_a_zip_cut_over_wheels_is_joined_and_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, wheels = cut(zipped({f"tiny/{path}": data for path, data in FILES.items()}), 3)
    monkeypatch.setitem(REGISTRY, "Tiny", embedder(WheelParts(parts, zip_folder="tiny")))
    path = resolve("Tiny", cache=tmp_path, fetchers=Network(wheels).fetchers)
    assert tree(path) == FILES


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), FetchError("the line broke")])
def test_after_an_interruption_finished_parts_are_not_fetched_again(
    parts_model: Network, tmp_path: Path, fault: BaseException
) -> None:
    def break_off(what: str) -> None:
        if what == "wheel part4==1.0":
            raise fault

    parts_model.before = break_off
    with pytest.raises((KeyboardInterrupt, ModelError)):
        resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers)
    assert not (tmp_path / "models" / "Tiny").exists()
    assert tree(tmp_path / "models" / "Tiny.partial").keys() == {"wheels/joined"}
    parts_model.asked.clear()
    parts_model.before = lambda what: None
    assert resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers).read_bytes() == WHOLE
    assert parts_model.asked == ["wheel part4==1.0", "wheel part5==1.0"]


def test_of_a_partial_file_only_whole_unharmed_parts_are_kept(parts_model: Network, tmp_path: Path) -> None:
    step = -(-len(WHOLE) // 5)
    joined = tmp_path / "models" / "Tiny.partial" / "wheels" / "joined"
    joined.parent.mkdir(parents=True)
    joined.write_bytes(WHOLE[:step] + b"\0" * step + WHOLE[2 * step : 2 * step + 7])
    assert resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers).read_bytes() == WHOLE
    assert parts_model.asked == [f"wheel part{n}==1.0" for n in (2, 3, 4, 5)]


def test_a_bad_part_is_refused_and_the_good_ones_before_it_are_kept(parts_model: Network, tmp_path: Path) -> None:
    good = parts_model.wheels["part2==1.0"]
    parts_model.wheels["part2==1.0"] = zipped({"part2/data/2.bin": b"evil"})
    with pytest.raises(ModelError, match=rf"part2/data/2\.bin: expected SHA-256 \w+, found {sha(b'evil')}"):
        resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers)
    parts_model.wheels["part2==1.0"] = good
    parts_model.asked.clear()
    resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers)
    assert parts_model.asked == [f"wheel part{n}==1.0" for n in (2, 3, 4, 5)]


def test_a_full_disk_is_named_and_leaves_nothing_in_place(
    parts_model: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            if self.tell() + len(data) > 2500:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    with monkeypatch.context() as patch:
        patch.setattr(fetch, "open", lambda path, mode: Full(path, mode.replace("b", "")), raising=False)
        with pytest.raises(ModelError) as caught:
            resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers)
    folder = tmp_path / "models" / "Tiny"
    kept = (folder.with_name("Tiny.partial") / "wheels" / "joined").stat().st_size
    assert str(caught.value) == (
        f"Tiny: the disk is full; {folder} needs {len(WHOLE) - kept:,} bytes more and as many for unpacking; "
        "free some and run it again, what has come is kept"
    )
    assert not folder.exists()
    parts_model.asked.clear()
    assert resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers).read_bytes() == WHOLE
    assert parts_model.asked == ["wheel part3==1.0", "wheel part4==1.0", "wheel part5==1.0"]


def test_too_little_room_is_said_before_anything_is_fetched(
    parts_model: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10})())
    with pytest.raises(ModelError, match=r"the disk is full; .* needs 5,003 bytes more"):
        resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers)
    assert parts_model.asked == []


def test_a_cache_that_cannot_be_written_to_is_a_clear_error(parts_model: Network, tmp_path: Path) -> None:
    cache = tmp_path / "file"
    cache.write_text("in the way")
    with pytest.raises(ModelError, match=r"^Tiny: .* cannot be used \(.*\); name a folder to write to$"):
        resolve("Tiny", cache=cache, fetchers=parts_model.fetchers)


def test_verify_catches_a_flipped_byte_and_the_next_resolve_mends_it(parts_model: Network, tmp_path: Path) -> None:
    path = resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers)
    (check,) = verify("Tiny", tmp_path)
    assert (check.file, check.ok, check.expected, check.found) == (path, True, sha(WHOLE), sha(WHOLE))
    require_ok([check])
    stat, flipped = path.stat(), bytes([WHOLE[0] ^ 1]) + WHOLE[1:]
    path.write_bytes(flipped)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # so that the receipt does not show it
    checks = verify(None, tmp_path)
    assert [(c.file, c.ok, c.expected, c.found) for c in checks] == [(path, False, sha(WHOLE), sha(flipped))]
    with pytest.raises(ModelError) as caught:
        require_ok(checks)
    assert str(caught.value) == (
        f"Tiny: {path} has SHA-256 {sha(flipped)}, expected {sha(WHOLE)}; "
        "run `citewell models pull Tiny` to fetch it again"
    )
    assert resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers).read_bytes() == WHOLE


def test_pull_replaces_only_the_bad_file_of_a_model(folder_model: Network, tmp_path: Path) -> None:
    path = resolve("Tiny", cache=tmp_path, fetchers=folder_model.fetchers)
    folder_model.asked.clear()
    (path / "model.bin").write_bytes(b"x")
    assert tree(pull("tiny", cache=tmp_path, fetchers=folder_model.fetchers)) == FILES
    assert folder_model.asked == ["hub owner/tiny model.bin"]


def test_a_bad_file_that_cannot_be_fetched_again_is_named(
    parts_model: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers)
    path.write_bytes(b"x")
    monkeypatch.setenv("CITEWELL_OFFLINE", "1")
    with pytest.raises(ModelError, match=rf"tiny.gguf has SHA-256 {sha(b'x')}, expected {sha(WHOLE)}; .* models pull"):
        resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers)


def test_a_missing_file_fails_verification_by_name(parts_model: Network, tmp_path: Path) -> None:
    (check,) = verify("tiny", tmp_path)
    assert (check.ok, check.found) == (False, "")
    assert verify(None, tmp_path) == []


def test_two_pulls_at_once_fetch_the_model_once(parts_model: Network, tmp_path: Path) -> None:
    paths: list[Path] = []

    def run() -> None:
        paths.append(resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers, progress=False))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paths) == 4
    assert paths[0].read_bytes() == WHOLE
    assert parts_model.asked == [f"wheel part{n}==1.0" for n in (1, 2, 3, 4, 5)]


def test_without_a_terminal_there_is_one_line_a_model(
    parts_model: Network, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    resolve("Tiny", cache=tmp_path / "a", fetchers=parts_model.fetchers)
    out, err = capsys.readouterr()
    assert (out, err) == ("", "fetching Tiny (0 MB)\n")
    resolve("Tiny", cache=tmp_path / "b", fetchers=parts_model.fetchers, progress=False)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["no-such-model", "", "hf:", "./nowhere.gguf"])
def test_an_unknown_name_lists_the_known_ones(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        resolve(name, cache=tmp_path)
    assert all(known in str(caught.value) for known in (repr(name), *REGISTRY))
    for ask in (lambda: pull(name, cache=tmp_path), lambda: verify(name, tmp_path)):
        with pytest.raises(ModelError):
            ask()


def test_a_path_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "my.gguf").write_bytes(b"")
    assert resolve(str(tmp_path / "my.gguf"), cache=tmp_path) == tmp_path / "my.gguf"
    assert resolve(str(tmp_path), cache=tmp_path) == tmp_path


def test_a_hub_name_is_fetched_once_into_the_cache(tmp_path: Path) -> None:
    network = Network({}, {"q4/big.gguf": b"GGUF"})
    path = resolve("hf:owner/repo/q4/big.gguf", cache=tmp_path, fetchers=network.fetchers)
    assert path.name == "big.gguf"
    assert path.read_bytes() == b"GGUF"
    assert path.is_relative_to(tmp_path / "models")
    assert resolve("hf:owner/repo/q4/big.gguf", cache=tmp_path, fetchers=network.fetchers) == path
    assert network.asked == ["hub owner/repo q4/big.gguf"]


def test_a_hub_repository_is_fetched_as_a_folder(tmp_path: Path) -> None:
    network = Network({}, dict(FILES))
    path = resolve("hf:owner/repo", cache=tmp_path, fetchers=network.fetchers)
    assert tree(path) == FILES
    assert resolve("hf:owner/repo", cache=tmp_path, fetchers=network.fetchers) == path
    assert network.asked == ["hub owner/repo "]


def test_a_hub_name_leads_nowhere_else(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"leave out the '\.\.'"):
        resolve("hf:owner/repo/../../../etc/x.gguf", cache=tmp_path)


def test_list_models_tells_what_is_here(parts_model: Network, tmp_path: Path) -> None:
    path = resolve("Tiny", cache=tmp_path, fetchers=parts_model.fetchers)
    states = {state.name: state for state in list_models(tmp_path)}
    assert list(states) == [*REGISTRY, "fast"]
    assert not states["fast"].present
    assert states["Tiny"] == models.ModelState("Tiny", "llm", len(WHOLE), "MIT", "", True, path)
    assert not states["all-MiniLM-L6-v2"].present


def test_a_hub_out_of_reach_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked: list[str] = []

    def unreachable(url: str, **options: object) -> object:
        asked.append(url)
        raise ConnectionError("no route to host")

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", unreachable)
    hub = Hub()
    for _ in range(3):
        with pytest.raises(FetchError, match=r"not reachable \(ConnectionError: no route to host\)"):
            hub("owner/repo", "a.gguf", "", tmp_path, lambda seen: None)
    assert len(asked) == 1


def test_a_large_hub_file_with_another_checksum_is_refused_before_it_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    answer = type("Metadata", (), {"etag": "0" * 64, "commit_hash": "c"})()
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", lambda url, **options: answer)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda *args, **options: pytest.fail("fetched"))
    with pytest.raises(FetchError, match=r"^a.gguf: expected SHA-256 1{64}, found 0{64}$"):
        Hub()("owner/repo", "a.gguf", "1" * 64, tmp_path, lambda seen: None)


@pytest.fixture
def local_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all that pip looks at."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("PIP_CONSTRAINT", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_pip_itself_fetches_the_wheel(local_index: Path, folder_model: Network, tmp_path: Path) -> None:
    info = "tiny-1.0.dist-info"
    wheel = {f"tiny/model/{path}": data for path, data in FILES.items()} | {
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\nRequires-Dist: no-such-thing\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    (local_index / "tiny-1.0-py3-none-any.whl").write_bytes(zipped(wheel))
    folder_model.hub = None
    fetchers = Fetchers(hub=folder_model.fetchers.hub, wheel=pip_wheel)
    assert tree(resolve("Tiny", cache=tmp_path, fetchers=fetchers)) == FILES


def test_a_wheel_that_pip_does_not_find_is_named(local_index: Path, folder_model: Network, tmp_path: Path) -> None:
    folder_model.hub = None
    fetchers = Fetchers(hub=folder_model.fetchers.hub, wheel=pip_wheel)
    with pytest.raises(ModelError, match=r"package index: tiny==1.0: No matching distribution found for tiny==1.0\)"):
        resolve("Tiny", cache=tmp_path, fetchers=fetchers)


def test_a_python_without_pip_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FetchError, match="pip is not installed"):
        pip_wheel("tiny==1.0", tmp_path, lambda seen: None)


def test_a_disk_that_fills_up_under_pip_is_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = subprocess.CompletedProcess([], 1, stdout="ERROR: [Errno 28] No space left on device", stderr="")
    monkeypatch.setattr(fetch.subprocess, "run", lambda *args, **options: run)
    with pytest.raises(OSError, match="No space left") as caught:
        pip_wheel("tiny==1.0", tmp_path, lambda seen: None)
    assert caught.value.errno == errno.ENOSPC


def test_importing_models_does_not_import_heavy_libraries() -> None:
    heavy = ("torch", "huggingface_hub", "transformers")
    code = f"import sys, rag.models; print([m for m in {heavy} if m in sys.modules])"
    root = Path(models.__file__).parents[1]
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


class FakeHub(http.server.BaseHTTPRequestHandler):
    """A Hub of one file, with the headers its client goes by."""

    def do_HEAD(self) -> None:
        known = self.path == "/owner/repo/resolve/main/q4/big.gguf"
        self.send_response(200 if known else 404)
        if not known:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("ETag", f'"{sha(WHOLE)}"')
        self.send_header("X-Repo-Commit", "c" * 40)
        self.send_header("Content-Length", str(len(WHOLE)))
        self.end_headers()

    def do_GET(self) -> None:
        self.do_HEAD()
        self.wfile.write(WHOLE)

    def log_message(self, format: str, *args: object) -> None:
        pass


CLIENT = """
import sys, pathlib
from rag.models import resolve
for name in ("hf:owner/repo/q4/big.gguf", "hf:owner/repo/no.gguf"):
    try:
        print(resolve(name, cache=pathlib.Path(sys.argv[1]), progress=False))
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_the_client_of_the_hub_fetches_silently_from_a_server_that_speaks_as_it_does(tmp_path: Path) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), FakeHub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = {
            "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "HF_HOME": str(tmp_path / "hf"),
            "NO_PROXY": "*",
        }
        run = subprocess.run(
            [sys.executable, "-c", CLIENT, str(tmp_path)],
            cwd=Path(models.__file__).parents[1],
            env={**os.environ, **here},
            capture_output=True,
            text=True,
            check=True,
        )
        server.shutdown()
    path, error = run.stdout.splitlines()
    assert Path(path).read_bytes() == WHOLE
    assert error.startswith("ModelError hf:owner/repo/no.gguf could not be fetched (Hugging Face Hub: owner/repo/no.g")
    assert run.stderr == ""
