from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.embed import Embedder
from rag.late import maxsim, telling_weights


def test_maxsim_is_the_mean_of_each_question_tokens_best_cosine() -> None:
    question = np.array([[1, 0], [0, 1]], dtype=np.float32)
    passage = np.array([[0.6, 0.8], [1, 0]], dtype=np.float32)
    assert maxsim(question, passage) == pytest.approx((1.0 + 0.8) / 2)
    assert maxsim(question, passage[:0]) == 0.0
    assert maxsim(question[:0], passage) == 0.0


def test_one_clause_of_a_passage_is_found_by_its_tokens(embedder: Embedder) -> None:
    """The words of a question are the passage's, but for most of a long passage about something else."""
    clause = "Listeners heard no difference between both recordings."
    long = "Deep networks are trained by gradient descent on very large collections of images. " * 6 + clause
    other = "Deep networks are trained by gradient descent on very large collections of images. " * 7
    _, tokens = embedder.read([long, other])
    question = embedder.questions(["Could people tell the two sounds apart by ear?"])[1][0]
    assert maxsim(question, tokens[0]) > maxsim(question, tokens[1]) + 0.05


def test_one_pass_gives_the_same_vectors_as_encode_and_unit_rows_for_tokens(embedder: Embedder) -> None:
    texts = ["A short one.", "A rather longer text of several words, which is read in the same batch.", ""]
    vectors, tokens = embedder.read(texts)
    np.testing.assert_allclose(vectors, embedder.encode(texts), atol=2e-6)
    counts = embedder.count_tokens(texts)
    assert [len(rows) for rows in tokens] == [n + 2 for n in counts]  # and the two special ones
    for rows in tokens:
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


def test_a_rare_word_of_the_question_counts_more_than_a_common_one() -> None:
    weights = telling_weights([0.0, 4.0, 1.0, 1.0, 0.0])
    assert weights == pytest.approx([0.08, 0.38, 0.23, 0.23, 0.08])
    assert telling_weights([0.0, 0.0]) == pytest.approx([0.5, 0.5])


@given(rarities=st.lists(st.floats(0, 20), min_size=1, max_size=40))
def test_weights_of_a_questions_tokens_add_up_to_one_and_none_is_left_out(rarities: list[float]) -> None:
    weights = telling_weights(rarities)
    assert weights.sum() == pytest.approx(1.0, abs=1e-5)
    assert weights.min() >= 0.4 / len(rarities) - 1e-6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Is LoRA's rank 64?", ["", "Is", "LoRA", "LoRA", "", "s", "rank", "64", "", ""]),
        ("", ["", ""]),
    ],
)
def test_each_token_of_a_question_is_known_by_its_word(text: str, words: list[str], embedder: Embedder) -> None:
    tokens = len(embedder.questions([text or " "])[1][0])
    assert embedder.token_words(text, tokens) == words
