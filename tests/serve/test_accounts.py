"""Accounts, their file, and how often somebody may try."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.cli import main
from rag.errors import AccountError
from serve import accounts as module
from serve.accounts import Accounts
from serve.pace import Pace


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_N", 16)  # the cost is no part of what is tested


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "users.json"


def test_a_password_opens_its_own_account_only(file: Path) -> None:
    accounts = Accounts(file)
    assert not accounts.verify("ada", "correct horse")
    accounts.add("ada", "correct horse")
    accounts.add("bob", "battery staple")
    assert accounts.names() == ["ada", "bob"]
    assert [accounts.verify("ada", word) for word in ("correct horse", "battery staple", "", "correct hors")] == [
        True,
        False,
        False,
        False,
    ]
    assert accounts.verify("ada", "correct horse")  # remembered
    accounts.add("ada", "another horse")
    assert [accounts.verify("ada", word) for word in ("correct horse", "another horse")] == [False, True]


def test_the_file_is_its_owners_alone_and_holds_no_secret_in_clear(file: Path) -> None:
    accounts = Accounts(file)
    accounts.add("ada", "correct horse")
    token = accounts.new_token("ada")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "correct horse" not in file.read_text("utf-8")
    assert token not in file.read_text("utf-8")
    assert [path.name for path in file.parent.iterdir() if path.name.startswith(".")] == []


def test_another_process_adds_and_removes_and_a_running_server_knows(file: Path) -> None:
    server, shell = Accounts(file), Accounts(file)
    shell.add("ada", "correct horse")
    assert server.verify("ada", "correct horse")
    session, token = server.session("ada"), shell.new_token("ada")
    assert (server.of_session(session), server.of_token(token)) == ("ada", "ada")
    shell.remove("ada")
    assert not server.verify("ada", "correct horse")
    assert (server.of_session(session), server.of_token(token)) == (None, None)


def test_a_session_survives_a_restart_ends_in_time_and_with_a_new_password_and_cannot_be_forged(file: Path) -> None:
    now = [1000.0]
    accounts = Accounts(file, clock=lambda: now[0])
    accounts.add("ada", "correct horse")
    accounts.add("bob", "battery staple")
    session = accounts.session("ada")
    again = Accounts(file, clock=lambda: now[0])
    assert again.of_session(session) == "ada"
    for forged in ("", "x", session[:-4], session.swapcase(), "é", again.session("bob")[:10] + session[10:]):
        assert again.of_session(forged) is None
    now[0] += 15 * 24 * 3600
    assert again.of_session(session) is None
    fresh = again.session("ada")
    again.add("ada", "another horse")
    assert again.of_session(fresh) is None


def test_a_new_token_takes_the_place_of_the_old(file: Path) -> None:
    accounts = Accounts(file)
    accounts.add("ada", "correct horse")
    old, new = accounts.new_token("ada"), accounts.new_token("ada")
    assert [accounts.of_token(token) for token in (old, new, "", "cw-")] == [None, "ada", None, None]


@pytest.mark.parametrize(
    ("name", "password", "words"),
    [
        ("", "correct horse", "the name '' cannot be used; take at most 40 letters"),
        ("a/b", "correct horse", "the name 'a/b' cannot be used"),
        ("a:b", "correct horse", "the name 'a:b' cannot be used"),
        ("x" * 41, "correct horse", "cannot be used"),
        ("ada", "short", "the password has 5 characters; take at least 8"),
    ],
)
def test_what_cannot_be_an_account_is_said(file: Path, name: str, password: str, words: str) -> None:
    with pytest.raises(AccountError, match=words):
        Accounts(file).add(name, password)
    assert not file.exists()


def test_a_file_that_cannot_be_read_is_named_and_left_alone(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("{", encoding="utf-8")
    with pytest.raises(AccountError, match=r"users\.json cannot be read .*; mend it, or remove it"):
        Accounts(file).add("ada", "correct horse")
    assert file.read_text("utf-8") == "{"


def test_users_added_at_once_are_all_kept(file: Path) -> None:
    names = [f"user{n}" for n in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: Accounts(file).add(name, "correct horse"), names))
    assert Accounts(file).names() == sorted(names)


def test_the_command_line_adds_lists_and_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path))

    def run(*words: str, typed: str = "") -> tuple[int, str, str]:
        import io

        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        code = main(["users", *words])
        told = capsys.readouterr()
        return code, told.out, told.err

    assert run("list") == (0, "", "")
    assert run("add", "ada", typed="correct horse\n") == (0, "", "")
    assert Accounts(tmp_path / "users.json").verify("ada", "correct horse")
    assert run("list", "--json") == (0, '{"users": ["ada"]}\n', "")
    code, token, _ = run("token", "ada")
    assert (code, Accounts(tmp_path / "users.json").of_token(token.strip())) == (0, "ada")
    code, out, _ = run("token", "ada", "--json")
    assert json.loads(out)["user"] == "ada"
    assert run("add", "bob", typed="short")[::2] == (1, "citewell: the password has 5 characters; take at least 8\n")
    assert run("remove", "ada") == (0, "", "")
    assert run("remove", "ada")[::2] == (
        1,
        "citewell: there is no user 'ada'; 'citewell users list' names those there are\n",
    )
    with pytest.raises(SystemExit, match="2"):
        run("add")


def test_a_shared_address_without_accounts_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rag.config import load_config
    from serve.gate import Access, access_of

    config = load_config({"data": tmp_path})
    with pytest.raises(AccountError, match=r"no accounts; run 'citewell users add NAME', or give --no-accounts"):
        access_of(config, host="0.0.0.0", sign_in=None)
    assert access_of(config, host="0.0.0.0", sign_in=False) == Access(requests_per_minute=60)
    for host in ("127.0.0.1", "localhost", "::1"):
        assert access_of(config, host=host, sign_in=None) == Access(this_machine_only=True)
    Accounts(tmp_path / "users.json").add("ada", "correct horse")
    for host, sign_in in (("0.0.0.0", None), ("127.0.0.1", True)):
        access = access_of(config, host=host, sign_in=sign_in)
        assert access.accounts is not None
        assert not access.this_machine_only


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 30)), max_size=40), st.integers(1, 5))
def test_nobody_does_it_more_often_than_allowed_in_any_minute(steps: list[tuple[str, float]], most: int) -> None:
    now = [0.0]
    pace = Pace(most, 60, clock=lambda: now[0])
    done: dict[str, list[float]] = {"a": [], "b": []}
    for key, pause in steps:
        now[0] += pause
        foretold = pace.wait(key)
        wait = pace.take(key)
        assert wait == foretold
        if wait == 0:
            done[key].append(now[0])
        else:
            assert 0 < wait <= 60 + 1e-6
    for times in done.values():
        for start in times:
            assert len([t for t in times if start <= t < start + 60 - 1e-6]) <= most


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("serve.pace._MOST_KEYS", 3)
    pace = Pace(1, clock=lambda: 0.0)
    tries: Callable[[str], bool] = lambda key: pace.take(key) == 0  # noqa: E731
    assert [tries(key) for key in "aabcda"] == [True, False, True, True, True, True]
