"""What the language model is told when it writes questions: short, with worked examples, one question at a time."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from rag.prompt import one_line

VERSION = "1"
"""Changes with the prompts; part of what a file of made questions is from."""

_ASK = (
    "Write one question about a research paper that the sentence answers with the answer's words. Name the topic in the "
    "question, ask for nothing else, and leave the answer out of it. Reply with the question only.",
    """Topic: ORCA
Sentence: On CIFAR-100, ORCA lowers the calibration error from 4.1% to 1.3% without any retraining.
Answer: 4.1% to 1.3%""",
    "By how much does ORCA lower the calibration error on CIFAR-100?",
    """Topic: Harbour wave forecasts
Sentence: We compare our forecasts with WaveNet, SWAN, and TideGPT over two winters.
Answer: WaveNet, SWAN, and TideGPT""",
    "With which models are the harbour wave forecasts compared?",
    """Topic: ORCA
Sentence: We present ORCA, a method that calibrates a classifier by fitting one temperature per cluster of inputs.
Answer: by fitting one temperature per cluster of inputs""",
    "How does ORCA calibrate a classifier?",
)
_REWORD = (
    "Ask the same in everyday words, as somebody would who does not know the field. Use none of the forbidden words. "
    "Reply with the question only.",
    """Question: How does ORCA calibrate a classifier?
Forbidden: ORCA, calibrate, classifier, temperature, cluster, inputs""",
    "How can one make a program that sorts pictures as sure of itself as it is right?",
    """Question: By how much does LeafCut shrink decision forests on Covertype?
Forbidden: LeafCut, shrink, decision, forests, Covertype, leaves, removes""",
    "What share of a big collection of yes-or-no charts can be cut away as never needed?",
)
_ELSEWHERE = (
    "Write one short question of fact about the subject. Reply with the question only.",
    "Subject: medieval history",
    "In which year did the Hanseatic League hold its last diet?",
    "Subject: bicycle repair",
    "How tight should the bolts of a bicycle stem be?",
)


def ask_prompt(topic: str, sentence: str, answer: str) -> list[ChatMessage]:
    """A question that ``sentence`` answers with the words ``answer``."""
    return _chat(_ASK, f"Topic: {one_line(topic)}\nSentence: {one_line(sentence)}\nAnswer: {one_line(answer)}")


def reword_prompt(question: str, forbidden: Sequence[str]) -> list[ChatMessage]:
    """The question in other words than ``forbidden``."""
    return _chat(_REWORD, f"Question: {one_line(question)}\nForbidden: {', '.join(forbidden)}")


def elsewhere_prompt(subject: str) -> list[ChatMessage]:
    """A question about a subject that no paper is about."""
    return _chat(_ELSEWHERE, f"Subject: {one_line(subject)}")


def _chat(examples: Sequence[str], last: str) -> list[ChatMessage]:
    roles = [MessageRole.SYSTEM, *([MessageRole.USER, MessageRole.ASSISTANT] * len(examples))]
    return [ChatMessage(role=r, content=text) for r, text in zip(roles, [*examples, last], strict=False)]
