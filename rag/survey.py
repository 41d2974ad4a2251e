"""Which questions ask about the whole library, and for what: "how many papers …", "who uses …", "anything on …?".

They are not for the best few hits: every paper is looked at (``rag.count``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag.figures import names
from rag.statements import STATED, Statement, statements_of
from rag.terms import terms

_MANY = r"(?:papers|abstracts|works|articles|publications|entries|studies|records)"
_ONE = r"(?:papers?|abstracts?|work|works|articles?|publications?|entries|stud(?:y|ies)|research)"
_THINGS = r"(?:methods|approaches|models|systems|frameworks|algorithms|techniques|benchmarks|data ?sets)"
_OF_THESE = r"(?: of)?(?: the| these| those| your| our)*"
_SOME = r"(?: any| some| an?| another| one| other| also| already)"
_LEAD = (
    r"(?:[^.?!]*[.!]\s+)?(?:(?:please|so|and|also|ok(?:ay)?|hi|(?:can|could|would) you),?\s+)*"
    r"(?P<place>(?:in|of|among|within|from) [^,?!]{1,40},\s*)?"
)
_WORD = r"(?:(?!(?:do|does|did|is|are|was|were|has|have|can|will|to|of|in|for|on|by|with|that|which|from)\b)[\w/-]+ )"
_KIND = rf"(?P<kind>{_WORD}{{0,4}}?)"
_HERE = r"(?: here| there| in here| in (?:the|this|your) (?:library|collection))?"
_FORMS = tuple(
    re.compile(rf"^\s*{_LEAD}(?:{form})\b(?P<rest>.*)$", re.IGNORECASE | re.DOTALL)
    for form in (
        rf"how many{_OF_THESE} {_KIND}(?!entries|records){_MANY}|how many (?:entries|records)",
        r"how many of (?:them|these|those)(?! (?:were|was|are|is) there)(?= \w)",
        rf"(?:which|what){_OF_THESE} {_KIND}(?!works\b){_MANY}|which works|(?:which|what) (?:of|other)\b[\w ]*? works",
        rf"(?:is|are|were|was) there{_SOME}* {_KIND}(?:{_ONE}|{_THINGS})",
        rf"(?:do|does|did|has|have){_SOME}(?: of)?(?: the| these| those| your)? {_KIND}{_ONE}",
        rf"(?:is|are|do|does|did|has|have) (?:any|some)(?:thing|body|one)(?: else)?{_HERE}",
        rf"(?:list|show|give|find|get)(?: me)? (?:everything|anything|all|whatever){_HERE}(?= (?:that|on|about|with|which|related|using)\b)",
        r"(?:list|name|show|give|find|enumerate|get)(?: me)?(?: (?:an? )?(?:list|overview|summary) of)?"
        rf"(?: (?:all|every|any|some|each|the|your|of))* (?P<kind_>(?:(?!paper\b|abstract\b)[\w/-]+ ){{0,4}}?)(?:{_MANY}|work|research)",
        r"(?:give|show|get|find)(?: me)? (?:an? )?overview (?:of|on|over)",
        rf"(?:any|some)(?:thing|body|one)(?: else)?{_HERE}"
        r"(?= (?:about|on|with|using|related|concerning|dealing|regarding|that|who)\b)",
        rf"any(?= .{{2,60}}\b{_ONE}\s*\??$)|any {_ONE}",
        rf"what(?:'s|s)?(?: else)? (?:do you have|is there|have you got|do we have|can you find|there|here)(?: \w+)?{_HERE} "
        r"(?=(?:about|on|for|concerning|regarding)\b)",
        r"who(?: else| here| all)? (?!is|was|has|does)(?=\w+[a-rt-z]s\b)",
        rf"{_MANY}(?= (?:about|on|that|which|using|with|evaluating|dealing|concerning|from|in|where|whose|studying|"
        r"proposing|reporting)\b)",
    )
)
_THINGS_FORM = re.compile(
    rf"^\s*{_LEAD}(?:which|what){_OF_THESE} {_KIND}{_THINGS}{_HERE}\b(?P<rest>.*)$", re.IGNORECASE | re.DOTALL
)
_PASSIVE = re.compile(r"\s+(?:is|are|was|were|does|do|did|has|have|can|would)\b", re.IGNORECASE)
_TAIL = re.compile(
    r"^\s*(?P<rest>.+?)[\s,;:–—-]+(?:who uses (?:it|them|this|that)|(?:which|what)(?: ones| papers| of them)?"
    r"(?: do| did| are| have)* (?:you|there|we|they)(?: have| got)?|which (?:ones|papers)(?: are there)?|any papers)\s*\??$",
    re.IGNORECASE | re.DOTALL,
)
_TERSE = re.compile(rf"^\s*(?P<rest>[^?.!]{{2,60}}?) {_MANY}\s*\??$", re.IGNORECASE)
_CONTENTS = re.compile(
    r"^\s*(?:what(?:'s| is| does)|show(?: me)?|list) (?:in |there in |inside )?(?:the )?file\b(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_FILE = re.compile(r"\bfile\s+[\"'“]?([\w.\-]+)|\b(\d{3}(?:_\w+)?(?:\.txt)?)\b", re.IGNORECASE)
_TWICE = re.compile(
    r"\b(?:listed|occur\w*|appear\w*|stand\w*|contained|found|included|there)\b.{0,30}\b(?:twice|more than once|two (?:of the )?(?:files|places)|"
    r"several (?:files|times))\b|\bduplicate[sd]?\b|\btwice\b",
    re.IGNORECASE,
)
_LINKS = frozenset(
    terms(
        "about on of are is there in the this library collection deal deals dealing concern concerned concerning use uses "
        "using used mention mentions study studies studying propose proposes introduce introduces discuss address addresses "
        "present contain contains with that which have has do does it them all work works working based focus topic related "
        "topics listed hold held file named stand both at least one any some paper papers abstract abstracts total distinct "
        "different entry entries many report reports reporting evaluate evaluates evaluating evaluation run runs running "
        "experiment experiments release releases apply applies appear appears say says result results promise promises look "
        "looks train trains training test tests tested compare compares call calls themselves try tries tackle tackles "
        "handle handles just only actually other involve involves involving show shows make makes field area here relevant "
        "overview work collecting find how when somewhere anywhere everything search interested me you got having written someone anybody ones what who"
    )
)
_GENERIC = frozenset(
    terms("model models dataset datasets data benchmark benchmarks method methods family series network")
)
_AS_IN = re.compile(
    r",?\s*\(?\b(?:e\.g\.|i\.e\.|such as|for example|for instance|like|in particular)\s*,?\s*", re.IGNORECASE
)
_AND_WHICH = re.compile(r",?\s*(?:and|or)\s+(?:which|what)(?: ones?)?\s*\??\s*$|\band so on\b", re.IGNORECASE)
_NOT = re.compile(
    r"\b(?:somewhere|anywhere) in (?:the|their|its)\b.*$|,\s*(?:but |and )?(?:not|rather than|instead of)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_NAMED_THINGS = (
    r"(?:benchmarks?|data ?sets?|corpora|methods?|models?|systems?|frameworks?|approaches|algorithms?)"
    r"(?:(?:,| and| or|,? and) (?:benchmarks?|data ?sets?|corpora|methods?|models?|systems?|frameworks?|algorithms?))?"
)
_LISTS = re.compile(
    rf"^\s*(?:please\s+)?(?:list|name|show|give|enumerate)(?: me)?(?: all)?(?: of)?(?: the)? ({_NAMED_THINGS})\b"
    r"(?! (?:of|that|which|used by|behind|in) (?:the )?[A-Z])(.*)$",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Survey:
    """What is asked of the whole library: papers about any of ``topics`` (none: any paper) that stand in all ``files``
    and make one of the ``statements``. ``lists`` is what is to be listed, "papers" or the things they name."""

    topics: tuple[str, ...]
    files: tuple[str, ...]
    statements: tuple[Statement, ...] = ()
    lists: str = "papers"
    all_topics: bool = False
    """Whether a paper must be about each of the topics: "both A and B"."""
    twice: bool = False
    """Whether only papers count that were read in more than one place."""


def survey_of(question: str) -> Survey | None:
    """What a question asks of the whole library; None where it asks something else."""
    listed = _LISTS.match(question)
    if listed is not None:
        said = _topics(listed.group(2), apart=True)
        return Survey(said, (), lists=listed.group(1).lower()) if said else None
    rest = _frame(question)
    if rest is None:
        return None
    files = tuple(dict.fromkeys((a or b).rstrip(".") for a, b in _FILE.findall(question)))
    if files:
        rest = _FILE.sub(" ", rest)
    if _TWICE.search(rest):
        return Survey((), files, twice=True)
    statements = statements_of(rest)
    topics = _topics(_AND_WHICH.sub("", rest) if not statements else _beside(rest))
    return Survey(topics, files, statements, all_topics=len(topics) > 1 and bool(re.search(r"\bboth\b", rest)))


def _frame(question: str) -> str | None:
    """What is left of a question without the words that make it one about the library; None where there are none."""
    for form in (*_FORMS, _CONTENTS):
        if match := form.match(question):
            found = match.groupdict()
            return f"{found.get('kind') or found.get('kind_') or ''}{match['rest']}"
    match = _THINGS_FORM.match(question)
    # "Which methods does X beat?", "Which datasets are used for X?": asked of one paper
    if match and not (_PASSIVE.match(match["rest"]) and names(f": {match['rest']}")):
        return f"{match['kind']}{match['rest']}"
    match = _TAIL.match(question) or _TERSE.match(question)
    return re.sub(rf"^.*?\b{_MANY} (?=(?:on|about|for)\b)", "", match["rest"]) if match else None


def _beside(rest: str) -> str:
    """The topic beside a statement: the words of neither; "excess risk" of "derive excess risk bounds"."""
    words = re.findall(r"[\w³²\-.+/']+|,", _NOT.sub("", re.sub(r"\([^)]*\)", " ", rest).strip(" ?？.。!")))
    return " ".join(w for w in words if w == "," or set(terms(w)) - _LINKS - STATED)


def _topics(text: str, *, apart: bool = False) -> tuple[str, ...]:
    """The topics of a phrase: those of a list, each by itself; what stands in brackets says one in another way.

    ``apart`` takes "A and B" for two topics, which may be the name of one.
    """
    text = _NOT.sub("", text.strip(" ?？.。!"))
    bracketed = re.findall(r"\(([A-Z][\w-]*?)s?\)", text)
    bare = _AS_IN.sub(", ", re.sub(r"\((?!e\.g|i\.e|such)[^)]*\)", " ", text)).replace(")", " ")
    parts = re.split(r",\s*(?:and|or)?\s*|\bor\b|\s[/–—-]\s", bare)
    if apart or len(parts) > 1 or re.search(r"\bboth\b", bare):
        parts = [p for part in parts for p in re.split(r"\band\b", part)]
    found = [t for t in (_topic(part) for part in parts) if t]
    if len(found) == 2 and " " not in found[0] and " " in found[1] and not names(f"of {found[0]}"):
        found = [" ".join(found)]  # "3d or 4d reconstruction": the head is shared
    return tuple(dict.fromkeys(t for t in [*found, *(_topic(b) for b in bracketed)] if t))


def _topic(text: str) -> str:
    """The phrase without the words at its ends that say nothing of a topic; "Llama models" as "Llama"."""
    kind = re.search(rf"^\s*(?:are|is)\s+(?:an?\s+)?([\w-]+) {_ONE}$", text, re.IGNORECASE)
    if kind and not _says_nothing(kind.group(1)):
        return f"{kind.group(1)} paper"  # "are position papers": a kind of paper, not a topic
    words = re.findall(r"[\w³²\-.+/']+", text)
    while words and _says_nothing(words[0]):
        words.pop(0)
    while words and (
        _says_nothing(words[-1]) or (set(terms(words[-1])) <= _GENERIC and names(f"of {' '.join(words[:-1])}"))
    ):
        words.pop()
    return " ".join(words)


def _says_nothing(word: str) -> bool:
    return not set(terms(word)) - _LINKS and not (
        word[0].isupper() and len(word) > 1 and word.lower() not in ("what", "who")
    )
