from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from rag.chunk import chunk_papers, embedded_text
from rag.embed import Embedder
from rag.library import Library
from rag.records import Chunk, Paper
from rag.sentences import sentence_spans


def count(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def offsets(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def chunks(*papers: Paper, window: int = 8, batch: int = 256) -> list[Chunk]:
    return list(chunk_papers(papers, window=window, count_tokens=count, token_offsets=offsets, batch=batch))


def paper(abstract: str, paper_id: str = "p", title: str = "") -> Paper:
    return Paper(paper_id, "label", abstract, title=title)


def test_an_abstract_that_fits_is_one_chunk() -> None:
    (only,) = chunks(paper("  One two three. Four five. "))
    assert (only.paper_id, only.start, only.end, only.text) == ("p", 2, 27, "One two three. Four five.")
    assert re.fullmatch("[0-9a-f]{20}", only.chunk_id)


def test_chunks_are_as_few_and_as_even_as_the_sentences_allow() -> None:
    text = "A b c. D e f. G h i. J k l."
    assert [c.text for c in chunks(paper(text))] == ["A b c. D e f.", "G h i. J k l."]
    assert [c.text for c in chunks(paper(text), window=11)] == ["A b c. D e f.", "G h i. J k l."]
    assert [c.text for c in chunks(paper(text), window=12)] == [text]
    assert [c.text for c in chunks(paper(text), window=5)] == ["A b c.", "D e f.", "G h i.", "J k l."]


def test_a_sentence_longer_than_the_window_is_cut_between_words() -> None:
    words = [f"W{i}" for i in range(20)]
    assert [c.text for c in chunks(paper(f"Four words stand here. {' '.join(words)}. End."))] == [
        "Four words stand here.",
        " ".join(words[:8]),
        " ".join(words[8:16]),
        " ".join(words[16:]) + ". End.",
    ]


def test_a_word_of_many_tokens_is_not_cut_where_another_begins_nearby() -> None:
    letters = {"count_tokens": lambda texts: [len(t.replace(" ", "")) for t in texts]}
    by_letter = {**letters, "token_offsets": lambda t: [(i, i + 1) for i, x in enumerate(t) if x != " "]}
    found = chunk_papers([paper("abcd efgh ijkl")], window=6, **by_letter)
    assert [c.text for c in found] == ["abcd", "efgh", "ijkl"]
    found = chunk_papers([paper("abcd e-fgh ijk")], window=6, **by_letter)
    assert [c.text for c in found] == ["abcd", "e-fgh", "ijk"]
    found = chunk_papers([paper("abcd-efgh-ijklmnopqr")], window=6, **by_letter)
    assert [c.text for c in found] == ["abcd-", "efgh-", "ijklmn", "opqr"]


def test_characters_the_tokenizer_drops_are_kept() -> None:
    dropping = {"count_tokens": count, "token_offsets": lambda t: [m.span() for m in re.finditer("[a-z]", t)]}
    found = chunk_papers([paper("^a ^b ^c ^d ^")], window=2, **dropping)
    assert [c.text for c in found] == ["^a ^b ^", "c ^d ^"]


def test_the_title_is_embedded_with_every_chunk_and_takes_its_room() -> None:
    titled = paper("A b c. D e f.", title="On the b")
    found = chunks(titled)
    assert [embedded_text(c) for c in found] == ["On the b\nA b c.", "On the b\nD e f."]
    assert [c.text for c in found] == ["A b c.", "D e f."]


def test_of_a_long_title_the_beginning_is_embedded_so_that_all_fits(embedder: Embedder) -> None:
    titled = paper("A b c. D e f.", title="One two three four five six")
    assert [embedded_text(c) for c in chunks(titled)] == ["One two three four\nA b c.", "One two three four\nD e f."]
    letters = paper("We show it. " * 300, title="Ends of antidisestablishmentarianism " * 60)
    options = {"count_tokens": embedder.count_tokens, "token_offsets": embedder.token_offsets}
    found = list(chunk_papers([letters], window=embedder.window, **options))
    assert {c.head for c in found} == {found[0].head}
    assert 100 < embedder.count_tokens([found[0].head])[0] <= 127
    assert max(embedder.count_tokens([embedded_text(c) for c in found])) <= embedder.window


def test_ids_differ_by_paper_title_and_place_and_are_the_same_at_every_run() -> None:
    papers = [paper("A b. A b.", "p"), paper("A b. A b.", "q"), paper("A b. A b.", "p", title="T")]
    found = chunks(*papers, window=3)
    assert len({c.chunk_id for c in found}) == len(found) == 6
    assert chunks(*papers, window=3, batch=1) == found
    assert chunks(*reversed(papers), window=3) == [*found[4:], *found[2:4], *found[:2]]


def test_an_abstract_of_nothing_has_no_chunk() -> None:
    assert chunks(paper(" \n ")) == []
    assert chunks() == []


ABSTRACTS = st.lists(
    st.sampled_from(["word", "Word", "e.g.", "stop.", "Why?", "\n\n", "\t", "。", "$x. Y$", "3.5", "\u200b"]),
    max_size=90,
).map(" ".join)


@settings(max_examples=150)
@given(st.lists(ABSTRACTS, max_size=4), st.integers(2, 30), st.sampled_from(["", "A title", "T " * 12]))
def test_chunks_are_exact_ordered_within_the_window_and_lose_nothing(
    abstracts: list[str], window: int, title: str
) -> None:
    papers = [paper(abstract, f"p{i}", title) for i, abstract in enumerate(abstracts)]
    found = chunks(*papers, window=window)
    assert found == chunks(*papers, window=window, batch=1)
    assert [c.paper_id for c in found] == sorted(c.paper_id for c in found)
    room = max(window - count([title])[0], window // 2)
    assert all(length <= window for length in count([embedded_text(c) for c in found]))
    assert all(title.startswith(c.head) and bool(c.head) == bool(title) for c in found)
    for one in papers:
        own = [c for c in found if c.paper_id == one.paper_id]
        assert [c.text for c in own] == [one.abstract[c.start : c.end] for c in own]
        assert all(1 <= length <= room for length in count([c.text for c in own]))
        edges = [edge for c in own for edge in (c.start, c.end)]
        assert edges == sorted(edges)
        covered = {i for c in own for i in range(c.start, c.end)}
        assert [i for i, x in enumerate(one.abstract) if not x.isspace() and i not in covered] == []


@settings(max_examples=100)
@given(ABSTRACTS, st.integers(12, 40))
def test_chunks_end_where_sentences_end_when_every_sentence_fits(abstract: str, window: int) -> None:
    spans = sentence_spans(abstract)
    if all(length <= window for length in count([abstract[a:b] for a, b in spans])):
        found = chunks(paper(abstract), window=window)
        assert {c.start for c in found} <= {a for a, _ in spans}
        assert {c.end for c in found} <= {b for _, b in spans}


def test_a_monstrous_sentence_fits_the_real_model_piece_by_piece(embedder: Embedder) -> None:
    monster = paper("pneumonoultramicroscopic internationalization, " * 400 + "图检索" * 300 + " " + "x" * 5000)
    found = list(
        chunk_papers(
            [monster],
            window=embedder.window,
            count_tokens=embedder.count_tokens,
            token_offsets=embedder.token_offsets,
        )
    )
    assert max(embedder.count_tokens([c.text for c in found])) <= embedder.window == 254
    covered = {i for c in found for i in range(c.start, c.end)}
    assert [i for i, x in enumerate(monster.abstract) if not x.isspace() and i not in covered] == []


def test_no_word_of_the_seeds_is_beyond_the_models_window(seeds_library: Library, embedder: Embedder) -> None:
    papers = seeds_library.papers()
    found = list(
        chunk_papers(
            papers, window=embedder.window, count_tokens=embedder.count_tokens, token_offsets=embedder.token_offsets
        )
    )
    lengths = embedder.count_tokens([p.abstract for p in papers])
    assert sum(length > embedder.window for length in lengths) > 40  # or this would show nothing
    assert max(embedder.count_tokens([c.text for c in found])) <= embedder.window
    assert sum(embedder.count_tokens([c.text for c in found])) == sum(lengths)
    assert {c.chunk_id: c.paper_id for c in found} == seeds_library.snapshot().paper_of_chunk
