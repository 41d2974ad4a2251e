r"""Formulas: what is one, what is money, and that nothing in them runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.formula import Formula, find_formulas, render_formula, unfinished
from ui.markup import render_text


@pytest.mark.parametrize(
    "text",
    [
        "It costs $3000.",
        "between $5 and $7, or $3-$5 each",
        "$20/month vs $30/month; US$5 or A$ notes",
        "from $3000 to 2000$ notes",
        "\\$5 and \\$6",
        "$ x $",
        "$$",
        "a $ sign",
    ],
)
def test_money_is_no_formula(text: str) -> None:
    assert find_formulas(text) == []


def test_all_four_delimiters_are_found() -> None:
    text = r"$a_1$ and $$b^2$$ and \(c\) and \[d\] and \($\Delta$ = +0.46\) for $3000"
    assert find_formulas(text) == [
        Formula(0, 5, "a_1", False),
        Formula(10, 17, "b^2", True),
        Formula(22, 27, "c", False),
        Formula(32, 37, "d", True),
        Formula(42, 62, r"$\Delta$ = +0.46", False),
    ]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (r"$6.8\times$", "6.8×"),
        (r"${\geq}30$", "≥30"),
        (r"G$^3$RAG", "G³RAG"),
        (r"$8$", "8"),
        (r"$\sim30\\%$", "~30%"),
        (r"$x^2$", "<math><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>"),
        (r"\[a<b\]", '<math display="block"><mrow><mi>a</mi><mo>&lt;</mo><mi>b</mi></mrow></math>'),
        (
            r"$N\log N$",
            '<math><mrow><mi>N</mi><mspace width="0.167em"></mspace><mi>log</mi><mspace width="0.167em"></mspace>'
            "<mi>N</mi></mrow></math>",
        ),
        (r"$\frac{1$", r'<span class="cw-formula">frac1</span>'),
        (r"$\nosuchthing{y}$", '<span class="cw-formula">y</span>'),
        (
            r"$\text{<script>alert(1)</script>}$",
            "<math><mrow><mtext>&lt;script&gt;alert(1)&lt;/script&gt;</mtext></mrow></math>",
        ),
        (r"$\href{javascript:alert(1)}{x}$", "<math><mrow><mrow><mrow><mi>x</mi></mrow></mrow></mrow></math>"),
    ],
)
def test_formulas_are_written_as_mathml_or_plain_text(source: str, shown: str) -> None:
    assert render_text(source) == shown


@given(st.text(alphabet=r"\{}$^_<>&\"'abfract ", max_size=40))
def test_no_formula_raises_or_opens_a_tag_of_its_own(body: str) -> None:
    shown = render_formula(Formula(0, 0, body, False))
    assert "<a" not in shown
    assert "&" not in shown.replace("&lt;", "").replace("&gt;", "").replace("&amp;", "").replace("&quot;", "").replace(
        "&#x27;", ""
    )


@pytest.mark.parametrize(
    ("text", "length"),
    [
        (r"costs $\alpha_{n", 6),
        (r"costs $", 6),
        (r"costs $3000", 11),
        (r"done $x^2$ and \(y", 15),
        (r"done $x^2$", 10),
    ],
)
def test_a_formula_being_written_is_held_back(text: str, length: int) -> None:
    assert unfinished(text) == length
