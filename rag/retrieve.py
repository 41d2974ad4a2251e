"""Finding papers: dense and BM25 scores of every candidate, fused, one hit a paper, in a total order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from numpy.typing import NDArray

from rag.errors import QuestionError
from rag.lexical import terms
from rag.library import Library
from rag.records import Hit, Paper

MAX_QUESTION = 4000
"""Characters of a question; a longer one is refused, not cut."""
_DEPTH = 200
_DENSE_WEIGHT = 0.5


def check_question(question: str) -> str:
    """The question, trimmed. Raises QuestionError where it is empty or longer than MAX_QUESTION characters."""
    trimmed = question.strip()
    if not trimmed:
        raise QuestionError("the question is empty; ask something about the papers")
    if len(trimmed) > MAX_QUESTION:
        raise QuestionError(
            f"the question has {len(trimmed):,} characters, more than {MAX_QUESTION:,}; shorten it ({trimmed[:40]!r}…)"
        )
    return trimmed


class CitewellRetriever(BaseRetriever):
    """The papers of a library that bear on a question, for Citewell itself and for any LlamaIndex application.

    A paper's dense score is the cosine of its best chunk, its lexical score its BM25; each is scaled by min-max over
    the candidates of the question, and their mean is the score, in [0, 1]. Ties are broken by paper id.
    """

    def __init__(self, library: Library, *, k: int = 10, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.library = library
        self._k = k

    def search(self, question: str, *, k: int | None = None) -> list[Hit]:
        """The best ``k`` papers, best first. Raises QuestionError for a question that cannot be asked."""
        return self.search_many([question], k=k)[0]

    def search_many(self, questions: Sequence[str], *, k: int | None = None) -> list[list[Hit]]:
        """As ``search`` for many questions, embedded and looked up together: one list of hits a question."""
        asked = [check_question(q) for q in questions]
        if not asked:
            return []
        snapshot = self.library.snapshot()
        vectors = self.library.embedder.remember(asked)
        position = {paper_id: i for i, paper_id in enumerate(snapshot.words.paper_ids)}
        ranked = []
        for question, near in zip(asked, snapshot.vectors.nearest(vectors, _DEPTH), strict=True):
            dense: dict[str, float] = {}
            for chunk_id, cosine in near:
                paper_id = snapshot.paper_of_chunk.get(chunk_id)
                if paper_id is not None and cosine > dense.get(paper_id, -2.0):
                    dense[paper_id] = cosine
            scores = snapshot.words.scores(terms(question))
            lexical = {snapshot.words.paper_ids[i]: float(scores[i]) for i in _best(scores, _DEPTH)}
            lexical.update({i: float(scores[position[i]]) for i in dense if i in position})
            ranked.append((fuse(dense, lexical)[: k or self._k], dense, lexical))
        papers = self._papers([i for order, *_ in ranked for i, _ in order])
        return [
            [
                Hit(rank, papers[i], score, dense.get(i, 0.0), lexical.get(i, 0.0))
                for rank, (i, score) in enumerate(((i, s) for i, s in order if i in papers), 1)
            ]
            for order, dense, lexical in ranked
        ]

    def _papers(self, paper_ids: list[str]) -> dict[str, Paper]:
        return {p.paper_id: p for p in self.library.papers(list(dict.fromkeys(paper_ids)))}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [node_of(hit) for hit in self.search(query_bundle.query_str)]


def fuse(dense: dict[str, float], lexical: dict[str, float]) -> list[tuple[str, float]]:
    """Paper ids with their fused scores, best first: the mean of both legs, each min-max scaled over its candidates.

    Where one leg tells the candidates apart not at all (no word in common, say), the other decides alone.
    """
    spread_dense, spread_lexical = _min_max(dense), _min_max(lexical)
    weight = _DENSE_WEIGHT if spread_lexical and spread_dense else 1.0 if spread_dense else 0.0
    fused = {
        i: weight * spread_dense.get(i, 0.0) + (1.0 - weight) * spread_lexical.get(i, 0.0)
        for i in dense.keys() | lexical.keys()
    }
    return sorted(fused.items(), key=lambda item: (-item[1], item[0]))


def node_of(hit: Hit) -> NodeWithScore:
    """A hit as LlamaIndex's node: the whole abstract, with what is known of the paper as metadata."""
    paper = hit.paper
    node = TextNode(
        id_=paper.paper_id,
        text=paper.abstract,
        metadata={
            "label": paper.label,
            "title": paper.title,
            "authors": list(paper.authors),
            "venue": paper.venue,
            "year": paper.year,
            "sources": [f"{s.file}#{s.row}" for s in paper.sources],
        },
    )
    return NodeWithScore(node=node, score=hit.score)


def _min_max(scores: dict[str, float]) -> dict[str, float]:
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {i: (s - low) / (high - low) for i, s in scores.items()} if high > low else {}


def _best(scores: NDArray[np.float32], k: int) -> list[int]:
    """Positions of the ``k`` highest scores above 0, in any order."""
    if len(scores) > k:
        top = np.argpartition(scores, len(scores) - k)[len(scores) - k :]
    else:
        top = np.arange(len(scores))
    return [int(i) for i in top if scores[i] > 0]
