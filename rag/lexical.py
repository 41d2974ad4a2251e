"""BM25 over whole papers, title before abstract.

Lucene's BM25 with k1 1.5 and b 0.75, over ``rag.terms``: the settings whose figures on SciFact and Cranfield are
published, so that they can be checked. What is kept is how often each term is in each paper;
scores are made of that when they are asked for, so that a changed paper changes its own postings and no others.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag.errors import IndexStateError
from rag.records import Paper
from rag.terms import numbered_terms

VERSION = "3"
"""Changes whenever the terms of some text, or the files of an index, would."""

_K1, _B = 1.5, 0.75


@dataclass(frozen=True, slots=True)
class _Postings:
    """Term by term, the papers that hold it: of term i, entries ``starts[i]`` to ``starts[i + 1]`` of the others."""

    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    """The paper, by its place in ``paper_ids``; ascending within a term."""
    counts: NDArray[np.int32]
    """How often it holds the term."""


class LexicalIndex:
    """BM25 scores of all papers of a library for a question."""

    def __init__(
        self, paper_ids: Sequence[str], vocabulary: dict[str, int], postings: _Postings, lengths: NDArray[np.int32]
    ) -> None:
        self.paper_ids = tuple(paper_ids)
        self._vocabulary = vocabulary
        self._postings = postings
        self._lengths = lengths
        mean = max(float(lengths.mean()), 1e-9) if len(lengths) else 1.0
        self._norms = (_K1 * (1 - _B + _B * np.asarray(lengths) / mean)).astype(np.float32)

    @classmethod
    def build(cls, papers: Iterable[Paper]) -> LexicalIndex:
        """An index over ``papers``."""
        paper_ids, texts = [], []
        for paper in papers:
            paper_ids.append(paper.paper_id)
            texts.append(f"{paper.title} {paper.title} {paper.abstract}" if paper.title else paper.abstract)
        lists, vocabulary = numbered_terms(texts)
        ids = np.fromiter(itertools.chain.from_iterable(lists), np.int64)
        rows = np.repeat(np.arange(len(lists), dtype=np.int64), [len(row) for row in lists])
        if (nothing := vocabulary.get("")) is not None:  # stands for a text without a term
            ids, rows = ids[ids != nothing], rows[ids != nothing]
        keys, counts = np.unique(ids * max(1, len(lists)) + rows, return_counts=True)
        found, held = np.divmod(keys, max(1, len(lists)))
        postings = _Postings(
            _starts(found, max(vocabulary.values(), default=-1) + 1), held.astype(np.int32), _int(counts)
        )
        return cls(paper_ids, vocabulary, postings, _int(np.bincount(rows, minlength=len(lists))))

    def updated(self, *, without: Collection[str], papers: Iterable[Paper]) -> LexicalIndex:
        """This index without the papers of the ids ``without``, and with ``papers``; scores are those of a new one."""
        added = LexicalIndex.build(papers)
        size = len(self._postings.starts) - 1
        kept = np.array([i not in without for i in self.paper_ids], bool)
        held = kept[self._postings.rows]
        old = np.repeat(np.arange(size, dtype=np.int32), np.diff(self._postings.starts))[held]
        vocabulary = dict(self._vocabulary)
        for term in added._vocabulary:
            vocabulary.setdefault(term, len(vocabulary))
        numbers = np.empty(len(added._postings.starts) - 1, np.int64)
        for term, number in added._vocabulary.items():
            numbers[number] = vocabulary[term]
        new = numbers[np.repeat(np.arange(len(numbers)), np.diff(added._postings.starts))]
        order = np.argsort(new, kind="stable")
        new = new[order]
        at = np.searchsorted(old, new, side="right")  # after the old papers of the term: rows stay ascending
        rows = (np.cumsum(kept) - 1).astype(np.int32)[self._postings.rows[held]]
        more = added._postings.rows[order] + np.int32(kept.sum())
        postings = _Postings(
            _starts(np.insert(old, at, new), len(vocabulary)),
            np.insert(rows, at, more),
            np.insert(self._postings.counts[held], at, added._postings.counts[order]),
        )
        paper_ids = [*itertools.compress(self.paper_ids, kept), *added.paper_ids]
        return LexicalIndex(paper_ids, vocabulary, postings, np.concatenate([self._lengths[kept], added._lengths]))

    def save(self, folder: Path) -> None:
        """Writes the index to ``folder``, whole or not at all."""
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        for name, values in self._arrays().items():
            np.save(partial / f"{name}.npy", values)
        for name, texts in (("paper_ids", self.paper_ids), ("vocabulary", self._vocabulary)):
            (partial / f"{name}.json").write_text(json.dumps(texts), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)

    def _arrays(self) -> dict[str, NDArray[np.int32] | NDArray[np.int64]]:
        found = self._postings
        return {"starts": found.starts, "rows": found.rows, "counts": found.counts, "lengths": self._lengths}

    @classmethod
    def load(cls, folder: Path) -> LexicalIndex:
        """The index in ``folder``, its postings mapped, not read. Raises IndexStateError where it is damaged."""
        try:
            starts, rows, counts, lengths = (
                np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("starts", "rows", "counts", "lengths")
            )
            paper_ids, vocabulary = (
                json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
                for name in ("paper_ids", "vocabulary")
            )
            if len(paper_ids) != len(lengths) or len(rows) != len(counts):
                raise ValueError("its parts do not belong together")
            return cls(paper_ids, vocabulary, _Postings(starts, rows, counts), lengths)
        except (OSError, EOFError, ValueError, KeyError) as error:
            raise IndexStateError(
                f"the word index {folder} cannot be read ({error}); 'citewell index --rebuild' makes it anew"
            ) from error

    def scores(self, query_terms: Sequence[str]) -> NDArray[np.float32]:
        """BM25 of every paper, in the order of ``paper_ids``: (n,) float32, 0 where no term occurs."""
        found = np.zeros(len(self.paper_ids), dtype=np.float32)
        for term, times in Counter(query_terms).items():
            part = self._part(term)
            rows, counts = self._postings.rows[part], self._postings.counts[part].astype(np.float32)
            found[rows] += np.float32(times * self.idf(term)) * counts / (counts + self._norms[rows])
        return found

    def idf(self, term: str) -> float:
        """Inverse document frequency of ``term``, Lucene's: ln(1 + (N - df + 0.5) / (df + 0.5)); above 0."""
        part = self._part(term)
        frequency = part.stop - part.start
        return float(np.log1p((len(self.paper_ids) - frequency + 0.5) / (frequency + 0.5)))

    def _part(self, term: str) -> slice:
        """The postings of ``term``."""
        index = self._vocabulary.get(term)
        return slice(0, 0) if index is None else slice(*self._postings.starts[index : index + 2].tolist())


def _starts(ordered: NDArray[np.integer], terms: int) -> NDArray[np.int64]:
    """Where each of ``terms`` terms begins among the term numbers ``ordered``, and where the last one ends."""
    return np.searchsorted(ordered, np.arange(terms + 1)).astype(np.int64)


def _int(values: NDArray[np.integer]) -> NDArray[np.int32]:
    return values.astype(np.int32)
