"""Whether to answer: a confidence from retrieval, evidence and verdicts, and the threshold it must reach.

The confidence is a logistic model (``abstain.json``, fitted by ``citewell eval fit`` on tuning questions, answerable and
not). How far the language model leans to the evidence answering the question is one of its features, not the verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag.cite import Checked
from rag.embed import Embedder
from rag.evidence import asks_figure, parts_of
from rag.figures import FIELD_NAMES, figures, names
from rag.fitted import fitted
from rag.library import Snapshot
from rag.records import Evidence, Hit
from rag.resolve import points_back
from rag.terms import terms

FEATURES = (
    "dense", "lexical", "evidence", "known", "best_sentence", "verified", "kept", "answered_terms", "words",
    "figure_missing", "names_missing", "on_topic", "quotes", "untold", "told",
)  # fmt: skip

_GREETING = re.compile(
    r"^\s*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|thanks?(?: you)?(?: (?:so|very) much)?|bye|goodbye|ok(?:ay)?|"
    r"how are you(?: doing)?(?: today)?|who are you|what can you do|help|你好|您好|谢谢|再见|嗨)"
    r"(?:[\s,，]+(?:there|everyone|all|citewell|again|bot|friend|a lot|啊|呀))*[\s!.?。！？~,]*$",
    re.IGNORECASE,
)

UNTOLD = -1.0
"""Where the language model leans so far to the evidence not answering the question, in log odds, it is not asked to."""
_LEANS = 3.0
"""Farther than that it does not matter."""


_VAGUE = frozenset(
    terms(
        "accuracy result performance method paper papers dataset datasets model models approach better best worse fast "
        "faster slow number numbers benchmark baseline baselines improvement improve score scores experiment experiments "
        "work works author authors size cost time main idea contribution thing stuff one ones good bad big gain gains "
        "outperform compare compared comparison much many tell show explain detail details limitation limitations use "
        "used problem solve conclusion summary propose proposed technique algorithm setup different difference real "
        "really exactly make mean finding findings evaluation evaluate training train theirs numbers bigger smaller it "
        "that this what about which how why does do did work"
    )
)
"""Stems that name nothing of one paper rather than another."""


_SET_UP = re.compile(
    r"\b(?:learning rate|batch size|weight decay|dropout(?: rate)?|epochs?|optimi[sz]ers?|random seeds?|hyper-?parameters?|"
    r"temperature|gpus?|tpus?|hours|days|parameters|authors?|affiliations?|universit(?:y|ies)|licen[sc]e|price|accuracy|miou|fid|"
    r"bleu|rouge|psnr|ssim|perplexity|auroc|latency|wall-clock|memory|(?<=how many )(?:\w+ ){0,2}samples)\b",
    re.IGNORECASE,
)
"""What papers tell of their experiments, and abstracts often leave out."""


def is_greeting(question: str) -> bool:
    """Whether the whole message is small talk, which gets a greeting and no papers."""
    return bool(_GREETING.match(question))


def is_unclear(question: str) -> bool:
    """Whether a question, with no conversation before it, says nothing that would tell one paper from another."""
    telling = set(terms(question)) - _VAGUE
    return not names(f": {question}") and (not telling or (points_back(question) and len(telling) <= 2))


def features(
    question: str,
    hits: Sequence[Hit],
    evidence: Sequence[Evidence],
    checked: Sequence[Checked],
    failed: int,
    told: float,
    snapshot: Snapshot,
    embedder: Embedder,
) -> NDArray[np.float64]:
    """One row in the order of FEATURES: (15,) float64. ``failed`` counts the claims that did not hold, ``told`` is how far
    the language model leans to the evidence answering the question (``rag.leaning``)."""
    wanted = {t: snapshot.words.idf(t) for t in set(terms(question))}
    total = sum(wanted.values()) or 1.0
    own = [c for c in checked if not c.quoted]
    used = {p.paper_id for c in checked for p in c.judgement.support} or {h.paper.paper_id for h in hits[:1]}
    sources = " ".join(f"{h.paper.label} {h.paper.title} {h.paper.abstract}" for h in hits if h.paper.paper_id in used)
    held = set(terms(sources))
    said = set(terms(" ".join([*(c.text for c in checked), *(p.text for c in checked for p in c.judgement.support)])))
    asked_names = names(f": {question}") - FIELD_NAMES
    given = set().union(*(figures(c.text) for c in checked)) - figures(question)
    vectors = embedder.remember([question, *(c.text for c in checked)])
    return np.array(
        [
            max((h.dense for h in hits), default=0.0),
            max((h.lexical for h in hits), default=0.0),
            max((e.score for e in evidence), default=0.0),
            sum(w for t, w in wanted.items() if t in held) / total,
            max((c.judgement.score for c in own), default=0.0),
            float(np.mean([c.judgement.score for c in own])) if own else 0.0,
            len(own) / (len(own) + failed) if own else 0.0,
            sum(w for t, w in wanted.items() if t in said) / total,
            min(len(wanted), 12) / 12 + 0.05 * len(parts_of(question)),
            float(asks_figure(question) and not given),
            len(asked_names - names(f": {sources}")) / (len(asked_names) or 1),
            float((vectors[1:] @ vectors[0]).max()) if checked else 0.0,
            float(not own),
            float(any(set(terms(detail)) - held for detail in _SET_UP.findall(question))),
            max(-_LEANS, min(_LEANS, told)),
        ]
    )


def confidence(row: NDArray[np.float64]) -> float:
    """How likely an answer with these features is right, in (0, 1)."""
    model = fitted("abstain")
    return float(1.0 / (1.0 + np.exp(-(float(row @ np.asarray(model["weights"])) + model["bias"][0]))))


def threshold() -> float:
    """The confidence from which Citewell answers."""
    return fitted("abstain")["threshold"][0]


def hopeless(hits: Sequence[Hit]) -> bool:
    """Whether nothing found comes near the question, so that the language model need not be asked."""
    dense, lexical = fitted("abstain")["hopeless"]
    return not hits or (max(h.dense for h in hits) < dense and max(h.lexical for h in hits) < lexical)
