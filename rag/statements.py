"""What an abstract can state of its own work, and how a question asks for it: code released, a data set introduced, …

Such a statement is made in many words ("is publicly available at", "will be open-sourced"), few of them the question's,
and it says nothing of the paper's topic, so that neither words nor vectors find it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag.terms import terms

_DATA = r"(?:datasets?|data sets?|benchmarks?|corpus|corpora|test ?suites?|suites?|(?-i:Challenge)|test ?beds?|collections?)"
_CODE = r"(?:code|source code|implementations?|software|toolkits?|models?|weights|checkpoints?|demos?)"
_MADE = (
    r"(?:introduc|present|propos|releas|construct|creat|build|built|curat|collect|contribut|establish|develop|provid|"
    r"assembl|compil)\w*"
)
_OPEN = r"(?:releas\w*|available|open[- ]?sourc\w*|publish\w*|public\w*|online)"


@dataclass(frozen=True, slots=True)
class Statement:
    """A kind of statement: ``asked`` finds it in a question about the papers, ``said`` in a sentence of an abstract."""

    name: str
    asked: re.Pattern[str]
    said: re.Pattern[str]


def _kind(name: str, asked: str, said: str) -> Statement:
    return Statement(name, re.compile(asked, re.IGNORECASE), re.compile(said, re.IGNORECASE))


STATEMENTS = (
    _kind(
        "code promised for later",
        rf"(?=.*\b(?:will|promis\w*|later|plan\w*|upcoming|future|soon|yet to)\b).*\b{_CODE}\b",
        rf"\b{_CODE}\b.{{0,80}}\b(?:will|shall|to) be\b.{{0,30}}\b{_OPEN}|"
        rf"\b(?:will|plan to|shall)\b.{{0,20}}\b{_OPEN}.{{0,60}}\b{_CODE}\b|"
        rf"\b{_CODE}\b.{{0,60}}\b{_OPEN}.{{0,30}}\b(?:upon|after|soon|later)\b",
    ),
    _kind(
        "code or models released",
        rf"\b{_OPEN}.{{0,40}}\b{_CODE}\b|\b{_CODE}\b.{{0,40}}\b{_OPEN}|\bopen[- ]?sourc\w*|\bgithub\b",
        rf"\b{_CODE}\b[^.]{{0,80}}\b{_OPEN}|\b{_OPEN}[^.]{{0,60}}\b{_CODE}\b|github\.com|\bopen[- ]?sourc(?:e|ed|ing)\b"
        rf"(?! (?:llm|large|language|model))",
    ),
    _kind(
        "a data set or benchmark of its own",
        rf"\b{_MADE}\b.{{0,40}}\b{_DATA}\b|\b(?:new|novel|own)\b.{{0,20}}\b{_DATA}\b|\b{_DATA}\b.{{0,10}}\bof (?:its|their) own\b",
        rf"\b(?:we|our|this (?:paper|work|study))\b[^.]{{0,40}}\b{_MADE}\b[^.]{{0,70}}\b{_DATA}\b|"
        rf"\b{_MADE}\b[^.]{{0,40}}\b[\w-]*(?-i:Bench|Dataset|Challenge)\b|\bnewly {_MADE} {_DATA}\b|"
        rf"\b(?:new|novel|first)\b[^.,;]{{0,40}}\b{_DATA}\b|\b{_DATA}\b[^.]{{0,40}}\b(?:is|are) {_MADE}|"
        rf"\bsynthetic [\w-]+ {_DATA}\b|(?-i:[\w-]*(?:Bench|Dataset|Corpus)_?\W{{1,3}}(?:a|an|the)) ",
    ),
    _kind(
        "a proof or guarantee",
        r"\b(?:prove[nsd]?|proofs?|theor(?:em|ems|etical(?:ly)?)|guarantees?|bounds?)\b",
        r"\b(?:we|also|further|then|and) (?:\w+ )?prove\b|\btheoretically (?:\w+ )?(?:show|prove|justif|demonstrat)\w*|"
        r"\bprovabl[ey]\b|\btheorems?\b|\btheoretical (?:guarantee|analys|bound|result|justif)\w*|"
        r"\b(?:derive|propose|establish|give|prove|provide)\w*\b[^.]{0,50}\b(?:bounds?|guarantees?)\b|"
        r"\bfinite-sample (?:guarantees?|bounds?|validity)\b",
    ),
    _kind(
        "no training needed",
        r"\btraining[- ]free\b|\bwithout (?:any |further |extra |additional )?(?:re)?training\b|\bno (?:re)?training\b|"
        r"\btun(?:e|ing)[- ]free\b",
        r"\b(?:training|tuning|learning)[- ]free\b|\bwithout (?:any |further |extra |additional |requiring )*"
        r"(?:re-?|fine-?)?(?:training|tuning)\b|\bno (?:additional |extra |further )?(?:re-?|fine-?)?(?:training|tuning)\b",
    ),
    _kind(
        "trials on real hardware",
        r"\breal[- ](?:world )?(?:robots?|hardware|devices?|experiments?|deployments?)\b|\bon hardware\b|\bphysical robots?\b",
        r"\breal[- ](?:world )?(?:robot\w*|hardware|devices?|deployment|flight|vehicles?|experiments?)\b|"
        r"\bhardware experiments?\b|\bphysical (?:robots?|experiments?)\b|\breal-world robotic\b|\bdeployed (?:on|in)\b",
    ),
    _kind(
        "a speed-up",
        r"\bspeed-?ups?\b|\bfaster\b|\baccelerat\w*",
        r"\bspeed-?ups?\b|\b\d[\d.,]*\s*(?:[x×]|\\times|\$\\times\$|times)[^.]{0,20}\b(?:faster|speed|accelerat|quicker)|"
        r"\bfaster\b|\baccelerat\w* (?:by|up to|of)\b",
    ),
    _kind(
        "a survey", r"\b(?:surveys?|reviews?|overviews?)\b", r"\b(?:this|we|our) (?:\w+ )?(?:survey|review|overview)\b"
    ),
    _kind(
        "a position",
        r"\b(?:position|opinion|perspective)\b",
        r"\b(?:position|perspective) (?:paper|piece)\b|\bthis position\b",
    ),
)


STATED = frozenset(
    terms(
        "code source implementation software toolkit model models weight weights checkpoint data dataset datasets benchmark "
        "benchmarks corpus corpora suite release released releasing available open sourced publish published public publicly "
        "online github promise later plan upcoming future soon yet put new novel own introduce create build construct prove "
        "proof theorem theoretical guarantee guarantees bound bounds derive give provide need needs needed require requires "
        "training retraining free tuning without further additional real world robot robots hardware device devices physical "
        "deployment deploy simulation speed speedup speed-up faster accelerate acceleration report concrete number numbers "
        "actual measured times hours much something anything survey review overview position opinion perspective claim state "
        "converge run come make theory formal formally"
    )
)
"""Stems that ask for a statement, and name no topic."""


def statements_of(question: str) -> tuple[Statement, ...]:
    """The statements that a question about the papers asks for, any of which will do; empty where it asks for a topic."""
    found = tuple(s for s in STATEMENTS if s.asked.search(question))
    return found if re.search(r"\bor\b", question) else found[:1]
