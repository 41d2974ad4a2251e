"""Finding papers: a dense and a lexical score for every candidate, fused, one hit a paper, in a total order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from numpy.typing import NDArray

from rag import rerank
from rag.embed import Vectors
from rag.errors import QuestionError
from rag.figures import FIELD_NAMES
from rag.filters import EVERYTHING, Filter
from rag.fold import plain
from rag.late import even_weights, telling_weights
from rag.library import Library, Snapshot
from rag.records import Hit, Paper
from rag.terms import terms
from rag.within import Within

MAX_QUESTION = 4000
"""Characters of a question; a longer one is refused, not cut."""
DEPTH = 200
"""Chunks looked at for a question, and papers by their words; enough for recall at 100."""
LEXICAL_WEIGHT = 0.8
"""Weight of the lexical leg beside 1 for the dense one, chosen on SciFact's training claims and the seeds' questions."""
LEXICAL_WEIGHT_ALONE = 1.5
"""The same where the library has no token vectors; chosen on the one-line summaries of half the papers that have one."""
LATE_WEIGHT = 2.5
"""Weight of late interaction, whose scores lie closer together; chosen likewise."""
LATE_DEPTH = 100
"""Papers whose tokens are compared with the question's."""
LATE_FLOOR = 0.25
"""Late interaction of a question and a passage that has nothing to do with it; counts as nothing."""
_TOGETHER = 256
"""Questions of a batch that are looked up together: what they ask for is held in memory meanwhile."""
_SOURCES = 3
"""Papers that spread over the graph of passages."""
_GRAPH_WEIGHT = 0.2
"""Weight of what reaches a paper over the graph, of the best paper's own score."""
_ONE_OF = (FilterOperator.EQ, FilterOperator.IN, FilterOperator.ANY, FilterOperator.CONTAINS, FilterOperator.TEXT_MATCH)
_NAMED = 60
_NAME_BONUS = 0.03
_NAME = re.compile(r"\w[\w\-+.]*\w")


def check_question(question: str) -> str:
    """The question, trimmed. Raises QuestionError where it is empty or longer than MAX_QUESTION characters."""
    trimmed = question.encode("utf-8", "replace").decode().strip()  # half a surrogate pair, as a broken argument holds
    if not trimmed:
        raise QuestionError("the question is empty; ask something about the papers")
    if len(trimmed) > MAX_QUESTION:
        raise QuestionError(
            f"the question has {len(trimmed):,} characters, more than {MAX_QUESTION:,}; shorten it ({trimmed[:40]!r}…)"
        )
    return trimmed


@dataclass(frozen=True, slots=True)
class Legs:
    """What each leg says of the candidates of a question, by paper id; a leg may have no score for a paper."""

    dense: dict[str, float]
    """Cosine of the question and the paper's best chunk."""
    lexical: dict[str, float]
    """BM25 over the most that the question could have, in [0, 1]."""
    late: dict[str, float]
    """Late interaction with the paper's best chunk, a mean cosine."""


class CitewellRetriever(BaseRetriever):
    """The papers of a library that bear on a question, for Citewell itself and for any LlamaIndex application.

    A paper's dense score is the cosine of its best chunk, so that evidence late in an abstract loses nothing; its
    lexical score is its BM25 over the sum of the question's inverse document frequencies, which no BM25 exceeds. The
    best papers by both are then compared with the question token by token (``rag.late``). All three are absolute, so a
    question that shares no word with the library is left to the other two, and the fused score says something about
    how well the best paper fits. Ties are broken by paper id.
    """

    def __init__(
        self,
        library: Library,
        *,
        k: int = 10,
        where: Filter | None = None,
        filters: MetadataFilters | None = None,
        graph: bool = False,
        **kwargs: Any,
    ) -> None:
        """``where`` is the filter of searches that bring none of their own; ``filters`` says it in LlamaIndex's way.
        ``graph`` lets the hits spread over the graph of passages; see ``rag.graph``.

        Raises QuestionError for ``filters`` that ask for what a ``Filter`` does not know.
        """
        super().__init__(**kwargs)
        self.library = library
        self.where = where or (filter_of(filters) if filters else EVERYTHING)
        self._k = k
        self._graph = graph

    def search(self, question: str, *, k: int | None = None, where: Filter | None = None) -> list[Hit]:
        """The best ``k`` papers that ``where`` lets through, best first; fewer only where no more fit.

        Raises QuestionError for a question that cannot be asked.
        """
        return self.search_many([question], k=k, where=where)[0]

    def search_many(
        self, questions: Sequence[str], *, k: int | None = None, where: Filter | None = None
    ) -> list[list[Hit]]:
        """As ``search`` for many questions, embedded and looked up together: one list of hits a question."""
        asked = [check_question(q) for q in questions]
        snapshot = self.library.snapshot()
        within = self.library.within(self.where if where is None else where, snapshot)
        wanted = k or self._k
        found = []
        spelt: dict[str, set[str]] = {}
        for at in range(0, len(asked), _TOGETHER):
            group = asked[at : at + _TOGETHER]
            for question, legs in zip(group, self._legs(snapshot, group, wanted, within), strict=True):
                order = self._with_names(question, fuse(legs.dense, legs.lexical, legs.late), spelt)
                if self._graph:
                    order = self._spread(snapshot, order, within)
                found.append((self._reranked(question, order)[:wanted], legs))
        papers = self._papers([i for order, _ in found for i, _ in order])
        return [
            [
                Hit(rank, papers[i], score, *(leg.get(i, 0.0) for leg in (legs.dense, legs.lexical, legs.late)))
                for rank, (i, score) in enumerate(((i, s) for i, s in order if i in papers), 1)
            ]
            for order, legs in found
        ]

    def legs(self, questions: Sequence[str]) -> list[Legs]:
        """What each leg says of the candidates of each question, before they are fused."""
        snapshot = self.library.snapshot()
        within = self.library.within(self.where, snapshot)
        return self._legs(snapshot, [check_question(q) for q in questions], self._k, within)

    def _legs(self, snapshot: Snapshot, asked: Sequence[str], wanted: int, within: Within | None) -> list[Legs]:
        if not asked:
            return []
        vectors, tokens = self.library.embedder.questions(asked)
        depth = max(DEPTH, 2 * wanted)
        if within is None:
            found = snapshot.vectors.nearest(vectors, depth)
        else:
            found = within.nearest(snapshot, vectors, depth, min(wanted, len(within)))
        both: list[tuple[dict[str, float], dict[str, float]]] = []
        for question, near in zip(asked, found, strict=True):
            dense: dict[str, float] = {}
            for chunk_id, cosine in near:
                paper_id = snapshot.paper_of_chunk.get(chunk_id)
                if paper_id is not None and cosine > dense.get(paper_id, -2.0):
                    dense[paper_id] = cosine
            both.append((dense, _lexical(snapshot, terms(question), dense.keys(), depth, within)))
        unseen = [[i for i in lexical if i not in dense] for dense, lexical in both]
        for (dense, _), more in zip(both, _dense(snapshot, vectors, unseen), strict=True):
            dense.update(more)
        first = [[i for i, _ in fuse(dense, lexical)[:LATE_DEPTH]] for dense, lexical in both]
        late = _late(
            snapshot, tokens, first, [self._weights(snapshot, q, len(t)) for q, t in zip(asked, tokens, strict=True)]
        )
        return [Legs(dense, lexical, found) for (dense, lexical), found in zip(both, late, strict=True)]

    def _weights(self, snapshot: Snapshot, question: str, tokens: int) -> Vectors:
        """What each of the question's ``tokens`` tokens counts in late interaction: (tokens,), sum 1."""
        if not tokens:
            return even_weights(0)
        words = self.library.embedder.token_words(question, tokens)
        rarity = {w: max(map(snapshot.words.idf, terms(w)), default=0.0) for w in set(words) if w}
        return telling_weights([rarity.get(w, 0.0) for w in words])

    def _with_names(
        self, question: str, order: list[tuple[str, float]], spelt: dict[str, set[str]]
    ) -> list[tuple[str, float]]:
        """The order after a bonus for papers that hold the names the question spells ("RISE" is not "rise").

        A name counts where at most a fifth of the candidates hold it; the others tell nothing. ``spelt`` keeps the names of
        the papers that were looked at, for the next question.
        """
        asked = _names(question)
        if not asked:
            return order
        head = order[:_NAMED]
        for i, p in self._papers([i for i, _ in head if i not in spelt]).items():
            spelt[i] = _names(f"{p.label} {p.title} {plain(p.abstract)}")
        held = {i: asked & spelt.get(i, set()) for i, _ in head}
        rare = {n for n in asked if 0 < sum(n in h for h in held.values()) <= max(1, len(head) // 5)}
        if not rare:
            return order
        lifted = [(i, min(1.0, s + _NAME_BONUS * len(held.get(i, set()) & rare) / len(rare))) for i, s in head]
        return sorted(lifted, key=lambda item: (-item[1], item[0])) + order[_NAMED:]

    def _spread(
        self, snapshot: Snapshot, order: list[tuple[str, float]], within: Within | None
    ) -> list[tuple[str, float]]:
        """The order after the first papers spread over the graph of passages: what reaches a paper counts beside what it
        scored itself. Papers that were not found by themselves may come in."""
        sources = {c: s for i, s in order[:_SOURCES] for c in snapshot.chunks_of_paper[i]}
        reached: dict[str, float] = {}
        for chunk_id, share in self.library.graph(snapshot).spread(sources).items():
            paper_id = snapshot.paper_of_chunk.get(chunk_id)
            if paper_id is not None and (within is None or paper_id in within.paper_ids):
                reached[paper_id] = max(reached.get(paper_id, 0.0), share)
        top = order[0][1] if order else 0.0
        own = dict(order)
        mixed = {
            i: (1 - _GRAPH_WEIGHT) * own.get(i, 0.0) + _GRAPH_WEIGHT * top * reached.get(i, 0.0)
            for i in own.keys() | reached.keys()
        }
        return sorted(mixed.items(), key=lambda item: (-item[1], item[0]))

    def _reranked(self, question: str, order: list[tuple[str, float]]) -> list[tuple[str, float]]:
        """The order after the cross-encoder, if there is one, has read the first papers with the question.

        The scores are dealt out anew among those papers, so that they go on telling how well the best one fits.
        """
        if self.library.reranker is None or len(order) < 2:
            return order
        head = [(i, s) for i, s in order[: rerank.DEPTH]]
        papers = self._papers([i for i, _ in head])
        known = [i for i, _ in head if i in papers]
        texts = [f"{papers[i].title}\n{papers[i].abstract}".strip() for i in known]
        scores = dict(zip(known, self.library.reranker.scores(question, texts).tolist(), strict=True))
        best = sorted(known, key=lambda i: (-scores[i], i))
        return [*zip(best, (s for i, s in head if i in papers), strict=True), *order[rerank.DEPTH :]]

    def _papers(self, paper_ids: list[str]) -> dict[str, Paper]:
        return {p.paper_id: p for p in self.library.papers(list(dict.fromkeys(paper_ids)))}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [node_of(hit) for hit in self.search(query_bundle.query_str)]


def filter_of(filters: MetadataFilters) -> Filter:
    """LlamaIndex's filters as a ``Filter``: on year (==, >, >=, <, <=), and on venue, authors, keywords and file.

    Raises QuestionError for another key or operator, or a condition other than "and".
    """
    if filters.condition not in (FilterCondition.AND, None):
        raise QuestionError(f"filters joined by {filters.condition} are not known; join them by 'and'")
    first: list[int] = []
    last: list[int] = []
    lists: dict[str, tuple[str, ...]] = {}
    for item in filters.filters:
        if not isinstance(item, MetadataFilter):
            raise QuestionError("filters inside filters are not known; give one list, joined by 'and'")
        kind = {"authors": "author", "keywords": "keyword"}.get(item.key, item.key)
        bounds = {
            FilterOperator.EQ: (0, 0),
            FilterOperator.GTE: (0, None),
            FilterOperator.GT: (1, None),
            FilterOperator.LTE: (None, 0),
            FilterOperator.LT: (None, -1),
        }
        many = item.value if isinstance(item.value, list) else [item.value]
        if kind == "year" and item.operator in bounds and isinstance(item.value, int):
            above, below = bounds[item.operator]
            first += [] if above is None else [item.value + above]
            last += [] if below is None else [item.value + below]
        elif kind in ("venue", "author", "keyword", "file") and kind not in lists and item.operator in _ONE_OF:
            lists[kind] = tuple(map(str, many))
        else:
            raise QuestionError(
                f"the filter {item.key} {item.operator.value} {item.value!r} is not known; filter on year by ==, >=, <=, "
                "and once each on venue, authors, keywords and file by == or in"
            )
    venue, author, keyword, file = (lists.get(kind, ()) for kind in ("venue", "author", "keyword", "file"))
    found = Filter.parse(venue=venue, author=author, keyword=keyword, file=file)
    return replace(found, first=max(first, default=None), last=min(last, default=None))


def fuse(
    dense: Mapping[str, float], lexical: Mapping[str, float], late: Mapping[str, float] | None = None
) -> list[tuple[str, float]]:
    """Paper ids with their fused scores in [0, 1], best first; ties by id. A missing score counts as 0.

    ``late`` is None before late interaction, and empty where the library has no token vectors to compare.
    """
    weight = LATE_WEIGHT if late else 0.0
    words = LEXICAL_WEIGHT_ALONE if late is not None and not late else LEXICAL_WEIGHT
    whole = 1.0 + words + weight * (1.0 - LATE_FLOOR)

    def score(i: str) -> float:
        fit = max(0.0, late.get(i, 0.0) - LATE_FLOOR) if late else 0.0
        return (dense.get(i, 0.0) + words * lexical.get(i, 0.0) + weight * fit) / whole

    fused = {i: max(0.0, min(1.0, score(i))) for i in dense.keys() | lexical.keys()}
    return sorted(fused.items(), key=lambda item: (-item[1], item[0]))


def _names(text: str) -> set[str]:
    """The words of ``text`` with a capital or a digit after their first letter, as they are spelt: "RISE", "4DGS"."""
    words = {w for w in _NAME.findall(unicodedata.normalize("NFKC", text)) if not (w[1:].islower() and w[1:].isalpha())}
    spelt = {w for w in words if any(c.isupper() or c.isdigit() for c in w[1:]) and any(c.isalpha() for c in w)}
    return {w for w in spelt if w.lower().removesuffix("s") not in FIELD_NAMES}


def _lexical(
    snapshot: Snapshot, query_terms: list[str], also: Iterable[str], depth: int, within: Within | None
) -> dict[str, float]:
    """Lexical scores in [0, 1] of the ``depth`` best papers ``within`` by their words, and of the papers ``also``."""
    bound = sum(snapshot.words.idf(t) for t in query_terms)
    if not bound:
        return {}
    scores = snapshot.words.scores(query_terms) / bound
    wanted = {
        *_best(scores if within is None else scores * within.held, depth),
        *(snapshot.position[i] for i in also if i in snapshot.position),
    }
    return {snapshot.words.paper_ids[i]: float(scores[i]) for i in wanted}


def _late(
    snapshot: Snapshot,
    questions: Sequence[Vectors],
    paper_ids: Sequence[Sequence[str]],
    weights: Sequence[Vectors],
) -> list[dict[str, float]]:
    """Late interaction of each question, (q, d) of its tokens, and the best chunk of each of its papers; none where the
    library has no token vectors."""
    owners = [{c: i for i in papers for c in snapshot.chunks_of_paper.get(i, ())} for papers in paper_ids]
    found: list[dict[str, float]] = []
    every = snapshot.embeddings.scores_many(questions, [list(o) for o in owners], weights)
    for owner, scores in zip(owners, every, strict=True):
        best: dict[str, float] = {}
        for chunk_id, score in scores.items():
            best[owner[chunk_id]] = max(best.get(owner[chunk_id], -1.0), score)
        found.append(best)
    return found


def _dense(snapshot: Snapshot, vectors: Vectors, paper_ids: Sequence[Sequence[str]]) -> list[dict[str, float]]:
    """Of each question, a row of ``vectors`` (q, d), the dense scores of its papers, which the vector index did not bring up
    among its nearest. A chunk's vector is read once for all questions."""
    chunk_ids = list(
        dict.fromkeys(c for papers in paper_ids for i in papers for c in snapshot.chunks_of_paper.get(i, ()))
    )
    place = {c: row for row, c in enumerate(chunk_ids)}
    rows = snapshot.embeddings.vectors(chunk_ids)
    found: list[dict[str, float]] = []
    for vector, papers in zip(vectors, paper_ids, strict=True):
        own = [(i, place[c]) for i in papers for c in snapshot.chunks_of_paper.get(i, ())]
        best: dict[str, float] = {}
        for (paper_id, _), cosine in zip(
            own, (rows[[row for _, row in own]] @ vector).tolist() if own else (), strict=True
        ):
            best[paper_id] = max(best.get(paper_id, -1.0), cosine)
        found.append(best)
    return found


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
            "keywords": list(paper.keywords),
            "sources": [str(s) for s in paper.sources],
        },
    )
    return NodeWithScore(node=node, score=hit.score)


def _best(scores: NDArray[np.float32], k: int) -> list[int]:
    """Positions of the ``k`` highest scores above 0, in any order."""
    most = len(scores) - k
    top = np.argpartition(scores, most)[most:] if most > 0 else np.arange(len(scores))
    return [int(i) for i in top if scores[i] > 0]
