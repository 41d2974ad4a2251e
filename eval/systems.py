"""The systems that are measured over a collection: Citewell's retriever, and the two references of the literature."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eval.collections import Collection, Document
from eval.measures import ranking
from rag import chunk, lexical
from rag.catalogue import Catalogue
from rag.chunk import chunk_papers
from rag.embed import Embedder, Vectors
from rag.embeddings import Embeddings, embed
from rag.lexical import LexicalIndex
from rag.library import Library
from rag.mend import mended
from rag.records import Paper, Source
from rag.rerank import Reranker
from rag.retrieve import CitewellRetriever
from rag.sync import CATALOGUE, VECTORS, embeddings_of
from rag.terms import terms

DEPTH = 1000
"""Documents of a ranking that are kept."""
Run = dict[str, dict[str, float]]


def bm25(documents: Sequence[Document], queries: Mapping[str, str]) -> Run:
    """BM25 as published figures have it: Lucene's, k1 1.5, b 0.75, stems, no stop words, title before text, once."""
    index = LexicalIndex.build(Paper(d.id, "", _whole(d)) for d in documents)
    run: Run = {}
    for query, text in queries.items():
        scores = index.scores(terms(text))
        run[query] = {index.paper_ids[i]: float(scores[i]) for i in _first(scores) if scores[i] > 0}
    return run


def dense(embedder: Embedder, vectors: Vectors, documents: Sequence[Document], queries: Mapping[str, str]) -> Run:
    """Cosine of the query and the whole document, cut where the model's window ends; ``vectors`` are the documents'."""
    asked = embedder.encode(list(queries.values()))
    run: Run = {}
    for query, vector in zip(queries, asked, strict=True):
        scores = vectors @ vector
        run[query] = {documents[i].id: float(scores[i]) for i in _first(scores)}
    return run


def citewell(
    library: Library, queries: Mapping[str, str], *, k: int = DEPTH, batch: int = 100, graph: bool = False
) -> Run:
    """The retriever as it answers questions, or with ``graph`` spreading over the graph of passages too."""
    retriever = CitewellRetriever(library, graph=graph)
    ids = list(queries)
    run: Run = {}
    for at in range(0, len(ids), batch):
        part = ids[at : at + batch]
        for query, hits in zip(part, retriever.search_many([queries[i] for i in part], k=k), strict=True):
            run[query] = {hit.paper.paper_id: hit.score for hit in hits}
    return run


def words_alone(library: Library, queries: Mapping[str, str], *, k: int = DEPTH) -> Run:
    """The lexical leg of ``library`` by itself; papers that share no word with a query are not found."""
    words = library.snapshot().words
    run: Run = {}
    for query, text in queries.items():
        scores = words.scores(terms(text))
        run[query] = cut({words.paper_ids[i]: float(scores[i]) for i in _first(scores) if scores[i] > 0}, k)
    return run


def vectors_alone(library: Library, queries: Mapping[str, str], *, k: int = DEPTH) -> Run:
    """The dense leg of ``library`` by itself: the cosine of a paper's best passage."""
    snapshot = library.snapshot()
    asked = library.embedder.encode(list(queries.values()))
    run: Run = {}
    for query, near in zip(queries, snapshot.vectors.nearest(asked, 4 * k), strict=True):
        best: dict[str, float] = {}
        for chunk_id, cosine in near:
            paper = snapshot.paper_of_chunk.get(chunk_id)
            if paper is not None and cosine > best.get(paper, -2.0):
                best[paper] = float(cosine)
        run[query] = cut(best, k)
    return run


def cut(scores: Mapping[str, float], k: int) -> dict[str, float]:
    """The best ``k`` of ``scores``, in their total order. Raises CitewellError for a score that is no number."""
    return {i: scores[i] for i in ranking(scores)[:k]}


def document_vectors(embedder: Embedder, documents: Sequence[Document], folder: Path) -> Vectors:
    """Vectors of whole documents: (n, d) float32; kept in ``folder``, which must be of this corpus and embedder."""
    path = folder / "documents.npy"
    if path.is_file():
        kept: Vectors = np.load(path)
        if kept.shape == (len(documents), embedder.dimension):
            return kept
    tell = _told("documents")
    vectors = embedder.encode([_whole(d) for d in documents], on_batch=lambda done: tell(done, len(documents)))
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial.npy")
    np.save(partial, vectors)
    partial.replace(path)
    return vectors


def collection_folder(cache: Path, collection: Collection, embedder: Embedder) -> Path:
    """Where what is made of a collection with an embedder is kept between runs."""
    return _folder(cache, collection.name, [(d.id, d.title, d.text) for d in collection.documents], embedder)


def papers_folder(cache: Path, name: str, papers: Sequence[Paper], embedder: Embedder) -> Path:
    """As ``collection_folder``, for the papers of the library ``name``."""
    return _folder(cache, name, [(p.paper_id, p.title, p.abstract) for p in papers], embedder)


def collection_library(
    folder: Path, collection: Collection, embedder: Embedder, reranker: Reranker | None = None
) -> Library:
    """A library that holds each document as one paper under the document's id."""
    papers = [_paper(d, row) for row, d in enumerate(collection.documents, 1) if d.title or d.text.strip()]
    return paper_library(folder, papers, embedder, reranker)


def paper_library(
    folder: Path, papers: Sequence[Paper], embedder: Embedder, reranker: Reranker | None = None
) -> Library:
    """A library of ``papers``, embedded and indexed as Citewell does.

    Readers and duplicates are left out: a benchmark's documents must stay apart, whatever they share. Made once;
    a run that was stopped goes on where it was.
    """
    folder.mkdir(parents=True, exist_ok=True)
    catalogue = Catalogue(folder / CATALOGUE)
    if "lexical" not in catalogue.meta():
        _build(folder, catalogue, papers, embedder)
    catalogue.close()
    return Library(folder, embedder, reranker)


def _folder(cache: Path, name: str, texts: Iterable[tuple[str, str, str]], embedder: Embedder) -> Path:
    digest = hashlib.sha256()
    for part in (embedder.fingerprint, chunk.VERSION, lexical.VERSION, "embeddings"):
        digest.update(f"{part}\x1e".encode())
    for paper_id, title, text in texts:
        digest.update(f"{paper_id}\x1f{title}\x1f{text}\x1e".encode())
    return cache / "eval" / f"{name}-{digest.hexdigest()[:16]}"


def _build(folder: Path, catalogue: Catalogue, papers: Sequence[Paper], embedder: Embedder) -> None:
    chunks = list(
        chunk_papers(
            papers, window=embedder.window, count_tokens=embedder.count_tokens, token_offsets=embedder.token_offsets
        )
    )
    name = f"chunks-{embedder.fingerprint}-{chunk.VERSION}"
    with closing(Embeddings(embeddings_of(folder, name))) as kept:
        indexed = mended(folder / VECTORS, name, kept, catalogue)[1]
        embed(embedder, kept, indexed, chunks, on_progress=_told("passages"))
    words = f"words-{lexical.VERSION}"
    LexicalIndex.build(papers).save(folder / words)
    with catalogue.transaction():
        catalogue.write_papers(papers, remove=())
        catalogue.write_chunks(chunks, of=())
        catalogue.write_meta(
            {
                "embedder": embedder.fingerprint,
                "embedder_name": embedder.model_name,
                "chunker": chunk.VERSION,
                "words": lexical.VERSION,
                "collection": name,
                "lexical": words,
                "corpus": folder.name.rpartition("-")[2],
                "generation": "1",
                "duplicates": "0",
            }
        )


def _paper(document: Document, row: int) -> Paper:
    text = document.text if document.text.strip() else document.title
    label = document.title[:60] or document.id
    return Paper(document.id, label, text, title=document.title, sources=(Source("corpus.jsonl", row),))


def _whole(document: Document) -> str:
    return f"{document.title} {document.text}".strip()


def _first(scores: NDArray[np.float32]) -> list[int]:
    """Positions of the DEPTH highest scores, in any order."""
    if len(scores) <= DEPTH:
        return list(range(len(scores)))
    return [int(i) for i in np.argpartition(scores, len(scores) - DEPTH)[len(scores) - DEPTH :]]


def _told(what: str) -> Callable[[int, int], None]:
    """Tells on stderr, each thousand, how many of how many are embedded."""
    seen = 0

    def tell(done: int, total: int) -> None:
        nonlocal seen
        if done // 1000 > seen // 1000 or (done == total and total > 1000):
            print(f"embedding {what}: {done:,} of {total:,}", file=sys.stderr, flush=True)
        seen = done

    return tell
