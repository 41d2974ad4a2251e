"""Papers to chunks: whole sentences, within the embedder's window, with exact offsets.

A chunk's vector is that of ``embedded_text``: the title, where there is one, before the chunk, so that a passage
deep in an abstract is still known to be about its paper. Of a title that would take more than half of the window only
the beginning counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from rag.records import Chunk, Paper
from rag.sentences import sentence_spans

VERSION = "4"
"""Changes whenever the chunks of some text would: an index made by another version is built anew."""

CountTokens = Callable[[Sequence[str]], list[int]]
Offsets = Callable[[str], list[tuple[int, int]]]


def embedded_text(chunk: Chunk) -> str:
    """What is embedded for ``chunk``; it fits the window."""
    return f"{chunk.head}\n{chunk.text}" if chunk.head else chunk.text


def chunk_papers(
    papers: Iterable[Paper], *, window: int, count_tokens: CountTokens, token_offsets: Offsets, batch: int = 256
) -> Iterator[Chunk]:
    """The chunks of all ``papers``, paper by paper, in order of their text.

    An abstract is cut into the fewest chunks that fit ``window`` tokens each, as even as the sentences allow; a
    sentence longer than the window is cut between words. Every character that is not white space is in a chunk.
    """
    group: list[Paper] = []
    for paper in papers:
        group.append(paper)
        if len(group) == batch:
            yield from _chunk_group(group, window, count_tokens, token_offsets)
            group = []
    yield from _chunk_group(group, window, count_tokens, token_offsets)


def _chunk_group(
    papers: Sequence[Paper], window: int, count_tokens: CountTokens, token_offsets: Offsets
) -> Iterator[Chunk]:
    spans = [sentence_spans(p.abstract) for p in papers]
    texts = [p.abstract[a:b] for p, paper_spans in zip(papers, spans, strict=True) for a, b in paper_spans]
    titles = [p.title for p in papers]
    counts = iter(count_tokens(texts)) if texts else iter(())
    title_counts = count_tokens(titles) if titles else []
    for paper, paper_spans, title_count in zip(papers, spans, title_counts, strict=True):
        head, room, most = paper.title, window - title_count, window - window // 2
        if title_count > most:
            start, end, count = next(_cut(head, token_offsets(head), most))
            head, room = head[start:end], window - count
        pieces: list[tuple[int, int, int]] = []
        for a, b in paper_spans:
            count = next(counts)
            if count <= room:
                pieces.append((a, b, count))
                continue
            sentence = paper.abstract[a:b]
            pieces += [(a + start, a + end, n) for start, end, n in _cut(sentence, token_offsets(sentence), room)]
        for start, end in _even(pieces, room):
            text = paper.abstract[start:end]
            key = "\x1f".join((paper.paper_id, paper.title, str(start), text))
            yield Chunk(hashlib.sha256(key.encode()).hexdigest()[:20], paper.paper_id, start, end, text, head)


def _cut(sentence: str, offsets: Sequence[tuple[int, int]], room: int) -> Iterator[tuple[int, int, int]]:
    """Start, end and tokens of pieces of ``sentence`` of at most ``room`` tokens, which leave no visible character out.

    They begin at a word where one begins in the second half of the room: of a word that is cut in two, the second part
    alone may be more tokens than it was.
    """
    at = 0
    while at < len(offsets):
        to = len(offsets)
        if to - at > room:
            to = at + room
            late = range(to, at + room // 2, -1)
            before = {i: sentence[max(0, offsets[i][0] - 1) : offsets[i][0] + 1] for i in late}
            blank = (i for i in late if before[i][:1].isspace())
            sign = (i for i in late if not before[i].isalnum())
            to = next(blank, next(sign, to))
        start = offsets[at][0] if at else 0
        end = offsets[to][0] if to < len(offsets) else len(sentence)
        if piece := sentence[start:end].rstrip():
            yield start, start + len(piece), to - at
        at = to


def _even(pieces: Sequence[tuple[int, int, int]], room: int) -> list[tuple[int, int]]:
    """Spans of runs of ``pieces`` of at most ``room`` tokens each: fewest runs, then the smallest largest one."""
    if not pieces:
        return []
    runs = _fill(pieces, room)
    low, high = max(count for *_, count in pieces), room
    while low < high:
        middle = (low + high) // 2
        if len(_fill(pieces, middle)) > len(runs):
            low = middle + 1
        else:
            high = middle
    return _fill(pieces, high)


def _fill(pieces: Sequence[tuple[int, int, int]], room: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    used = room + 1
    for start, end, count in pieces:
        if used + count > room:
            spans.append((start, end))
            used = count
        else:
            spans[-1] = (spans[-1][0], end)
            used += count
    return spans
