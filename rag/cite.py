"""Raw text of a language model to checked sentences with citations.

A marker of the model is only a hint where to look. What is shown is decided here: every sentence gets the words that
bear it out, or it goes. A sentence that fails, or a part of the question that was left out, is made good with the
source's own sentence, which is never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rag.lexical import terms
from rag.records import AnswerSentence, Citation, Evidence, Paper
from rag.sentences import sentence_spans
from rag.verify import Judgement, Passage, Verifier

_MARKERS = re.compile(r"\s*[\[【]\s*(\d+(?:\s*[,，;、–-]\s*\d+)*)\s*[\]】]")
_LEAD = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the model, without its markers, and the numbers of the evidence that they name."""

    text: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """A sentence that may be shown, with what bears it out."""

    text: str
    judgement: Judgement
    quoted: bool = False


def split_claims(text: str) -> list[Claim]:
    """The sentences of ``text`` as claims; list signs and empty rests are left out.

    Markers after the stop belong to the sentence before it.
    """
    tidy = re.sub(r"([.!?。！？])((?:\s*[\[【]\d[^\]】]*[\]】])+)", r"\2\1", text)
    claims = []
    for line in tidy.split("\n"):
        line = _LEAD.sub("", line)
        for start, end in sentence_spans(line):
            raw = line[start:end]
            numbers = [int(n) for m in _MARKERS.finditer(raw) for n in re.findall(r"\d+", m.group(1))]
            bare = re.sub(r"\s+([.,;!?])", r"\1", _MARKERS.sub("", raw)).strip()
            if re.search(r"\w", bare):
                claims.append(Claim(bare, tuple(dict.fromkeys(numbers))))
    return claims


def check_claims(
    claims: Sequence[Claim],
    evidence: Sequence[Evidence],
    passages: Sequence[Passage],
    verifier: Verifier,
    *,
    context: str,
) -> tuple[list[Checked], list[tuple[Claim, Judgement]]]:
    """The claims that hold, in order, each once; and those that do not, with their judgements."""
    by_number = {e.number: Passage(e.paper_id, e.start, e.end, e.text) for e in evidence}
    kept: list[Checked] = []
    failed = []
    for claim in claims:
        if any(_same(claim.text, k.text) for k in kept):
            continue
        preferred = [by_number[n] for n in claim.numbers if n in by_number]
        judgement = verifier.judge(claim.text, passages, preferred=preferred, context=context)
        if judgement.verdict == "unsupported":
            failed.append((claim, judgement))
        else:
            kept.append(Checked(claim.text, judgement))
    return kept, failed


def complete(
    kept: Sequence[Checked],
    failed: int,
    question: str,
    evidence: Sequence[Evidence],
    idf: Callable[[str], float],
    *,
    at_most: int = 2,
) -> list[Checked]:
    """``kept`` and, as quotes, the evidence that the answer should have used and did not.

    A sentence is quoted where it holds words of the question that the answer left out, or where it is the likeliest
    evidence and nothing of the answer rests on it; a claim that failed makes room for one more.
    """
    answer = list(kept)
    wanted = {t: idf(t) for t in set(terms(question))}
    total = sum(wanted.values()) or 1.0
    ranked = sorted(evidence, key=lambda e: (-e.score, e.number))
    limit = at_most + (1 if failed else 0)
    for place, item in enumerate(ranked):
        if sum(c.quoted for c in answer) >= limit:
            break
        said = set(terms(" ".join(c.text for c in answer)))
        held = set(terms(item.text))
        missed = sum(w for t, w in wanted.items() if t in held and t not in said) / total
        used = any(_overlaps(item, p) for c in answer for p in c.judgement.support)
        expressed = len(held & said) / (len(held) or 1)
        bar = 0.12 if used else 0.10
        unused_best = not used and place < (2 if item.score >= 0.5 else 1) and item.score >= 0.3
        if expressed < 0.85 and (not answer or unused_best or (missed >= bar and item.score >= 0.15)):
            support = Passage(item.paper_id, item.start, item.end, item.text)
            answer.append(Checked(item.text, Judgement("supported", 1.0, (support,)), quoted=True))
    return answer


def cited(
    checked: Sequence[Checked], papers: Mapping[str, Paper]
) -> tuple[list[AnswerSentence], list[Citation]]:
    """Sentences with markers numbered in order of appearance, and the citations they point to."""
    markers: dict[Passage, int] = {}
    sentences = []
    for item in checked:
        numbers = tuple(markers.setdefault(p, len(markers) + 1) for p in item.judgement.support)
        sentences.append(
            AnswerSentence(
                item.text, item.judgement.verdict, tuple(sorted(numbers)), item.judgement.reason, quoted=item.quoted
            )
        )
    citations = [
        Citation(n, p.paper_id, papers[p.paper_id].label, p.text, p.start, p.end, papers[p.paper_id].sources)
        for p, n in markers.items()
    ]
    return sentences, citations


def written(sentences: Sequence[AnswerSentence]) -> str:
    """The answer as one text, each sentence with its markers before its stop."""
    parts = []
    for sentence in sentences:
        marks = "".join(f"[{n}]" for n in sentence.citations)
        text = f"“{sentence.text}”" if sentence.quoted else sentence.text
        if not sentence.quoted and text and text[-1] in ".!?。！？":
            parts.append(f"{text[:-1].rstrip()} {marks}{text[-1]}")
        else:
            parts.append(f"{text} {marks}")
    return " ".join(parts)


def _same(one: str, other: str) -> bool:
    return set(terms(one)) == set(terms(other))


def _overlaps(item: Evidence, passage: Passage) -> bool:
    return item.paper_id == passage.paper_id and item.start < passage.end and passage.start < item.end
