from __future__ import annotations

from collections.abc import Callable

import pytest

from rag.records import Turn
from rag.resolve import Question, resolve

LABELS = ["FiedlerPrune"]
HISTORY = [
    Turn("How does FiedlerPrune prune language models?", "FiedlerPrune uses the Fiedler vector [1].", ("p1",)),
]
ASKED = "Does it work with quantization?"


@pytest.mark.parametrize(
    ("question", "history"),
    [
        ("How does GeoSPRINT allocate its sampling steps?", []),
        ("How does GeoSPRINT allocate sampling steps?", HISTORY),
        (ASKED, []),
    ],
)
def test_a_question_that_stands_alone_is_left_as_it_is_and_no_model_asked(
    scripted: Callable[..., object], question: str, history: list[Turn]
) -> None:
    llm = scripted(standalone="Something else?")
    assert resolve(question, history, LABELS, llm) == Question(question, question, "English", follows=False)
    assert llm.calls == []


def test_a_follow_up_is_made_to_stand_alone_with_the_labels_of_the_turn_before(
    scripted: Callable[..., object],
) -> None:
    llm = scripted(standalone="Does FiedlerPrune work with quantization?\nIt does.")
    found = resolve(ASKED, HISTORY, LABELS, llm)
    assert found == Question(ASKED, "Does FiedlerPrune work with quantization?", "English", follows=True)
    assert [call.asked for call in llm.calls] == [
        "Earlier: How does FiedlerPrune prune language models?\nAbout: FiedlerPrune\nLast question: " + ASKED
    ]


@pytest.mark.parametrize(
    "said",
    [
        "Does GPTQ work with quantization?",
        "Does FiedlerPrune work with quantization on LLaMA-3?",
        "What is FiedlerPrune?",
        "FiedlerPrune",
        "",
        "\n \n",
        "Yes, it does.",
        "Does FiedlerPrune work with quantization? " + "Really? " * 100,
        "它能与量化一起使用吗？",
    ],
)
def test_a_rewriting_that_invents_or_drops_words_is_not_believed(scripted: Callable[..., object], said: str) -> None:
    found = resolve(ASKED, HISTORY, LABELS, scripted(standalone=said))
    assert found == Question(ASKED, "Does it work with quantization? (FiedlerPrune)", "English", follows=True)


def test_without_labels_the_question_before_comes_along(scripted: Callable[..., object]) -> None:
    history = [Turn("How do trees grow?", "They do.")]
    found = resolve("Why?", history, [], scripted(standalone=""))
    assert found == Question("Why?", "Why? (How do trees grow?)", "English", follows=True)


@pytest.mark.parametrize("question", ["Why?", "and on CIFAR-10?", "What about its runtime?", "What else?", "它呢？"])
def test_short_and_pointing_questions_are_follow_ups(scripted: Callable[..., object], question: str) -> None:
    assert resolve(question, HISTORY, LABELS, scripted()).follows


def test_a_rewriting_may_use_a_label_whose_first_word_is_an_ordinary_one(scripted: Callable[..., object]) -> None:
    history = [Turn("How are pruned blocks made up for?", "By a linear operator [1].", ("p1",))]
    said = "Does the method of Ghosted Layers work with quantization?"
    assert resolve(ASKED, history, ["Ghosted Layers"], scripted(standalone=said)).resolved == said


def test_a_chinese_question_is_looked_up_in_english_and_answered_in_chinese(scripted: Callable[..., object]) -> None:
    llm = scripted(to_english="By how much does GeoSPRINT improve FID?")
    asked = "GeoSPRINT 将 FID 改善了多少？"
    assert resolve(asked, [], [], llm) == Question(
        asked, "By how much does GeoSPRINT improve FID?", "Chinese", follows=False
    )
    assert [(call.task, call.asked) for call in llm.calls] == [("to-english", asked)]


def test_a_name_that_the_translation_loses_is_put_back(scripted: Callable[..., object]) -> None:
    found = resolve("GeoSPRINT 在 CIFAR-10 上如何？", [], [], scripted(to_english="How is it on CIFAR-10?"))
    assert found.resolved == "How is it on CIFAR-10? (GeoSPRINT)"


def test_without_a_translation_the_question_is_looked_up_as_it_is(scripted: Callable[..., object]) -> None:
    assert resolve("扩散模型如何采样？", [], [], scripted()).resolved == "扩散模型如何采样？"


def test_a_chinese_follow_up_is_translated_then_made_to_stand_alone(scripted: Callable[..., object]) -> None:
    llm = scripted(to_english=ASKED, standalone="Does FiedlerPrune work with quantization?")
    asked = "它能与量化一起使用吗？"
    assert resolve(asked, HISTORY, LABELS, llm) == Question(
        asked, "Does FiedlerPrune work with quantization?", "Chinese", follows=True
    )
    assert llm.tasks == ["to-english", "standalone"]
