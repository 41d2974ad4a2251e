"""Several systems over the same questions: Citewell's own, any LlamaIndex retriever, rankings made elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval.contest import measure_systems, over_qrels, over_questions, print_systems
from eval.lineup import System, load_systems
from rag import build
from rag.cli import main
from rag.config import Config
from rag.embed import Embedder
from rag.errors import CitewellError

RETRIEVERS = '''
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

ASKED = []


class Listed(BaseRetriever):
    """Papers in the order of their ids, each with the same score, or as ``make`` says."""

    def __init__(self, nodes, make):
        super().__init__()
        self.nodes, self.make = nodes, make

    def _retrieve(self, query):
        ASKED.append(query.query_str)
        return self.make(sorted(self.nodes, key=lambda n: n.node_id))


def constant(nodes):
    return Listed(nodes, lambda nodes: [NodeWithScore(node=n, score=1.0) for n in nodes])


def unscored(nodes):
    return Listed(nodes, lambda nodes: [NodeWithScore(node=n) for n in reversed(nodes)])


def passages(nodes):
    def cut(nodes):
        found = []
        for place, node in enumerate(nodes):
            for part in range(2):
                piece = TextNode(text=f"{part} of {node.text}")
                piece.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=node.node_id)
                found.append(NodeWithScore(node=piece, score=float(place * part)))
        return found
    return Listed(nodes, cut)


def broken(nodes, how):
    def make(nodes):
        first = nodes[0]
        if how == "nan":
            return [NodeWithScore(node=first, score=float("nan"))]
        if how == "foreign":
            return [NodeWithScore(node=TextNode(id_="elsewhere", text="x"), score=1.0)]
        if how == "half":
            return [NodeWithScore(node=first, score=1.0), NodeWithScore(node=nodes[1])]
        if how == "nothing":
            return []
        raise RuntimeError("out of reach")
    return Listed(nodes, make)


def twice(nodes):
    class Twice(Listed):
        """Hands out what it found without LlamaIndex's own look at it, which keeps the first of two."""

        def retrieve(self, query):
            return self._retrieve(QueryBundle(query)) * 2
    return Twice(nodes, lambda nodes: [NodeWithScore(node=nodes[0], score=1.0)])


def no_retriever():
    return 3
'''


@pytest.fixture
def lineup(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a TOML file of systems, with the module ``theirs`` beside it."""

    def write(text: str) -> Path:
        (tmp_path / "lineup_theirs.py").write_text(RETRIEVERS, encoding="utf-8")
        path = tmp_path / "systems.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def _measure(config: Config, questions: Path, path: Path, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    task, field = over_questions(config, questions, split="all")
    try:
        return measure_systems(path, task, field, **options)
    finally:
        field.close()


def test_a_file_of_systems_is_read_in_its_order(lineup: Callable[[str], Path]) -> None:
    path = lineup(
        '[a]\n[b]\nretriever = "bm25"\nk = 5\n[c]\nclass = "x.y:z.make"\nargs = { top = 3 }\n[d]\nrun = "d.run"'
    )
    assert load_systems(path) == [
        System(name="a"),
        System(name="b", retriever="bm25", k=5),
        System(name="c", factory="x.y:z.make", args={"top": 3}),
        System(name="d", run=path.parent / "d.run"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no system"),
        ("k = 3", "'k' stands outside of any table"),
        ("[a", "cannot be read as TOML"),
        ("[a]\nretriver = 'bm25'", "system 'a': unknown key 'retriver'; known ones: retriever, embedder"),
        ("[a]\nretriever = 'bm52'", "system 'a': unknown retriever 'bm52'; take one of fused, graph, bm25, dense"),
        ("[a]\nk = 0", "system 'a': k is 0"),
        ("[a]\nk = true", "system 'a': k is True; it must be a int"),
        ("[a]\nclass = 'x'", "class is 'x'; it must be 'package.module:factory'"),
        ("[a]\nclass = 'x:y'\nembedder = 'z'", "has both 'class' and 'embedder'"),
        ("[a]\nargs = { k = 1 }", "has 'args' but no 'class'"),
        ("['a b']", "system 'a b' cannot be named so"),
    ],
)
def test_a_faulty_file_is_refused(lineup: Callable[[str], Path], text: str, message: str) -> None:
    with pytest.raises(CitewellError, match=message.replace("(", r"\(")):
        load_systems(lineup(text))


def test_systems_over_the_same_questions(
    config: Config, questions_file: Path, paper_ids: list[str], lineup: Callable[[str], Path]
) -> None:
    path = lineup(
        '[citewell]\n[bm25]\nretriever = "bm25"\n[dense]\nretriever = "dense"\nk = 2\n'
        '[constant]\nclass = "lineup_theirs:constant"\n[unscored]\nclass = "lineup_theirs:unscored"\n'
        '[passages]\nclass = "lineup_theirs:passages"'
    )
    results, runs = _measure(config, questions_file, path)
    ids = sorted(paper_ids)
    assert list(runs) == ["citewell", "bm25", "dense", "constant", "unscored", "passages"]
    assert runs["constant"]["s1"] == dict.fromkeys(ids, 1.0)
    assert list(runs["unscored"]["s1"]) == ids[::-1], "without scores the order counts"
    assert list(runs["passages"]["s1"]) == ids[::-1], "a paper is as good as its best passage"
    assert [len(found) for found in runs["dense"].values()] == [2, 2, 2]
    assert set(runs["bm25"]["s1"]) < set(ids), "a paper that shares no word is not found"
    own = results["by_kind"]["citewell"]["single"]["R@1"]
    assert (own["mean"], own["n"]) == (1.0, 2)
    assert len(results["comparisons"]["nDCG@10"]) == 15
    assert {c["n"] for c in results["comparisons"]["R@1"]} == {3}
    first = results["records"][0]
    assert first["ranks"]["citewell"] == {paper_ids[0]: 1}
    assert first["ranks"]["constant"] == {paper_ids[0]: ids.index(paper_ids[0]) + 1}
    assert results["code"]
    assert "dense against bm25" in print_systems(results)
    json.dumps(results, allow_nan=False)

    over_one, _ = _measure(config, questions_file, path, baseline="bm25")
    assert [(c["a"], c["b"]) for c in over_one["comparisons"]["R@1"]] == [
        ("bm25", name) for name in runs if name != "bm25"
    ]
    with pytest.raises(CitewellError, match="--baseline 'bm52' is no system of"):
        _measure(config, questions_file, path, baseline="bm52")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('class = "no_such_module:make"', r"'no_such_module:make' cannot be imported \(ModuleNotFoundError"),
        ('class = "lineup_theirs:make"', "cannot be imported .* put its module beside the TOML file"),
        ('class = "lineup_theirs:constant"\nargs = { x = 1 }', r"made no retriever of args \{'x': 1\} \(TypeError"),
        ('class = "lineup_theirs:no_retriever"', "made a int; it must make a llama_index"),
        ('class = "lineup_theirs:broken"\nargs = { how = "nan" }', "question 's1': the score of node .* is nan"),
        ('class = "lineup_theirs:broken"\nargs = { how = "foreign" }', "node 'elsewhere' is no paper of the library"),
        ('class = "lineup_theirs:twice"', "question 's1': node .* comes twice"),
        ('class = "lineup_theirs:broken"\nargs = { how = "half" }', "1 of 2 nodes have no score"),
        ('class = "lineup_theirs:broken"\nargs = { how = "nothing" }', "system 'x' found nothing for any of the 3"),
        ('class = "lineup_theirs:broken"\nargs = { how = "" }', r"it failed \(RuntimeError: out of reach\)"),
        ('run = "none.run"', "none.run cannot be read"),
    ],
)
def test_a_system_that_fails_is_named(
    config: Config, questions_file: Path, lineup: Callable[[str], Path], table: str, message: str
) -> None:
    with pytest.raises(CitewellError, match=message):
        _measure(config, questions_file, lineup(f"[x]\n{table}"))


def test_another_embedding_model_has_a_library_of_its_own(
    config: Config,
    questions_file: Path,
    embedder: Embedder,
    lineup: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def load(config: Config) -> Embedder:
        asked.append(config.embedder)
        return embedder

    monkeypatch.setattr(build, "load_embedder", load)
    path = lineup('[one]\n[two]\nembedder = "another"\n[three]\nembedder = "another"\nretriever = "dense"')
    results, runs = _measure(config, questions_file, path)
    assert asked == [config.embedder, "another"]
    for question, found in runs["one"].items():
        # from an index of its own, embedded in other batches
        assert runs["two"][question] == pytest.approx(found, abs=1e-5)
    assert len(list((config.cache / "eval").iterdir())) == 1
    assert results["systems"]["two"]["embedder"] == "another"


def test_rankings_made_elsewhere_need_no_texts(tmp_path: Path, lineup: Callable[[str], Path]) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "good.run").write_text("1 Q0 a 1 2.0 x\n2 Q0 b 1 2.0 x\n2 Q0 a 2 1.0 x\n9 Q0 a 1 1.0 x\n")
    (tmp_path / "poor.run").write_text("1 Q0 b 1 2.0 x\n")
    path = lineup('[good]\nrun = "good.run"\nk = 1\n[poor]\nrun = "poor.run"')
    results, runs = measure_systems(path, over_qrels(tmp_path / "qrels"), None)
    assert runs == {"good": {"1": {"a": 2.0}, "2": {"b": 2.0}}, "poor": {"1": {"b": 2.0}}}
    assert results["by_kind"]["good"]["all"]["AP"]["mean"] == 1.0
    assert results["by_kind"]["poor"]["all"]["AP"]["mean"] == 0.0, "a query that is missing counts 0"
    with pytest.raises(CitewellError, match="system 'x' needs texts"):
        measure_systems(lineup("[x]"), over_qrels(tmp_path / "qrels"), None)


def test_the_command_prints_one_json_object(
    config: Config,
    questions_file: Path,
    lineup: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CITEWELL_DATA", str(config.data))
    path = lineup('[citewell]\n[bm25]\nretriever = "bm25"')
    arguments = ["eval", "retrieval", "--questions", str(questions_file), "--library", "tiny", "--systems", str(path)]
    assert main([*arguments, "--json", "--run", str(tmp_path / "runs")]) == 0
    assert json.loads(capsys.readouterr().out)["measured"] == "systems"
    assert sorted(f.name for f in (tmp_path / "runs").iterdir()) == ["bm25.run", "citewell.run"]
    assert main([*arguments, "--llm"]) == 1
    assert main(["eval", "retrieval", "--baseline", "x"]) == 1
    assert "--systems" in capsys.readouterr().err


def test_queries_that_a_run_leaves_out_count_as_nothing_and_are_told(
    lineup: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 b 1\nq3 0 c 1\n")
    path = lineup('[half]\nrun = "half.run"\n[whole]\nrun = "whole.run"')
    (path.parent / "half.run").write_text("q1 Q0 a 1 2.0 half\nq9 Q0 a 1 2.0 half\n")
    (path.parent / "whole.run").write_text("".join(f"{q} Q0 a 1 2.0 whole\n" for q in ("q1", "q2", "q3")))
    results, _ = measure_systems(path, over_qrels(tmp_path / "qrels"), None)
    assert {name: system["silent"] for name, system in results["systems"].items()} == {
        "half": ["q2", "q3"],
        "whole": [],
    }
    assert round(results["by_kind"]["half"]["all"]["R@1"]["mean"], 4) == 0.3333
    told = print_systems(results).splitlines()
    assert "half found nothing for 2 of 3 queries, which count as 0: q2, q3" in told
