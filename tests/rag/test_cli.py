"""The command line as a contract: what is printed, where, and with which exit code."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rag import cli
from rag.config import Config
from rag.embed import Embedder
from rag.registry import REGISTRY
from rag.sync import sync

ROOT = Path(__file__).parents[2]
G3RAG = "How can a retriever build its graph without spending language-model tokens?"


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object that was printed."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    def failed(self, pattern: str) -> bool:
        """Whether it ended with 1, nothing on stdout, and one line on stderr that matches as a whole."""
        assert (self.code, self.out, self.err.count("\n")) == (1, "", 1), self
        assert re.fullmatch(f"citewell: {pattern}\n", self.err), self.err
        return True


@pytest.fixture
def run(
    tmp_path: Path,
    embedder: Embedder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    no_network: None,
) -> Callable[..., Ran]:
    """Runs a command in this process, with libraries in a folder of its own."""
    monkeypatch.setattr(Embedder, "load", lambda folder: embedder)  # once is enough
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def ran(*arguments: object, stdin: str = "") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return ran


@pytest.fixture
def on_seeds(run: Callable[..., Ran], seeds_config: Config, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """As ``run``, with the index of the seeds as the default library."""
    monkeypatch.setenv("CITEWELL_DATA", str(seeds_config.data))
    return run


def citewell(*arguments: object, **environ: str) -> Ran:
    """Runs a command in a process of its own, offline."""
    code = "import sys; from rag.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "CITEWELL_OFFLINE": "1", "HF_HUB_OFFLINE": "1", **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_index_reports_the_library_after_the_run(run, sources: Path, write) -> None:
    write("empty.txt")
    skipped = [{"file": "empty.txt", "row": None, "reason": "empty file"}]
    after = {"records": 4, "papers": 3, "duplicates": 1, "skipped": skipped}
    first, again = run("index", sources, "--json"), run("index", "--json")
    for ran, counts in ((first, (3, 0, 0, 0, 3)), (again, (0, 0, 0, 3, 0))):
        found = ran.json
        assert found.pop("seconds") >= 0
        names = ("added", "changed", "removed", "unchanged", "embedded")
        assert found == after | dict(zip(names, counts, strict=True))
        assert (ran.code, ran.err) == (0, "")


def test_index_in_words(run, sources: Path, write) -> None:
    write("empty.txt")
    dry, wet = run("index", sources, "--dry-run"), run("index", sources)
    counts = r"4 records, 3 papers, 1 duplicates \(added 3, changed 0, removed 0, unchanged 0\) in \d+\.\d s"
    assert re.fullmatch(counts + " - dry run, nothing written\n", dry.out)
    assert re.fullmatch(counts + "\n", wet.out)
    assert wet.err == dry.err == "skipped empty.txt: empty file\n"


def test_a_dry_run_leaves_no_library_behind(run, sources: Path, tmp_path: Path) -> None:
    assert run("index", sources, "--dry-run", "--json").json["added"] == 3
    assert not (tmp_path / "data").exists()
    assert run("papers").failed(r"the library 'default' has not been indexed .*; run 'citewell index PATH' first")


def test_libraries_are_kept_apart_by_name(run, sources: Path) -> None:
    run("index", sources / "one.txt", "--library", "one")
    run("index", sources / "two.txt", "--library", "two")
    labels = [[p["label"] for p in run("papers", "--library", n, "--json").json["papers"]] for n in ("one", "two")]
    tree = "BarTree, a family of trees with many leaves"
    assert [sorted(found) for found in labels] == [[tree, "GraphFoo"], [tree, "SoundBaz"]]


def test_search_prints_one_hit_a_paper_with_the_whole_abstract(on_seeds, seeds_library) -> None:
    ran = on_seeds("search", G3RAG, "-k", 3, "--json")
    papers = {p.paper_id: p for p in seeds_library.papers()}
    found = ran.json
    assert (ran.code, ran.err, list(found), found["question"]) == (0, "", ["question", "hits"], G3RAG)
    assert [hit["rank"] for hit in found["hits"]] == [1, 2, 3]
    assert found["hits"][0]["label"] == "G³RAG"
    assert [hit["score"] for hit in found["hits"]] == sorted((hit["score"] for hit in found["hits"]), reverse=True)
    for hit in found["hits"]:
        paper = papers[hit["paper_id"]]
        assert hit == {
            "rank": hit["rank"],
            "paper_id": paper.paper_id,
            "label": paper.label,
            "score": hit["score"],
            "text": paper.abstract,
            "sources": [{"file": s.file, "row": s.row} for s in paper.sources],
        }


def test_search_gives_ten_papers_unless_told_otherwise(on_seeds) -> None:
    assert len(on_seeds("search", G3RAG, "--json").json["hits"]) == 10
    assert len(on_seeds("search", G3RAG, "--json", "-k", "200").json["hits"]) == 71


def test_search_in_words(on_seeds) -> None:
    ran = on_seeds("search", G3RAG, "-k", 1)
    first, second = ran.out.splitlines()
    assert re.fullmatch(r"  1\. 0\.\d{3}  G³RAG  \(000_78485c96e14bfbbe\.txt#8, [0-9a-f]{12}\)", first)
    assert re.fullmatch(r"     Existing Retrieval-Augmented .*…", second)
    assert (ran.code, ran.err) == (0, "")


def test_a_batch_answers_in_order_with_the_ids_given(on_seeds, tmp_path: Path) -> None:
    asked = [
        {"id": "z", "question": G3RAG, "more": 1},
        {"id": 7, "question": "Which pruning method looks at dependencies between layers?"},
        {"id": None, "question": "剪枝"},
        {"id": "z", "question": G3RAG},
        {"id": "half", "question": "half a pair \ud83d of graphs"},
    ]
    file = tmp_path / "batch.jsonl"
    file.write_text("\ufeff" + "\n\n".join(map(json.dumps, asked)), encoding="utf-8")
    ran = on_seeds("search", "--batch", file, "-k", 4)
    assert (ran.code, ran.err) == (0, "")
    assert [list(line) for line in ran.lines] == [["id", "question", "hits"]] * 5
    assert [line["id"] for line in ran.lines] == ["z", 7, None, "z", "half"]
    assert [line["hits"][0]["label"] for line in ran.lines[:2]] == ["G³RAG", "FiedlerPrune"]
    assert [len(line["hits"]) for line in ran.lines] == [4] * 5
    single = on_seeds("search", G3RAG, "-k", 4, "--json").json
    assert ran.lines[0] == ran.lines[3] == {"id": "z", **single}
    piped = on_seeds("search", "--batch", "-", "-k", 4, stdin=json.dumps(asked[0]))
    assert piped.lines == [{"id": "z", **single}]


def test_a_batch_goes_on_after_a_question_that_cannot_be_asked(on_seeds) -> None:
    asked = [{"id": 1, "question": " "}, {"id": 2, "question": G3RAG}, {"id": 3, "question": "x" * 20_000}]
    ran = on_seeds("search", "--batch", "-", stdin="\n".join(map(json.dumps, asked)))
    first, second, third = ran.lines
    assert first == {"id": 1, "error": "the question is empty; ask something about the papers"}
    assert (second["id"], second["hits"][0]["label"]) == (2, "G³RAG")
    assert third["error"].startswith("the question has 20,000 characters, more than 4,000; shorten it")
    assert (ran.code, ran.err) == (1, 'citewell: 2 of 3 lines failed; see their "error"\n')


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b'{"id": 1, "question": "a"}\n{"id": 2',
            r".*batch.jsonl line 2 is not JSON \(.*\); each line must be an object",
        ),
        (b'{"question": "a"}', r'.*batch.jsonl line 1 lacks "id" or a text "question": \{"question": "a"\}'),
        (b'{"id": 1, "question": 5}', r'.*batch.jsonl line 1 lacks "id" or a text "question": .*'),
        (b"[1]", r'.*batch.jsonl line 1 lacks "id" or a text "question": \[1\]'),
        (b"\xff\xfe\x00", r".*batch.jsonl cannot be read \(.*\); give a JSONL file in UTF-8"),
        (None, r".*batch.jsonl cannot be read \(.*No such file.*\); give a JSONL file in UTF-8"),
    ],
)
def test_a_batch_that_cannot_be_read_is_refused_before_any_work(
    on_seeds, tmp_path: Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "batch.jsonl").write_bytes(content)
    assert on_seeds("search", "--batch", tmp_path / "batch.jsonl").failed(message)


def test_an_empty_batch_is_done_at_once(on_seeds) -> None:
    assert on_seeds("search", "--batch", "-", stdin="\n\n") == Ran(0, "", "")


def test_papers_are_listed_with_all_that_is_known(on_seeds, run, tmp_path: Path, monkeypatch) -> None:
    found = on_seeds("papers", "--json").json
    assert list(found) == ["papers"]
    assert len(found["papers"]) == len({p["paper_id"] for p in found["papers"]}) == 71
    assert on_seeds("papers").out.count("\n") == 71
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "data"))
    abstract = "We propose GraphFoo, a method that prunes large graphs quickly. It needs no training at all."
    record = {"title": "On Foo", "abstract": abstract, "authors": ["Ann Lee", "李明"], "venue": "ICLR", "year": 2026}
    (tmp_path / "one.json").write_text(json.dumps([{**record, "keywords": ["graphs"]}]), encoding="utf-8")
    run("index", tmp_path / "one.json")
    (paper,) = run("papers", "--json").json["papers"]
    assert re.fullmatch("[0-9a-f]{12}", paper.pop("paper_id"))
    assert paper == record | {
        "label": "On Foo",
        "keywords": ["graphs"],
        "sources": [{"file": "one.json", "row": 1}],
    }
    assert re.fullmatch(r"[0-9a-f]{12}  2026  ICLR  On Foo  \(one.json#1\)\n", run("papers").out)


def test_papers_are_filtered_sorted_and_cut(run, tmp_path: Path) -> None:
    words = ("graphs that prune themselves", "trees that never grow", "sounds that nobody hears")
    rows = [
        {"title": f"On {word.split()[0]}", "abstract": f"We study {word}. It works.", "venue": venue, "year": year}
        for word, venue, year in zip(words, ("ICML", "NeurIPS", "ICML"), (2019, 2020, 2021), strict=True)
    ]
    (tmp_path / "one.json").write_text(json.dumps(rows), encoding="utf-8")
    run("index", tmp_path / "one.json")

    def titles(*arguments: object) -> list[str]:
        return [p["title"] for p in run("papers", "--json", *arguments).json["papers"]]

    assert titles("--sort", "year", "--reverse") == ["On sounds", "On trees", "On graphs"]
    assert titles("--sort", "title", "--limit", 2) == ["On graphs", "On sounds"]
    assert titles("--sort", "venue", "--year", "2020..") == ["On sounds", "On trees"]
    assert titles("--contains", "NEVER  grow") == ["On trees"]
    assert titles("--venue", "icml", "--venue", "neurips", "--sort", "file") == ["On graphs", "On trees", "On sounds"]
    nothing = run("papers", "--year", "1999")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "no paper fits\n")
    assert run("papers", "--year", "next").failed("the year 'next' is no year; write 2019, .*")
    assert run("papers", "--limit", -1).failed("--limit is -1; it must not be below 0")
    hits = run("search", "trees", "--venue", "ICML", "--json").json["hits"]
    assert sorted(h["label"] for h in hits) == ["On graphs", "On sounds"]
    assert run("search", "trees", "--venue", "ICLR", "--year", "2019..2020").failed(
        r"no paper of the library fits the filter \(year 2019..2020, venue ICLR\); 'citewell papers' lists what there is"
    )


def test_a_merge_is_undone_and_that_taken_back(run, sources: Path) -> None:
    run("index", sources)
    split = run("duplicates", "--split", "two.txt#1", "--json").json
    assert (split["place"], split["papers"], split["duplicates"]) == ("two.txt#1", 4, 0)
    assert split["paper"]["sources"] == [{"file": "two.txt", "row": 1}]
    listed = run("duplicates").out
    assert re.fullmatch(r"two.txt#1 split off as [0-9a-f]{12}, apart from [0-9a-f]{12}\n", listed)
    assert run("index", "--json").json["papers"] == 4
    joined = run("duplicates", "--join", "two.txt#1").out
    assert re.fullmatch(
        r"two.txt#1 is again [0-9a-f]{12}, BarTree, a family of trees with many leaves, with one.txt#2; 3 papers\n",
        joined,
    )
    assert run("duplicates", "--join", "two.txt#1").failed("two.txt#1 was not split off; .*")


def test_duplicates_are_listed_with_the_reasons(on_seeds) -> None:
    found = on_seeds("duplicates", "--json").json["duplicates"]
    assert [(m["kind"], m["source"], m["reasons"], m["scores"]) for m in found] == [
        ("merge", {"file": "001_3b4b1a2a6c9c9e9d.txt", "row": row}, ["same abstract"], {"text": 1.0})
        for row in (1, 3, 12, 15, 19)
    ]
    assert on_seeds("duplicates").out == "".join(
        f"001_3b4b1a2a6c9c9e9d.txt#{m['source']['row']} merged into {m['paper_id']}: same abstract\n" for m in found
    )


def test_models_are_listed_with_what_is_here(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    present = {m["name"]: m["present"] for m in run("models", "list", "--json").json["models"]}
    assert present["all-MiniLM-L6-v2"] is True
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    *listed, fast = run("models", "list", "--json").json["models"]
    assert listed == [
        {
            "name": model.name,
            "kind": model.kind,
            "size": model.size,
            "licence": model.licence,
            "note": model.note,
            "present": False,
            "path": str(tmp_path / "cache" / "models" / model.name / model.entry),
        }
        for model in REGISTRY.values()
    ]
    assert (fast["name"], fast["kind"], fast["present"]) == ("fast", "embedding", False)
    assert run("models", "list").out.count("not fetched") == len(REGISTRY) + 1
    assert not (tmp_path / "cache").exists()


def test_a_model_file_with_a_wrong_checksum_is_named(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path))
    model = REGISTRY["SmolLM2-135M-Instruct"]
    file = tmp_path / "models" / model.name / model.files[0].path
    file.parent.mkdir(parents=True)
    file.write_bytes(b"no model")
    ran = run("models", "verify", model.name)
    assert (ran.code, ran.out) == (1, f"BAD {model.name}/{file}\n")
    assert re.fullmatch(
        rf"citewell: {model.name}: {re.escape(str(file))} has SHA-256 [0-9a-f]{{64}}, "
        rf"expected {model.files[0].sha256}; "
        rf"run `citewell models pull {model.name}` to fetch it again\n",
        ran.err,
    )
    shown = run("models", "verify", model.name, "--json").json
    assert shown == {"files": [{"model": model.name, "file": str(file), "ok": False}]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["index", "{tmp}/nowhere"], r".*/nowhere: no such file or folder; name a file or a folder of abstracts"),
        (["index", "{tmp}/empty.txt"], r"no paper in .*/empty.txt \(empty.txt: empty file\); name a file or folder .*"),
        (["index", "{tmp}/data.bin"], r"no paper in .*/data.bin \(data.bin: not text: .*\); name a file or folder .*"),
        (["index", "{tmp}/folder"], r"no paper in .*/folder \(no files\); name a file or folder that holds abstracts"),
        (["index"], r"no paper in the sources \(no files\); name a file or folder that holds abstracts"),
        (["search", "x"], r"the library 'default' has not been indexed .*; run 'citewell index PATH' first"),
        (["search", "x", "--library", "../x"], r"library name '\.\./x' cannot be used; take letters, digits, .*"),
        (["search", "x", "-k", "0"], r"-k is 0; it must be at least 1"),
        (["papers", "--json"], r"the library 'default' has not been indexed .*; run 'citewell index PATH' first"),
        (["duplicates"], r"the library 'default' has not been indexed .*; run 'citewell index PATH' first"),
        (["ask", "x"], r"the library 'default' has not been indexed .*; run 'citewell index PATH' first"),
        (["check", "x"], r"the library 'default' has not been indexed .*; run 'citewell index PATH' first"),
        (["models", "pull", "no-such-model"], r"there is no model 'no-such-model': name one of .*"),
        (["models", "verify", "no-such-model"], r"there is no model 'no-such-model': name one of .*"),
    ],
)
@pytest.mark.parametrize("json_flag", [[], ["--json"]])
def test_a_fault_is_one_line_that_names_the_thing(
    run, tmp_path: Path, arguments: list[str], message: str, json_flag: list[str]
) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "data.bin").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "folder").mkdir()
    flags = [flag for flag in json_flag if flag not in arguments]
    assert run(*(a.format(tmp=tmp_path) for a in arguments), *flags).failed(message)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("", r"the question is empty; ask something about the papers"),
        (" \n", r"the question is empty; ask something about the papers"),
        ("x" * 20_000, r"the question has 20,000 characters, more than 4,000; shorten it \('x{40}'…\)"),
    ],
)
def test_a_question_that_cannot_be_asked_is_one_line(on_seeds, question: str, message: str) -> None:
    assert on_seeds("search", question, "--json").failed(message)


def test_a_failed_index_of_new_sources_leaves_the_library_as_it_was(run, sources: Path, tmp_path: Path) -> None:
    run("index", sources)
    before = run("papers", "--json").out
    assert run("index", tmp_path / "nowhere").failed(".*no such file or folder.*")
    assert run("papers", "--json").out == before


def test_an_index_made_by_another_embedder_is_refused_and_indexing_makes_it_anew(
    run, fake, sources: Path, tmp_path: Path
) -> None:
    sync(tmp_path / "data/libraries/default", [sources], lambda: fake, embedder_print=fake.fingerprint)
    assert run("search", "graphs", "--json").failed(
        r"the library 'default' was indexed with the embedding model 'fake' \(fake00000001\), not with "
        r"'all-MiniLM-L6-v2' \([0-9a-f]{12}\); set 'embedder' back, or run 'citewell index' to embed it anew"
    )
    assert run("index", "--json").json["embedded"] == 3
    assert run("search", "pruning graphs", "--json").json["hits"][0]["label"] == "GraphFoo"


def test_settings_that_cannot_be_used_are_one_line(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "citewell.toml").write_text("library = ", encoding="utf-8")
    assert run("papers").failed(r".*/citewell.toml cannot be read as TOML: .*; mend or remove it")
    (tmp_path / "citewell.toml").write_text('libary = "x"', encoding="utf-8")
    assert run("papers").failed(r".*/citewell.toml: unknown setting 'libary'; known ones: cache, .*")
    (tmp_path / "citewell.toml").unlink()
    monkeypatch.setenv("CITEWELL_LIBARY", "x")
    assert run("papers").failed(r"unknown setting CITEWELL_LIBARY in the environment; known ones: CITEWELL_CACHE, .*")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["search"],
        ["search", "question", "--batch", "file"],
        ["search", "question", "-k", "many"],
        ["ask"],
        ["check", "a", "--batch", "b"],
        ["models"],
        ["models", "nonsense"],
        ["papers", "--nonsense"],
        ["eval"],
        ["chat", "--port", "x"],
    ],
)
def test_bad_usage_ends_with_2_and_says_so_on_stderr(run, arguments: list[str]) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "citewell" in ran.err
    assert "Traceback" not in ran.err


def test_ctrl_c_is_no_traceback(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rag.build.open_catalogue", stopped)
    assert run("papers") == Ran(130, "", "citewell: stopped\n")


def commands(parser: argparse.ArgumentParser, name: str = "citewell") -> dict[str, argparse.ArgumentParser]:
    """Every command by what one types, from the parser itself."""
    found = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, sub in action.choices.items():
                found |= {f"{name} {word}": sub, **commands(sub, f"{name} {word}")}
    return found


def test_the_commands_are_those_of_the_contract() -> None:
    names = {name.removeprefix("citewell ") for name in commands(cli._parser())}
    top = {name for name in names if " " not in name}
    contract = {"index", "search", "ask", "check", "chat", "papers", "duplicates", "models", "eval", "doctor"}
    assert top == contract | {"mcp", "users", "calibrate"}
    assert {"eval retrieval", "eval answers"} <= names


@pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="there is no README.md yet")
def test_the_readme_documents_every_command_and_what_can_be_asked_of_it() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    wanted = {
        name: [o for a in sub._actions for o in a.option_strings[-1:]] for name, sub in commands(cli._parser()).items()
    }
    wanted["citewell models"] += ["list", "pull", "verify"]
    missing = []
    for name, words in wanted.items():
        first, *further = name.removeprefix("citewell ").split()
        own = [line for line in lines if f"citewell {first}" in line and all(word in line for word in further)]
        missing += [] if own else [name]
        if first != "eval":  # its options are its own help's matter
            missing += [
                f"{name} {word}" for word in words if word != "--help" and not any(word in line for line in lines)
            ]
    assert missing == []


def test_every_command_explains_itself(run) -> None:
    for name in commands(cli._parser()):
        ran = run(*name.split()[1:], "--help")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith(f"usage: {name}")


def test_a_process_of_its_own_indexes_offline_and_silently(run, sources: Path, tmp_path: Path) -> None:
    indexed = citewell("index", sources, "--json", CITEWELL_DATA=str(tmp_path / "data"))
    assert (indexed.code, indexed.err, indexed.json["papers"]) == (0, "", 3)
    found = run("search", os.fsdecode(b"pruning \xff graphs"), "--json")
    assert (found.code, found.err, found.json["hits"][0]["label"]) == (0, "", "GraphFoo")


def test_a_process_of_its_own_ends_with_the_codes_of_the_contract(tmp_path: Path) -> None:
    data = {"CITEWELL_DATA": str(tmp_path / "data")}
    assert citewell("index", tmp_path / "nowhere", **data).failed(".*/nowhere: no such file or folder; .*")
    bad = citewell("search", **data)
    assert (bad.code, bad.out, bad.err) == (
        *(2, ""),
        "citewell: give either a question or --batch FILE.jsonl; see 'citewell --help'\n",
    )


def test_a_reader_that_goes_away_is_no_traceback(seeds_config: Config) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; from rag.cli import main; sys.exit(main())", "papers", "--json"],
        cwd=ROOT,
        env={**os.environ, "CITEWELL_DATA": str(seeds_config.data)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 1)
    process.stderr.close()
