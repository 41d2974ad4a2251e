"""Questions to begin with, made from the library's own papers, the same at every start."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from rag.language import language_of
from rag.records import Paper
from ui.conversation import Exchange, cited_papers, papers_by_id

_NAME = re.compile(r"[\w³²+*.\-–]+(?: [A-Z][\w.\-]*){0,3}")
_FORMS = (
    "What does {0} do, and how well does it work?",
    "Which problem does {0} solve?",
    "How does {0} work?",
    "What are {0} and {1} each about?",
)


_CHINESE_FORMS = (
    "{0}做什么，效果如何？",
    "{0}解决什么问题？",
    "{0}是如何工作的？",
    "{0}和{1}分别是关于什么的？",
)


def examples_of(papers: Iterable[Paper]) -> list[str]:
    """Up to four questions about the first of ``papers`` whose label is a name; fewer where there are fewer names."""
    most = sum(form.count("{") for form in _FORMS)
    names = list(islice((p.label for p in papers if _is_name(p.label)), most))  # no more are read than are needed
    questions = []
    for form in _FORMS:
        needed = form.count("{")
        if len(names) < needed:
            break
        questions.append(form.format(*names[:needed]))
        names = names[needed:]
    return questions


def suggestions_of(exchange: Exchange, asked: Iterable[str]) -> list[str]:
    """Up to three questions to go on with, about the papers that an answer cites and those that came near.

    They are of the kinds that an abstract answers, in the language of the question; none that was ``asked`` already.
    """
    if exchange.answer is None:
        return []
    known = papers_by_id(hit.paper for hit in (*exchange.answer.nearest, *exchange.hits)) | exchange.papers
    cited = [known[i].label for i in cited_papers(exchange.answer) if i in known and _is_name(known[i].label)]
    near = [p.label for p in known.values() if _is_name(p.label) and p.label not in cited]
    what, problem, how, both = _FORMS if language_of(exchange.question) == "English" else _CHINESE_FORMS
    made = [form.format(name) for name in cited[:2] for form in (problem, how)][:2]
    made += [what.format(name) for name in near[:2]]
    if cited and near:
        made.insert(2, both.format(cited[0], near[0]))
    before = {" ".join(question.casefold().split()) for question in asked}
    return [question for question in made if question.casefold() not in before][:3]


def _is_name(label: str) -> bool:
    """Whether a label is short and written like a method's name: "GeoSPRINT", "G³RAG", "Fixed-mask MC"."""
    return (
        len(label) <= 24
        and bool(_NAME.fullmatch(label))
        and any(c.isupper() for c in label[1:])
        and not label.endswith("…")
    )
