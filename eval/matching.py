"""Whether citations bear sentences out, decided without a judge: the same words in, the same figures out.

The matcher reads only what the answer shows (sentence, quotes) and what the question's author wrote (its papers). It
errs on the strict side: a true sentence drawn from a paper that the author did not name counts as not borne out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rag.fold import plain
from rag.language import language_of
from rag.mismatch import mismatches
from rag.terms import terms

COVERED = 0.6
"""The share of a sentence's content stems that its quotes must hold."""


@dataclass(frozen=True, slots=True)
class Match:
    """How a sentence and its quotes agree."""

    coverage: float
    """Share of the sentence's distinct content stems (stop words left out) that occur in the quotes, in [0, 1]."""
    disagreements: tuple[str, ...]
    """Figures that are in no quote, names that are neither in a quote nor in a cited abstract nor in the question."""

    @property
    def holds(self) -> bool:
        return self.coverage >= COVERED and not self.disagreements


@dataclass(frozen=True, slots=True)
class SentenceMatch:
    """A sentence held against its citations."""

    fully_cited: bool
    """Its quotes from the question's own papers bear it out."""
    borne_out: bool
    """Its quotes bear it out, from whatever papers."""
    coverage: float
    disagreements: tuple[str, ...]
    right: tuple[int, ...]
    """The markers that are right to be there."""
    wrong: tuple[int, ...]


def match(sentence: str, quotes: Sequence[str], *, context: str) -> Match:
    """``sentence`` against the ``quotes`` together; ``context`` holds where else its names may stand.

    Coverage counts stems of words (rag.lexical.terms), each once. A sentence in another language than its quotes
    shares no stems with them: there only its figures and the names written in Latin letters are compared, and its
    coverage is the share of its Latin words of two letters or more that the quotes or ``context`` hold (1 where it
    has none). That is a weak test, so such sentences are reported by themselves.
    """
    joined = " ".join(quotes)
    if not joined.strip():
        return Match(0.0, ())
    foreign = language_of(sentence) != language_of(joined)
    stems = set(terms(plain(sentence)))
    held = set(terms(plain(f"{joined} {context}" if foreign else joined)))
    if foreign:
        stems = {s for s in stems if s.isascii() and not s.isdigit()}
    found = mismatches(sentence, joined, context=context, loose=True)
    wrong = tuple(f"{m.kind} {m.detail}" for m in found if m.kind in ("number", "name"))
    if not stems:
        return Match(1.0 if foreign or plain(sentence).strip() in plain(joined) else 0.0, wrong)
    return Match(len(stems & held) / len(stems), wrong)


def match_sentence(
    sentence: str,
    citations: Sequence[tuple[int, str, str]],
    *,
    gold: Collection[str],
    abstracts: Mapping[str, str],
    question: str,
) -> SentenceMatch:
    """A sentence against its ``citations``: (marker, paper id, quote).

    Fully cited: the quotes from ``gold`` papers, taken together, hold at least 60% of its content stems, all its
    figures, and its names stand in them, in the abstracts they come from or in the ``question``.

    A citation is right (ALCE's citation precision, with this matcher as the judge) where the sentence is fully cited,
    the citation's paper is gold, and its quote is no idle one: it bears the sentence out alone, or without it the
    rest would cover less or miss a figure.
    """

    def judged(cited: Sequence[tuple[int, str, str]]) -> Match:
        context = " ".join([question, *(abstracts.get(paper, "") for _, paper, _ in cited)])
        return match(sentence, [quote for _, _, quote in cited], context=context)

    own = [c for c in citations if c[1] in gold]
    together, anywhere = judged(own), judged(citations)
    right = []
    for citation in own:
        rest = judged([c for c in own if c is not citation])
        idle = (
            len(own) > 1
            and not judged([citation]).holds
            and rest.coverage >= together.coverage
            and len(rest.disagreements) <= len(together.disagreements)
        )
        if together.holds and not idle:
            right.append(citation[0])
    return SentenceMatch(
        fully_cited=together.holds,
        borne_out=anywhere.holds,
        coverage=round(anywhere.coverage, 3),
        disagreements=anywhere.disagreements,
        right=tuple(right),
        wrong=tuple(c[0] for c in citations if c[0] not in right),
    )
