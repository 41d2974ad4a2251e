from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import IndexStateError
from rag.lexical import LexicalIndex
from rag.records import Paper
from rag.terms import terms

PAPERS = [
    Paper("a", "A", "Pruning graphs quickly."),
    Paper("b", "B", "Trees and graphs, graphs again."),
    Paper("c", "C", "Speech codecs.", title="Pruned speech"),
]


@pytest.fixture
def index() -> LexicalIndex:
    return LexicalIndex.build(PAPERS)


def lucene(tf: int, length: int, df: int, *, mean: float, n: int = 3) -> float:
    """Kamphuis et al. 2020, table 1, Lucene (accurate): idf * tf / (tf + k1 (1 - b + b length / mean))."""
    return math.log(1 + (n - df + 0.5) / (df + 0.5)) * tf / (tf + 1.5 * (0.25 + 0.75 * length / mean))


def test_terms_are_stems_without_stop_words_in_order() -> None:
    assert terms("The retrievers are retrieving, with G³RAG-2, graphs' 图检索 in x") == [
        *("retriev", "retriev", "g³rag", "graph", "图检索")
    ]
    assert terms("of the and") == terms("") == []


def test_scores_are_lucenes_bm25_with_the_title_counted_twice(index: LexicalIndex) -> None:
    mean = (3 + 4 + 6) / 3
    found = index.scores(["graph", "prune"])
    expected = [
        lucene(1, 3, 2, mean=mean) + lucene(1, 3, 2, mean=mean),
        lucene(2, 4, 2, mean=mean),
        lucene(2, 6, 2, mean=mean),
    ]
    assert terms("Pruning pruned graphs") == ["prune", "prune", "graph"]
    assert (found.dtype, found.shape) == (np.float32, (3,))
    assert found == pytest.approx(expected, rel=1e-5)
    assert index.paper_ids == ("a", "b", "c")


def test_a_question_of_unknown_words_scores_nothing(index: LexicalIndex) -> None:
    assert index.scores(["zebra"]).tolist() == index.scores([]).tolist() == [0.0, 0.0, 0.0]
    assert index.scores(["zebra", "graph"]).tolist() == index.scores(["graph"]).tolist()


def test_rarer_terms_weigh_more(index: LexicalIndex) -> None:
    assert index.idf("zebra") == pytest.approx(math.log(1 + 3.5 / 0.5))
    assert index.idf("tree") == pytest.approx(math.log(1 + 2.5 / 1.5))
    assert index.idf("graph") == pytest.approx(math.log(1 + 1.5 / 2.5))


def test_no_score_exceeds_the_sum_of_the_idfs(index: LexicalIndex) -> None:
    for question in ("graphs graphs speech", "pruned trees", "codecs"):
        assert index.scores(terms(question)).max() <= sum(map(index.idf, terms(question)))


ABSTRACTS = st.lists(st.sampled_from(["graph", "graphs", "speech", "the", "tree", "codec", "图检索"]), max_size=5).map(
    " ".join
)
LIBRARIES = st.dictionaries(st.sampled_from("abcdefg"), ABSTRACTS, max_size=7)


@given(LIBRARIES, LIBRARIES)
def test_an_updated_index_scores_as_a_new_one(before: dict[str, str], after: dict[str, str]) -> None:
    held = {i: text for i, text in after.items() if before.get(i) == text}
    index = LexicalIndex.build(Paper(i, i, text) for i, text in before.items()).updated(
        without=before.keys() - held.keys(),
        papers=[Paper(i, i, text) for i, text in after.items() if i not in held],
    )
    new = LexicalIndex.build(Paper(i, i, text) for i, text in after.items())
    for question in (["graph", "speech", "graph"], ["tree"], ["图检索", "codec"], ["zebra"]):
        scores = dict(zip(index.paper_ids, index.scores(question).tolist(), strict=True))
        assert scores == dict(zip(new.paper_ids, new.scores(question).tolist(), strict=True))
        assert [index.idf(t) for t in question] == [new.idf(t) for t in question]


def test_an_updated_index_is_saved_like_any_other(index: LexicalIndex, tmp_path: Path) -> None:
    updated = index.updated(without={"b"}, papers=[Paper("d", "D", "Zebras and graphs.")])
    updated.save(tmp_path / "words")
    loaded = LexicalIndex.load(tmp_path / "words")
    assert loaded.paper_ids == ("a", "c", "d")
    assert loaded.scores(["zebra", "graph"]).tolist() == updated.scores(["zebra", "graph"]).tolist()


def test_a_saved_index_scores_as_the_one_it_was(index: LexicalIndex, tmp_path: Path) -> None:
    index.save(tmp_path / "words")
    LexicalIndex.build(PAPERS[:1]).save(tmp_path / "other")
    index.save(tmp_path / "other")
    for name in ("words", "other"):
        loaded = LexicalIndex.load(tmp_path / name)
        assert loaded.paper_ids == index.paper_ids
        assert loaded.scores(["graph", "speech"]).tolist() == index.scores(["graph", "speech"]).tolist()
        assert [loaded.idf(t) for t in ("graph", "zebra")] == [index.idf(t) for t in ("graph", "zebra")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "words"]


def test_papers_without_a_single_term_are_an_index_that_finds_nothing(tmp_path: Path) -> None:
    LexicalIndex.build([Paper("a", "A", "x of the y"), Paper("b", "B", "§ 1")]).save(tmp_path / "words")
    index = LexicalIndex.load(tmp_path / "words")
    assert index.paper_ids == ("a", "b")
    assert index.scores(["graph"]).tolist() == [0.0, 0.0]
    assert index.idf("graph") > 0


@pytest.mark.parametrize("damage", ["empty", "garbage", "gone"])
def test_a_damaged_index_is_named_with_the_way_out(index: LexicalIndex, tmp_path: Path, damage: str) -> None:
    index.save(tmp_path / "whole")
    for name in sorted(path.name for path in (tmp_path / "whole").iterdir()):
        index.save(tmp_path / "words")
        file = tmp_path / "words" / name
        if damage == "gone":
            file.unlink()
        else:
            file.write_bytes(b"" if damage == "empty" else b"\x93NUMPY\x01\x00garbage")
        with pytest.raises(
            IndexStateError, match=r"the word index .*words cannot be read \(.*\); 'citewell index --rebuild'"
        ):
            LexicalIndex.load(tmp_path / "words")
