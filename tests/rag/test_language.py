from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How many parameters does Transcoda have?", "English"),
        ("FID?", "English"),
        ("", "English"),
        ("GeoSPRINT", "English"),
        ("What does 注意力 mean in this data set of Chinese words, and how is it measured there?", "English"),
        ("GeoSPRINT 在 CIFAR-10 上提升了多少？", "Chinese"),
        ("你好", "Chinese"),
        ("GeoSPRINTはDDIMよりどれくらい良いですか？", "Japanese"),
        ("이 방법은 어떻게 작동합니까?", "Korean"),
        ("Сколько параметров у модели?", "Russian"),
        ("كيف تعمل هذه الطريقة؟", "Arabic"),
        ("วิธีนี้ทำงานอย่างไร", "Thai"),
        ("यह विधि कैसे काम करती है?", "Hindi"),
        ("Wie viele Parameter hat das Modell und was ist daran neu?", "German"),
        ("Comment est-ce que la méthode fonctionne pour les graphes ?", "French"),
        ("¿Cómo se entrena el modelo y cuántos parámetros tiene?", "Spanish"),
    ],
)
def test_the_language_of_a_question_is_told(text: str, language: str) -> None:
    assert language_of(text) == language


@given(st.text(max_size=80))
def test_every_text_has_a_language(text: str) -> None:
    assert language_of(text).isalpha()
