"""The settings as HTML: first what concerns the reader alone, then what concerns everybody who uses this Citewell."""

from __future__ import annotations

from rag.config import Config
from rag.filters import Filter
from ui.render import attribute, escape

LANGUAGES = {"": "That of the question", "English": "English", "Chinese": "Chinese (中文)"}
THEMES = {"system": "As the system", "light": "Light", "dark": "Dark"}
FILTERS = {
    "year": ("Years", "2019, 2019..2021, 2019.."),
    "venue": ("Venue", "ICML"),
    "author": ("Author", "Bengio, or Y. Bengio"),
    "keyword": ("Keyword", "pruning"),
    "file": ("File", "a name, a folder, or icml*"),
}
BUDGETS = {180: "Short: quicker, fewer sentences", 260: "Usual", 400: "Long: slower, for questions with many parts"}
"""Tokens of evidence in a prompt."""
LLM_KEYS = ("llm_url", "llm_model", "llm_key")


def filters_of(values: dict[str, str]) -> Filter:
    """The filter that was written into the fields; commas part several. Raises QuestionError for an unusable one."""
    several = {name: [v.strip() for v in values.get(name, "").split(",") if v.strip()] for name in FILTERS}
    year = values.get("year", "").strip()
    return Filter.parse(
        year=year,
        venue=several["venue"],
        author=several["author"],
        keyword=several["keyword"],
        file=several["file"],
    )


def fields_of(where: Filter) -> dict[str, str]:
    """What to write into the fields for a filter: the reverse of ``filters_of``."""
    lists = {"venue": where.venues, "author": where.authors, "keyword": where.keywords, "file": where.files}
    return {"year": where.year, **{name: ", ".join(values) for name, values in lists.items()}}


def settings_html(config: Config, *, outside: frozenset[str], shared: bool, signed_in: bool = False) -> str:
    """The form; ``outside`` are settings that the environment decides, ``shared`` hides what concerns everybody,
    ``signed_in``: readers have accounts."""
    rest = _shared() if shared else _everybodys(config, outside)
    return f'<div class="cw-form">{_own()}{rest}{_account() if signed_in else ""}</div>'


def _own() -> str:
    fields = "".join(
        _field(f"cw-filter-{name}", words, hint, extra=f'data-where="{name}"')
        for name, (words, hint) in FILTERS.items()
    )
    return (
        "<section><h2>Which papers to look at</h2>"
        "<p class='cw-note'>For the questions of this conversation. Leave a field empty to let every paper through; "
        "commas part several values, of which any will do.</p>"
        f'<div class="cw-fields">{fields}</div>{_actions(("apply-filter", "Use this filter"), ("drop-filter", "No filter"))}'
        "</section><section><h2>Answers and looks</h2>"
        f'<div class="cw-fields">{_choice("cw-language", "Language of the answers", LANGUAGES, "")}'
        f"{_choice('cw-theme', 'Theme', THEMES, 'system')}</div>"
        "<p class='cw-note'>Kept in this browser.</p></section>"
    )


def _shared() -> str:
    return (
        "<section><h2>Language model</h2><p class='cw-note'>Whoever runs this server chooses the language model and how "
        "much of the papers it reads.</p></section>"
    )


def _account() -> str:
    return (
        "<section><h2>Your account</h2><p class='cw-note'>You are signed in. Your conversations are seen by you alone.</p>"
        '<div class="cw-actions"><a class="cw-quiet" href="/logout">Sign out</a></div></section>'
    )


def _everybodys(config: Config, outside: frozenset[str]) -> str:
    hosted = bool(config.llm_url)
    kinds = "".join(
        f'<label class="cw-radio"><input type="radio" name="cw-llm" value="{value}"{" checked" if on else ""}> {words}</label>'
        for value, words, on in (
            ("embedded", f"The one that comes with Citewell ({escape(config.llm)})", not hosted),
            ("server", "A server that speaks the OpenAI protocol (Ollama, vLLM, llama-server, a hosted one)", hosted),
        )
    )
    key = "kept; type a new one to replace it" if config.llm_key else "empty where it wants none"
    fields = (
        _field("cw-llm_url", "Address", "http://127.0.0.1:11434/v1", config.llm_url, 'data-set="llm_url"')
        + _field("cw-llm_model", "Model", "qwen3:4b", config.llm_model, 'data-set="llm_model"')
        + _field("cw-llm_key", "Key", key, "", 'data-set="llm_key" type="password" autocomplete="new-password"')
    )
    budgets = {str(n): words for n, words in BUDGETS.items()}
    budgets = {str(config.evidence_tokens): f"{config.evidence_tokens} tokens"} | budgets
    fixed = sorted(outside & {*LLM_KEYS, "llm", "evidence_tokens"})
    note = (
        f"<p class='cw-note'>Set by the environment, which wins at the next start: {escape(', '.join(fixed))}.</p>"
        if fixed
        else ""
    )
    return (
        f'<section><h2>Language model</h2><div role="radiogroup" aria-label="Language model">{kinds}</div>'
        f'<div class="cw-fields cw-server"{"" if hosted else " hidden"}>{fields}</div>'
        "<p class='cw-note cw-server'"
        f"{'' if hosted else ' hidden'}>Questions and the sentences found for them are sent to that server.</p>"
        f"{_actions(('save-llm', 'Use it'), ('test-llm', 'Test'))}{note}</section>"
        "<section><h2>How much of the papers the model reads</h2>"
        f'<div class="cw-fields">{_choice("cw-budget", "Evidence for an answer", budgets, str(config.evidence_tokens))}</div>'
        f"{_actions(('save-budget', 'Use it'))}</section>"
    )


def _field(id_: str, words: str, hint: str, value: str = "", extra: str = "") -> str:
    return (
        f'<label class="cw-field" for="{id_}"><span>{escape(words)}</span><input id="{id_}" class="cw-find" '
        f'placeholder="{attribute(hint)}" value="{attribute(value)}" autocomplete="off" spellcheck="false" {extra}></label>'
    )


def _choice(id_: str, words: str, options: dict[str, str], chosen: str) -> str:
    shown = "".join(
        f'<option value="{attribute(value)}"{" selected" if value == chosen else ""}>{escape(text)}</option>'
        for value, text in options.items()
    )
    return (
        f'<label class="cw-field" for="{id_}"><span>{escape(words)}</span>'
        f'<select id="{id_}" class="cw-select">{shown}</select></label>'
    )


def _actions(*ways: tuple[str, str]) -> str:
    """Buttons, the first of which is the one that is mostly wanted, and room for what came of it."""
    buttons = "".join(
        f'<button type="button" class="{"cw-quiet" if n else "cw-button"}" data-do="{name}">{words}</button>'
        for n, (name, words) in enumerate(ways)
    )
    return f'<div class="cw-actions">{buttons}<span class="cw-told" role="status"></span></div>'


def chips_html(where: Filter, language: str, library: str = "") -> str:
    """What narrows the next question down, beside the place where it is typed, each with a way to take it off; and for
    the other scripts the library it is put to."""
    chips = []
    if where:
        chips.append(("Only", str(where), "drop-filter"))
    if language:
        chips.append(("Answers in", language, "drop-language"))
    shown = "".join(
        f'<li><span>{name} {escape(words)}</span><button type="button" class="cw-tool" data-do="{do}" '
        f'aria-label="Take off: {attribute(f"{name} {words}")}">×</button></li>'
        for name, words, do in chips
    )
    fields = "".join(f' data-{name}="{attribute(value)}"' for name, value in fields_of(where).items())
    held = f' data-library="{attribute(library)}"'
    return f'<ul class="cw-within" aria-label="How questions are answered"{held}{fields}>{shown}</ul>'
