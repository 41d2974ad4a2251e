from __future__ import annotations

import pytest

from rag.statements import STATEMENTS, statements_of

NAMED = {s.name: s for s in STATEMENTS}


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("promise to release their code later on", "code promised for later"),
        ("make their code publicly available", "code or models released"),
        ("introduce a new dataset or benchmark", "a data set or benchmark of its own"),
        ("prove a theorem", "a proof or guarantee"),
        ("need no training", "no training needed"),
        ("report a speedup", "a speed-up"),
        ("are position papers", "a position"),
        ("are about federated learning", None),
        ("use Llama", None),
        ("mention neural collapse", None),
    ],
)
def test_a_question_about_a_statement_is_told_from_one_about_a_topic(question: str, name: str | None) -> None:
    found = next(iter(statements_of(question)), None)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(
    ("name", "sentence", "said"),
    [
        ("code promised for later", "Our code will be released upon acceptance.", True),
        ("code promised for later", "Our code is available at https://example.org/code.", False),
        ("code or models released", "Our code is available at https://example.org/code.", True),
        ("code or models released", "All models are open-sourced on GitHub.", True),
        ("code or models released", "Open-source LLMs are compared with closed ones.", False),
        ("code or models released", "Foundation models lift images into a shared space.", False),
        ("a data set or benchmark of its own", "We introduce FooBench, a benchmark of 300 riddles.", True),
        ("a data set or benchmark of its own", "Experiments on three benchmarks show gains.", False),
        ("a data set or benchmark of its own", "We propose a framework that addresses these challenges.", False),
        ("a proof or guarantee", "We prove that the iteration converges.", True),
        ("a proof or guarantee", "The proof of the pudding is left to practice.", False),
        ("no training needed", "We present Baz, a training-free sampler.", True),
        ("no training needed", "Training takes two days.", False),
        ("a speed-up", "Baz is 3$\\\\times$ faster than Foo.", True),
    ],
)
def test_a_sentence_makes_the_statement_or_not(name: str, sentence: str, said: bool) -> None:
    assert bool(NAMED[name].said.search(sentence)) is said
