"""Raw text of a language model to checked sentences with citations.

A marker of the model is only a hint where to look. What is shown is decided here: every sentence gets the words that
bear it out, or it goes. A sentence that fails, or a part of the question that was left out, is made good with the
source's own sentence, which is never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rag.figures import figures, numbers
from rag.records import AnswerSentence, Citation, Evidence, Paper
from rag.sentences import protected_spans, sentence_spans
from rag.terms import terms
from rag.verify import Judgement, Passage, Verifier, passages_of

_MARKERS = re.compile(
    r"\s*[\[【［]\s*(?:\^|source\s*|来源\s*)?(\d+(?:\s*(?:[,，;、&–-]|and|和)\s*\d+)*)\s*[\]】］]", re.IGNORECASE
)
_AFTER_STOP = re.compile(r"([.!?。！？])((?:\s*[\[【［][\d\s,，;、–-]+[\]】］])+)(?=\s|$|[\u3400-\u9fff])")
_COUNTS = {"two": 2, "three": 3, "four": 4, "following": 3}
_ANNOUNCES = re.compile(
    r"\b(two|three|four|following)\b(?:\s+[\w-]+){0,3}\s+(?:components?|modules?|regulari[sz]ers?|stages?|parts?|steps|"
    r"strategies|innovations|ideas|axioms|reasons|culprits|subproblems|techniques|contributions|improvements|terms|"
    r"challenges|bottlenecks|features|results|factors|settings)\b",
    re.IGNORECASE,
)
_ASKS_LIST = re.compile(r"\b(which|what|name|list)\b|哪|什么", re.IGNORECASE)
_SAID = 0.5
"""Share of a source's terms that a sentence resting on it must hold to stand in its place."""
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
    original: str = ""
    """What was judged, where ``text`` is its translation."""


def split_claims(text: str) -> list[Claim]:
    """The sentences of ``text`` as claims; list signs and empty rests are left out.

    Markers after the stop belong to the sentence before it.
    """
    tidy = _AFTER_STOP.sub(r"\2\1", text)
    claims = []
    for line in tidy.split("\n"):
        line = _LEAD.sub("", line)
        for start, end in sentence_spans(line):
            raw = line[start:end]
            # no evidence has a number of more than six digits, and int() refuses some thousands of them
            numbers = [int(n) for m in _markers(raw) for n in re.findall(r"\d+", m.group(1)) if len(n) <= 6]
            bare = re.sub(r"\s+([.,;!?])", r"\1", without_markers(raw)).strip()
            if re.search(r"\w", bare):
                claims.append(Claim(bare, tuple(dict.fromkeys(numbers))))
    return claims


def without_markers(text: str) -> str:
    """``text`` with its markers taken out, also those that the taking out makes: ``[[1]2]``."""
    while matches := _markers(text):
        for match in reversed(matches):
            text = text[: match.start()] + text[match.end() :]
    return text


def _markers(text: str) -> list[re.Match[str]]:
    """The markers of ``text``; an interval in a formula, ``$d\\in[2,785]$``, is none."""
    formulas = protected_spans(text)
    return [m for m in _MARKERS.finditer(text) if not any(a < m.end() and m.start() < b for a, b in formulas)]


def check_claims(
    claims: Sequence[Claim],
    question: str,
    evidence: Sequence[Evidence],
    papers: Sequence[Paper],
    verifier: Verifier,
    *,
    across: bool = False,
) -> tuple[list[Checked], list[tuple[Claim, Judgement]]]:
    """The claims that hold, in order, each once; and those that do not, with their judgements.

    In the place of a claim that does not hold stands the evidence that it names, as a quote.

    ``papers`` are those that may bear a claim out; ``across`` lets one claim rest on two of them. A claim that only
    says the question again is taken for what its source says in its own words.
    """
    by_number = {e.number: Passage(e.paper_id, e.start, e.end, e.text) for e in evidence}
    scores = {by_number[e.number]: e.score for e in evidence}
    passages = [p for paper in papers for p in passages_of(paper)]
    labels = {paper.paper_id: paper.label for paper in papers}
    kept: list[Checked] = []
    failed = []
    for claim in claims:
        if any(_same(claim.text, k.text) for k in kept):
            continue
        preferred = [by_number[n] for n in claim.numbers if n in by_number]
        judgement = verifier.judge(
            claim.text, passages, labels=labels, asked=question, preferred=preferred, across=across
        )
        if judgement.verdict == "unsupported":
            failed.append((claim, judgement))
            # what the writer meant to rest it on may answer the question in its own words
            likely = [p for p in preferred[:1] if scores[p] >= 0.3 * max(scores.values())]
            kept += [c for c in map(quote_of, likely) if all(c.text != k.text for k in kept)]
        elif _echoes(claim.text, question) or (len(set(terms(claim.text))) < 3 and not numbers(claim.text)):
            kept += [c for c in [quote_of(judgement.support[0])] if all(c.text != k.text for k in kept)]
        else:
            kept.append(Checked(claim.text, judgement))
    return kept, failed


def quote_of(passage: Passage) -> Checked:
    """A sentence of a source as a sentence of the answer."""
    return Checked(passage.text, Judgement("supported", 1.0, (passage,), coverage=1.0), quoted=True)


def whole(kept: Sequence[Checked], question: str) -> list[Checked]:
    """``kept``, but where a sentence says less than half of what its one source says, that source in its own words.

    A small model that shortens a sentence drops what was asked for, or joins figures that do not belong together;
    whoever reads the source's sentence has both. What stays short is the straight answer: all that the question and the
    source have in common, and a figure beside it.
    """
    shown: list[Checked] = []
    for item in kept:
        support = item.judgement.support
        if (
            not item.quoted
            and len(support) == 1
            and _expressed(support[0].text, [item]) < _SAID
            and not _straight(item.text, question, support[0].text)
        ):
            item = quote_of(support[0])
        if all(item.text != other.text for other in shown):
            shown.append(item)
    return shown


def _straight(claim: str, question: str, source: str) -> bool:
    said = set(terms(claim))
    return bool(figures(claim) - figures(question)) and set(terms(question)) & set(terms(source)) <= said


def _expressed(source: str, answer: Sequence[Checked]) -> float:
    """The share of a source's terms that the answer holds, in [0, 1]."""
    held = set(terms(source))
    return len(held & set(terms(" ".join(c.text for c in answer)))) / (len(held) or 1)


def complete(
    kept: Sequence[Checked],
    failed: int,
    question: str,
    evidence: Sequence[Evidence],
    needed: Sequence[Paper],
    idf: Callable[[str], float],
    *,
    at_most: int = 2,
) -> list[Checked]:
    """``kept`` and, as quotes, what the answer should have used and did not; at most ``at_most`` and a few for claims
    that failed.

    Where nothing of the model's own is left, the best sentences of the best paper are quoted. Else a sentence is quoted
    where it holds words of the question that the answer left out; where it is the likeliest
    evidence and nothing of the answer rests on it; where it is one of the best three of a paper that the question needs
    (``needed``) and nothing of the answer rests on it; and where a source announces what it then lists ("two modules").
    """
    answer = list(kept)
    wanted = {t: idf(t) for t in set(terms(question))}
    total = sum(wanted.values()) or 1.0
    ranked = sorted(evidence, key=lambda e: (-e.score, e.number))
    # what no sentence of the answer, nor the best evidence, comes from has nothing to add
    spoken = {p.paper_id for c in kept for p in c.judgement.support} | {p.paper_id for p in needed}
    ranked = [e for e in ranked if e.paper_id in spoken or e.paper_id == ranked[0].paper_id]
    limit = at_most + min(failed, 1)

    def room() -> bool:
        return sum(c.quoted for c in answer) < limit

    def uses(item: Evidence) -> bool:
        return any(_overlaps(item, p) for c in answer for p in c.judgement.support)

    for paper in needed:  # a small model drops half of what it is asked to compare
        best = [e for e in ranked if e.paper_id == paper.paper_id][:3]
        answer += [quote_of(_passage(e)) for e in best if not uses(e)]
    for item in ranked:
        if not room():
            break
        said = set(terms(" ".join(c.text for c in answer)))
        held = set(terms(item.text))
        missed = sum(w for t, w in wanted.items() if t in held and t not in said) / total
        unused_best = item in ranked[:2] and item.score >= 0.3 and not uses(item)
        alone = not any(not c.quoted for c in answer) and item.paper_id == ranked[0].paper_id and len(answer) < at_most
        if _expressed(item.text, answer) < 0.85 and (alone or unused_best or (missed >= 0.12 and item.score >= 0.15)):
            answer.append(quote_of(_passage(item)))
    return _with_lists(answer, question, evidence)


def _with_lists(answer: Sequence[Checked], question: str, evidence: Sequence[Evidence]) -> list[Checked]:
    """Where the answer rests on a sentence that announces a list, and the question asks for it, the sentences after it
    that say what is on the list, as far as they are evidence."""
    if not _ASKS_LIST.search(question):
        return list(answer)
    out = list(answer)
    for item in answer:
        for support in item.judgement.support[:1]:
            announced = _ANNOUNCES.search(support.text)
            if not announced:
                continue
            after = sorted(
                (e for e in evidence if e.paper_id == support.paper_id and e.start >= support.end),
                key=lambda e: e.start,
            )
            for e in after[: _COUNTS[announced.group(1).lower()]]:
                if not any(_overlaps(e, p) for c in out for p in c.judgement.support):
                    out.append(quote_of(_passage(e)))
    return out


def cited(checked: Sequence[Checked], papers: Mapping[str, Paper]) -> tuple[list[AnswerSentence], list[Citation]]:
    """Sentences with markers numbered in order of appearance, and the citations they point to."""
    markers: dict[Passage, int] = {}
    sentences = []
    for item in checked:
        numbers = tuple(markers.setdefault(p, len(markers) + 1) for p in item.judgement.support)
        sentences.append(
            AnswerSentence(
                item.text,
                item.judgement.verdict,
                tuple(sorted(numbers)),
                item.judgement.reason,
                quoted=item.quoted,
                original=item.original,
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


def _passage(item: Evidence) -> Passage:
    return Passage(item.paper_id, item.start, item.end, item.text)


def _echoes(claim: str, question: str) -> bool:
    """Whether a claim says next to nothing that the question does not say already."""
    said = set(terms(claim))
    # terms() leaves out single characters, and with them the figures of "by 0.7"
    return numbers(claim) <= numbers(question) and len(said - set(terms(question))) <= 0.2 * len(said)


def _same(one: str, other: str) -> bool:
    return set(terms(one)) == set(terms(other)) and numbers(one) == numbers(other)


def _overlaps(item: Evidence, passage: Passage) -> bool:
    return item.paper_id == passage.paper_id and item.start < passage.end and passage.start < item.end
