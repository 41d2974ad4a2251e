"""BM25 over whole papers, title before abstract; the only importer of bm25s.

Lucene's BM25 with k1 1.5 and b 0.75, English stop words left out, Snowball stems: the settings whose figures on
SciFact and Cranfield are published, so that they can be checked.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import bm25s
import numpy as np
import Stemmer
from numpy.typing import NDArray

from rag.errors import IndexStateError
from rag.records import Paper

VERSION = "2"
"""Changes whenever the terms of some text would."""

_NO_TERM = "\x00"  # stands where no paper has a term; no question holds it
_stemmer = Stemmer.Stemmer("english")


def terms(text: str) -> list[str]:
    """The stems ``text`` is indexed under, in order, stop words left out."""
    found: list[str] = _tokenize([text])[0]
    return found


def _tokenize(texts: list[str]) -> list[list[str]]:
    tokens = bm25s.tokenize(texts, stopwords="en", stemmer=_stemmer, return_ids=False, show_progress=False)
    return [[t for t in row if t] for row in tokens]


class LexicalIndex:
    """BM25 scores of all papers of a library for a question."""

    def __init__(self, bm25: bm25s.BM25, paper_ids: Sequence[str]) -> None:
        self._bm25 = bm25
        self.paper_ids = tuple(paper_ids)
        indptr = np.asarray(bm25.scores["indptr"])
        self._document_frequency = np.diff(indptr)

    @classmethod
    def build(cls, papers: Iterable[Paper]) -> LexicalIndex:
        """An index over ``papers``; it must hold at least one."""
        paper_ids, texts = [], []
        for paper in papers:
            paper_ids.append(paper.paper_id)
            texts.append(f"{paper.title} {paper.title} {paper.abstract}" if paper.title else paper.abstract)
        tokens = bm25s.tokenize(texts, stopwords="en", stemmer=_stemmer, show_progress=False)
        if not any(tokens.ids):  # bm25s divides by the papers' mean length
            tokens = [[_NO_TERM]] * len(texts)
        bm25 = bm25s.BM25(k1=1.5, b=0.75)
        bm25.index(tokens, show_progress=False)
        return cls(bm25, paper_ids)

    def save(self, folder: Path) -> None:
        """Writes the index to ``folder``, whole or not at all."""
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        self._bm25.save(partial, show_progress=False)
        (partial / "paper_ids.json").write_text(json.dumps(self.paper_ids), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)

    @classmethod
    def load(cls, folder: Path) -> LexicalIndex:
        """The index in ``folder``, its postings mapped, not read. Raises IndexStateError where it is damaged."""
        try:
            paper_ids = json.loads((folder / "paper_ids.json").read_text(encoding="utf-8"))
            return cls(bm25s.BM25.load(folder, mmap=True, show_progress=False), paper_ids)
        except (OSError, EOFError, ValueError, KeyError) as error:
            raise IndexStateError(
                f"the word index {folder} cannot be read ({error}); 'citewell index --rebuild' makes it anew"
            ) from error

    def scores(self, query_terms: Sequence[str]) -> NDArray[np.float32]:
        """BM25 of every paper, in the order of ``paper_ids``: (n,) float32, 0 where no term occurs."""
        known = [t for t in query_terms if t in self._bm25.vocab_dict]
        if not known:
            return np.zeros(len(self.paper_ids), dtype=np.float32)
        return np.asarray(self._bm25.get_scores(known), dtype=np.float32)

    def idf(self, term: str) -> float:
        """Inverse document frequency of ``term``, Lucene's: ln(1 + (N - df + 0.5) / (df + 0.5)); above 0."""
        index = self._bm25.vocab_dict.get(term)
        frequency = 0 if index is None else int(self._document_frequency[index])
        return float(np.log1p((len(self.paper_ids) - frequency + 0.5) / (frequency + 0.5)))
