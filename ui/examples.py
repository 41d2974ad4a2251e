"""Questions to begin with, made from the library's own papers, the same at every start."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.records import Paper

_NAME = re.compile(r"[\w³²+*.\-–]+(?: [A-Z][\w.\-]*){0,3}")
_FORMS = (
    "What does {0} do, and how well does it work?",
    "Which problem does {0} solve?",
    "How does {0} work?",
    "What are {0} and {1} each about?",
)


def examples_of(papers: Sequence[Paper]) -> list[str]:
    """Up to four questions about papers whose label is a name; fewer where there are fewer names."""
    ordered = sorted(papers, key=lambda p: p.paper_id)
    names = [p.label for p in ordered if _is_name(p.label)]
    questions = []
    for form in _FORMS:
        needed = form.count("{")
        if len(names) < needed:
            break
        questions.append(form.format(*names[:needed]))
        names = names[needed:]
    return questions


def _is_name(label: str) -> bool:
    """Whether a label is short and written like a method's name: "GeoSPRINT", "G³RAG", "Fixed-mask MC"."""
    return (
        len(label) <= 24
        and bool(_NAME.fullmatch(label))
        and any(c.isupper() for c in label[1:])
        and not label.endswith("…")
    )
