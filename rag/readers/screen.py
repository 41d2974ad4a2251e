"""Which records are no papers, and why."""

from __future__ import annotations

import re

_PLACEHOLDER = re.compile(
    r"""(?ix)^[\W_]*(?:
      n\.?\s?/?\s?a\.? | none | null | nil | nan | tba | tbd | todo | unknown | undefined | empty | missing | blank
    | (?:there\sis\s)?no\s(?:abstract|summary|description|text)(?:\s(?:is\s|was\s)?
        (?:available|provided|given|supplied|found|submitted|listed|exists?|for\sthis\s\w+)[\w\s]*)?
    | (?:the\s)?(?:abstract|summary)\s?(?:for\sthis\s\w+\s)?
        (?:is\s|was\s|has\s)?(?:currently\s|yet\s)?(?:not|un)[\s-]?(?:yet\s|been\s|currently\s)*
        (?:available|provided|given|supplied|found|submitted|included|present)[\w\s]*
    | (?:abstract|summary)\s(?:missing|withheld|to\sbe\s\w+|to\sfollow|coming\ssoon|pending|removed|omitted|tba|tbd)
    | (?:this\s)?(?:paper|article|submission)?\s?(?:has\sbeen\s|was\s|is\s)?(?:withdrawn|retracted|removed|deleted)
        (?:\sby\s(?:the\s)?authors?)?
    | lorem\sipsum\b.{0,500}
    | (?:please\s)?see\s(?:the\s)?(?:pdf|paper|full\stext|attached|attachment|website|link)[\w\s]*
    | to\s(?:appear|be\s(?:announced|added|determined|provided))
    | abstract | summary | 摘要 | 暂?无摘?要? | 摘要(?:暂缺|缺失|不可用|暂无) | 无摘要 | 暂无摘要
    )[\W_]*$"""
)
# IEEE Xplore's words where a proceedings entry has no abstract.
_BOILERPLATE = re.compile(
    r"""(?ix)^\W*(?:summary\sform\sonly\sgiven\W+)?(?:
      provides\s(?:an|a\sshort|a\sbrief|short|brief)\sabstracts?\s(?:of|for)\s(?:each\sof\s)?the\s
    | provides\san?\s(?:schedule|listing|list|index|overview)\sof\s
    | summary\sform\sonly\sgiven\W*$
    | (?:presents|provides|lists|contains?)\s(?:the\s|a\s)?(?:welcome\smessage|introductory\sremarks|
        front\scover|table\sof\scontents|title\spage|author\sindex|list\sof\s(?:reviewers|authors|papers)|
        conference\s(?:information|schedule|program))
    | the\sfollowing\stopics\s(?:are|were)\s(?:dealt\swith|discussed|covered)\s?:
    | (?:conference\sproceedings?|proceedings\sof\sthe)\s(?:front\smatter|cover|index)
    | preface\sto\sthe\sproceedings
    | (?:this\s(?:article|paper|work)\s(?:has\sbeen|was|is)\s)?(?:withdrawn|retracted)\sby\sthe\sauthors?\b.{0,200}$
    | notice\sof\sretraction\b
    | the\scomplete\spresentations?\sw(?:as|ere)\snot\smade\savailable
    | (?:sign\sin|log\sin|subscribe)\sto\s(?:view|read|access)
    | \(?c\)?\s?copyright\b.{0,200}$
    )"""
)
_LEADERS = re.compile(r"(?:\.\s?){4,}\s*\d+\s*$|\s{2,}\d{1,4}\s*$|\t\d{1,4}\s*$")
_INNER_LEADERS = re.compile(r"(?:\. ?){5,}\s*\d+\b")
_CONTENTS_HEAD = re.compile(r"(?i)^\W*(?:table\s+of\s+contents|contents|目\s*录|author\s+index)\W*$")


def reason_to_skip(abstract: str, title: str = "") -> str:
    """Why the record is no paper, in words for the report; empty for a paper."""
    if not abstract:
        return "no abstract"
    if len(abstract) < 500:
        if not any(character.isalpha() for character in abstract):
            return "no abstract: it holds no words"
        if _PLACEHOLDER.match(abstract):
            return "placeholder instead of an abstract"
        if title and abstract.casefold().strip(" .") == title.casefold().strip(" ."):
            return "no abstract: it only repeats the title"
    if _BOILERPLATE.match(abstract):
        return "boilerplate instead of an abstract"
    return "table of contents" if _is_contents(abstract, title) else ""


def _is_contents(text: str, title: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 3:
        # All on one line: an entry every few words, each with its leaders and page.
        leaders = text.count(".....") + text.count(". . . . .") and len(_INNER_LEADERS.findall(text))
        return leaders >= 3 and len(text) < 120 * leaders
    if _CONTENTS_HEAD.match(lines[0]) or _CONTENTS_HEAD.match(title):
        return True
    return sum(bool(_LEADERS.search(line)) for line in lines) * 2 > len(lines)
