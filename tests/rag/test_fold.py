from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.fold import fold, plain


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        (r"9.6$\times$ over", "9.6× over"),
        (r"30\%, 18\\% and $\sim30\\%$", "30%, 18% and ~30%"),
        (r"\emph{x} \textbf{y \emph{z}} {\em w}", "x y z w"),
        (r"$\Omega(N^2)$ and $O(N\log(N))$", "Ω(N²) and O(N log(N))"),
        (r"Alignment (\method{}), where \ours wins", "Alignment (the method), where the method wins"),
        (r"\textsc{Foo}Bar and \FiedlerPrune{}", "FooBar and FiedlerPrune"),
        ("G$^3$RAG", "G³RAG"),
        (r"$1/\sqrt{n}$ and $\mathcal{O}(1/\varepsilon)$", "1/√n and O(1/ε)"),
        (r"$\tilde{O}(\sqrt{T})$ in $\mathbb{R}^d$", "Õ(√T) in ℝᵈ"),
        (r"$\alpha_{\mathrm{traj}}$, $M_{\rm opt}$", "α_traj, M_opt"),
        (r"\($\Delta$ = +0.46\)", "Δ = +0.46"),
        (r"NFE${\geq}30$, $24{,}960$", "NFE≥30, 24,960"),
        ("costs $3000 and $5 more", "costs $3000 and $5 more"),
        ("it is---to ``our'' knowledge -- **fragile** and *Tight*", "it is—to “our” knowledge – fragile and Tight"),
        (
            "A* search, D* lite, snake_case_x and the **kern format",
            "A* search, D* lite, snake_case_x and the **kern format",
        ),
        ("set {a, b}, </s> and <subject, relation, object>", "set {a, b}, </s> and <subject, relation, object>"),
        (r"Poincar\'e, Universit\"{a}t, Erd\H{o}s", "Poincaré, Universität, Erdős"),
        ("/spl alpha/-stable x/sup 2/", "α-stable x²"),
        ("e.g.~time, ~10%", "e.g. time, ~10%"),
        ("eﬃcient\u00ad \u2028 lines\r\n end", "efficient lines end"),
        (r"see \url{https://a.b/c_d} and [here](https://e.f)", "see https://a.b/c_d and here"),
        ("10^-3 m^2", "10⁻³ m²"),
        ("", ""),
    ],
)
def test_plain_text_reads_well(text: str, readable: str) -> None:
    assert plain(text) == readable


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("approxi- mation by fine-tuning", "approximation by finetuning"),
        ("illumi(cid:173) nation", "illumination"),
        ("**Bold** claims --- and more", "bold claims — and more"),
        (r"$Boo_n$ grows", "Boo_n grows"),
        (r"Poincar\'{e}'s naïve eﬃcient map", "Poincare’s naive efficient map"),
        ("ＦＵＬＬ　width", "full width"),
        (r"$\Omega(N^2)$", "Ω(N2)"),
        ("Abstract: We show it.", "We show it"),
        ("line\r\nbreaks\u2028here", "line breaks here"),
        ("论文，列表", "论文 列表"),
    ],
)
def test_two_spellings_of_one_text_fold_to_the_same(one: str, two: str) -> None:
    assert fold(one) == fold(two) != ""


def test_folding_keeps_the_words() -> None:
    assert fold("We study $L_2$ losses; they cost $3000.") == "we study l2 losses they cost 3000"


@given(st.text())
def test_folding_is_idempotent_and_clean(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    assert folded == " ".join(folded.split())


@given(st.text(alphabet="ab ${}\\^_*`~[]()-%", max_size=60))
def test_markup_of_any_shape_is_survived(text: str) -> None:
    assert plain(text) == " ".join(plain(text).split())
