from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval.bench import measure_times, print_times
from eval.collections import load_collection
from eval.retrieval import measure_collection, measure_questions, print_retrieval
from rag.cli import main
from rag.config import Config
from rag.embed import Embedder
from rag.errors import CitewellError

Scripted = Callable[..., Any]


def test_retrieval_over_questions(config: Config, questions_file: Path, embedder: Embedder) -> None:
    results, run = measure_questions(config, questions_file, embedder=embedder)
    assert sorted(run) == ["s1", "s2", "t1"]
    assert results["left_out"] == ["f1"]
    assert results["by_kind"]["single"]["R@1"]["mean"] == 1.0
    assert results["by_kind"]["two-paper"]["all@5"]["mean"] == 1.0
    assert {p for r in results["records"] for p in r["ranks"].values()} <= {1, 2}
    text = print_retrieval(results)
    assert "all but whole-library" in text
    assert "left out: 1 questions" in text
    json.dumps(results, allow_nan=False)


def test_the_language_model_resolves_follow_ups(
    config: Config, questions_file: Path, embedder: Embedder, scripted: Scripted
) -> None:
    llm = scripted()
    results, run = measure_questions(config, questions_file, with_llm=True, llm=lambda config: llm, embedder=embedder)
    assert "f1" in run
    assert results["left_out"] == []
    asked = len(llm.prompts)
    measure_questions(config, questions_file, with_llm=True, llm=lambda config: llm, embedder=embedder)
    assert len(llm.prompts) == asked > 0


def _beir(folder: Path, *, zipped: bool = True) -> Path:
    documents = [
        {"_id": "d1", "title": "Whales", "text": "Humpback songs spread from west to east."},
        {"_id": "d2", "title": "Concrete", "text": "A salt keeps concrete warm while it cures."},
        {"_id": "d3", "title": "", "text": "Humpback songs spread from west to east."},
        {"_id": "d4", "title": "Sorting networks", "text": "\u2028Small depth networks are found by a SAT solver."},
    ]
    lines = "\n".join(json.dumps(d, ensure_ascii=False) for d in documents)
    (folder / "qrels").mkdir(parents=True)
    if zipped:
        (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    else:
        (folder / "corpus.jsonl").write_text(lines, encoding="utf-8")
    queries = [{"_id": "1", "text": "How does concrete cure?"}, {"_id": "2", "text": "sorting by SAT"}]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\td2\t1\n2\td4\t1\n", encoding="utf-8")
    return folder


def test_a_collection_of_others(
    config: Config, tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _beir(tmp_path / "beir")
    results, run = measure_collection(config, folder, embedder=embedder)
    assert {name: found["R@1"]["mean"] for name, found in results["systems"].items()} == {
        "citewell": 1.0,
        "bm25": 1.0,
        "dense": 1.0,
    }
    assert sorted(run["1"]) == ["d1", "d2", "d3", "d4"], "equal abstracts stay apart"
    assert [c["verdict"] for c in results["comparisons"]["nDCG@10"]] == ["no difference"] * 2
    assert "4 documents, 2 queries" in print_retrieval(results)

    embedded: list[str] = []
    encode = Embedder.encode

    def spy(self: Embedder, texts: list[str], **options: Any) -> Any:
        embedded.extend(texts)
        return encode(self, texts, **options)

    monkeypatch.setattr(Embedder, "encode", spy)
    again, _ = measure_collection(config, folder, embedder=embedder)
    assert again == results
    assert {t for t in embedded if "Humpback" in t} == set(), "documents are embedded once"


def test_collections_that_lack_something(tmp_path: Path) -> None:
    with pytest.raises(CitewellError, match=r"holds no corpus\.jsonl"):
        load_collection(tmp_path)
    folder = _beir(tmp_path / "beir", zipped=False)
    with pytest.raises(CitewellError, match=r"dev\.tsv cannot be read"):
        load_collection(folder, split="dev")
    (folder / "qrels" / "odd.tsv").write_text("9\td1\t1\n")
    with pytest.raises(CitewellError, match=r"judges query '9', which queries\.jsonl lacks"):
        load_collection(folder, split="odd")


def test_cranfield_queries_are_joined_by_position(tmp_path: Path) -> None:
    documents = ".I 1\n.T\na wing .\n.A\nx\n.B\ny\n.W\na wing\nin a stream .\n.I 2\n.T\n.A\n.B\n.W\n"
    (tmp_path / "cran.all.1400").write_text(documents)
    (tmp_path / "cran.qry").write_text(".I 001\n.W\nwings\n.I 004\n.W\nheat in\nslabs\n")
    (tmp_path / "cranqrel").write_text("1 1 2 \n2 2 -1\n2 1  4\n")
    found = load_collection(tmp_path)
    assert [(d.id, d.title, d.text) for d in found.documents] == [
        ("1", "a wing .", "a wing in a stream ."),
        ("2", "", ""),
    ]
    assert found.queries == {"1": "wings", "2": "heat in slabs"}
    assert found.qrels == {"1": {"1": 1}, "2": {"2": 0, "1": 1}}


def test_times(config: Config, questions_file: Path, scripted: Scripted) -> None:
    results = measure_times(config, questions_file, limit=3, llm=lambda config: scripted())
    assert [t["id"] for t in results["answers"]] == ["s1", "f1", "u2"]
    assert results["search_ms"]["n"] == 3
    first = results["answers"][0]
    assert first["answered"]
    assert 0 < first["sources"] <= first["first_word"] <= first["whole"]
    assert results["answers"][2]["sources"] is None, "a greeting has no sources"
    assert "first word (answered)" in print_times(results)


def test_the_commands(
    config: Config,
    questions_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CITEWELL_DATA", str(config.data))
    out, run = tmp_path / "out.json", tmp_path / "r.run"
    arguments = ["eval", "retrieval", "--questions", str(questions_file), "--library", "tiny", "--split", "tune"]
    assert main([*arguments, "--out", str(out), "--run", str(run)]) == 0
    assert "single" in capsys.readouterr().out
    assert json.loads(out.read_text())["measured"] == "retrieval"
    assert run.read_text().splitlines()[0].split()[::5] == ["s1", "citewell"]
    assert main(["eval", "answers", "--questions", str(tmp_path / "none.jsonl"), "--library", "tiny"]) == 1
    assert "cannot be read" in capsys.readouterr().err
    assert main(["eval", "table", str(out)]) == 1
    assert "holds no results of 'citewell eval answers'" in capsys.readouterr().err


def test_the_records_of_a_file_are_asked_for_with_their_summaries_and_titles(tmp_path: Path) -> None:
    rows = [
        {"id": f"r{n}", "title": f"Paper {n}", "abstract": f"It says {n}.", "tldr": f"Says {n}." if n % 2 else ""}
        for n in range(40)
    ]
    again = {**rows[1], "id": "again", "abstract": "It  says 1"}
    path = tmp_path / "papers.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, [*rows, again, {**rows[3], "abstract": " "}])).encode()))
    one, other, titles = (load_collection(path, split=s) for s in ("summary", "summary-train", "title"))
    assert one.documents == other.documents == titles.documents
    assert [d.id for d in one.documents] == [f"r{n}" for n in range(40)]
    assert one.queries.keys().isdisjoint(other.queries)
    assert one.queries | other.queries == {f"r{n}": f"Says {n}." for n in range(1, 40, 2)}
    assert titles.queries == {f"r{n}": f"Paper {n}" for n in range(40)}
    assert one.qrels == {i: {i: 1} for i in one.queries}
    with pytest.raises(CitewellError, match="take summary, summary-train, title"):
        load_collection(path, split="test")
    path.write_bytes(gzip.compress(json.dumps(rows[0]).encode()))
    with pytest.raises(CitewellError, match="holds no tldr to ask with"):
        load_collection(path, split="summary")
