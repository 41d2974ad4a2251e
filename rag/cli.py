"""The command line: parse, call, print. Results on stdout, everything else on stderr.

Exit codes: 0 done, 1 a fault said in one line, 2 bad usage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rag.config import Config, load_config
from rag.errors import AccountError, CitewellError, QuestionError, SourceError

if TYPE_CHECKING:
    from rag.filters import Filter
    from rag.records import Answer, Hit, Source, Turn
    from rag.retrieve import CitewellRetriever

Json = dict[str, Any]
_TOGETHER = 64
"""Questions of a batch that are searched for at a time."""


def main(argv: list[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    args = _parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        config = load_config({"library": args.library})
        _stay_quiet()
        return int(args.run(args, config))
    except CitewellError as error:
        print(f"citewell: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("citewell: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _stay_quiet() -> None:
    """The libraries below neither phone home nor draw bars of their own."""
    for name, value in (
        ("ANONYMIZED_TELEMETRY", "False"),
        ("GRADIO_ANALYTICS_ENABLED", "False"),
        ("HF_HUB_DISABLE_TELEMETRY", "1"),
        ("HF_HUB_DISABLE_PROGRESS_BARS", "1"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("TRANSFORMERS_VERBOSITY", "error"),
        ("TQDM_DISABLE", os.environ.get("TQDM_DISABLE", "")),
    ):
        if value:
            os.environ.setdefault(name, value)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="citewell",
        description="Answers questions about a collection of paper abstracts, every sentence footnoted to the exact words.",
    )
    parser.set_defaults(library=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace, Config], int], summary: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=summary, description=summary)
        sub.set_defaults(run=run)
        return sub

    def with_library(sub: argparse.ArgumentParser) -> None:
        sub.add_argument("--library", metavar="NAME", help="the library to use (default: 'default')")

    def with_json(sub: argparse.ArgumentParser) -> None:
        sub.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def with_filter(sub: argparse.ArgumentParser) -> None:
        chosen = sub.add_argument_group("filter", "only papers that fit all of these; of one given again, any")
        chosen.add_argument("--year", metavar="YEAR", help="2019, 2019..2021, 2019.. or ..2021")
        chosen.add_argument("--venue", action="append", default=[], help="words of the venue's name")
        chosen.add_argument("--author", metavar="NAME", action="append", default=[], help="Bengio, Y. Bengio, …")
        chosen.add_argument("--keyword", action="append", default=[], help="words of a keyword")
        chosen.add_argument(
            "--file", action="append", default=[], help="a source file, its folder, or a pattern with *"
        )

    sub = command("index", _index, "make the library a copy of files and folders of abstracts")
    sub.add_argument("paths", metavar="PATH", nargs="*", type=Path, help="file or folder; none: the sources it has")
    sub.add_argument("--rebuild", action="store_true", help="read and embed everything anew")
    sub.add_argument("--dry-run", action="store_true", help="tell what would happen, write nothing")
    with_library(sub)
    with_json(sub)

    sub = command("search", _search, "find the papers that bear on a question")
    sub.add_argument("question", nargs="?", help="the question, or use --batch")
    sub.add_argument("-k", type=int, default=10, help="how many papers (default: 10)")
    with_filter(sub)
    with_library(sub)
    with_json(sub)
    sub.add_argument("--batch", metavar="FILE.jsonl", help='lines {"id", "question"} (- for stdin); prints JSONL')

    sub = command("ask", _ask, "answer a question, every sentence cited")
    sub.add_argument("question", nargs="?", help="the question, or use --batch")
    with_filter(sub)
    with_library(sub)
    with_json(sub)
    sub.add_argument(
        "--batch", metavar="FILE.jsonl", help='lines {"id", "question", "conversation"?} (- for stdin); prints JSONL'
    )

    sub = command("check", _check, "tell whether the library bears a sentence out")
    sub.add_argument("sentence", nargs="?", help="the sentence, or use --batch")
    sub.add_argument("--paper", metavar="PAPER_ID", help="hold it against this paper only")
    with_library(sub)
    with_json(sub)
    sub.add_argument(
        "--batch", metavar="FILE.jsonl", help='lines {"id", "sentence", "paper_id"?} (- for stdin); prints JSONL'
    )

    sub = command("chat", _chat, "serve the chat page")
    with_library(sub)
    sub.add_argument("--host", default="127.0.0.1", help="address to bind (default: 127.0.0.1, this machine only)")
    sub.add_argument("--port", type=int, default=7860, help="port to bind (default: 7860)")
    sub.add_argument(
        "--index", metavar="PATH", nargs="+", type=Path, default=[], help="first make the library a copy of these too"
    )

    sub.add_argument(
        "--accounts",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether one has to sign in (default: yes, unless bound to this machine only)",
    )

    sub = command("users", _users, "list, add or remove who may use a shared server")
    sub.add_argument("action", choices=["list", "add", "remove", "token"])
    sub.add_argument("name", nargs="?", help="the user; 'add' asks for a password or reads it from standard input")
    with_json(sub)

    sub = command("mcp", _mcp, "serve search, ask and get_paper to an assistant, over MCP on standard input and output")
    with_library(sub)

    sub = command("papers", _papers, "list the papers of the library")
    with_filter(sub)
    sub.add_argument("--contains", metavar="TEXT", default="", help="only papers whose title or abstract holds this")
    sub.add_argument("--sort", choices=["year", "label", "title", "venue", "file"], default="id", help="the order")
    sub.add_argument("--reverse", action="store_true", help="the other way round")
    sub.add_argument("--limit", type=int, metavar="N", help="at most so many")
    with_library(sub)
    with_json(sub)

    sub = command("duplicates", _duplicates, "list what was merged, or shares an abstract, and why; undo a merge")
    decision = sub.add_mutually_exclusive_group()
    decision.add_argument("--split", metavar="FILE#ROW", help="make this record a paper of its own, now and later")
    decision.add_argument("--join", metavar="FILE#ROW", help="take the --split of this record back")
    with_library(sub)
    with_json(sub)

    sub = command("models", _models, "list, fetch or verify the models")
    sub.add_argument("action", choices=["list", "pull", "verify"])
    sub.add_argument("name", nargs="?", help="one model of the list (default: those in use for pull, all for verify)")
    with_json(sub)

    sub = command("calibrate", _calibrate, "bound how often answers are wrong, for this library and language model")
    sub.add_argument("--questions", metavar="FILE", type=Path, help="JSONL of questions with their right answers")
    sub.add_argument("--split", choices=["tune", "calibrate", "test", "all"], help="which of them (default: calibrate)")
    sub.add_argument("--alpha", type=float, default=0.05, help="share of wrong answers to stay below (default: 0.05)")
    sub.add_argument("--delta", type=float, default=0.05, help="how often the bound may fail (default: 0.05)")
    with_library(sub)
    with_json(sub)

    sub = command("eval", _eval, "measure retrieval and answers")
    from eval.commands import add_commands

    add_commands(sub, serve_review=_serve_review)

    command("doctor", _doctor, "check that everything needed is there")
    return parser


def _index(args: argparse.Namespace, config: Config) -> int:
    from rag.build import sync_library
    from rag.contract import report_json

    with _bar() as progress:
        report = sync_library(config, args.paths, rebuild=args.rebuild, dry_run=args.dry_run, on_progress=progress)
    if args.json:
        _print_json(report_json(report))
        return 0
    print(
        f"{report.records} records, {report.papers} papers, {report.duplicates} duplicates "
        f"(added {report.added}, changed {report.changed}, removed {report.removed}, unchanged {report.unchanged}) "
        f"in {report.seconds:.1f} s{' - dry run, nothing written' if args.dry_run else ''}"
    )
    for item in report.skipped:
        print(f"skipped {item.file}{'' if item.row is None else f' row {item.row}'}: {item.reason}", file=sys.stderr)
    return 0


class _bar:
    """Progress on stderr, where that is a terminal."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage = ""

    def __enter__(self) -> Callable[[str, int, int], None]:
        return self._show

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def _show(self, stage: str, done: int, total: int) -> None:
        from tqdm import tqdm

        if stage != self._stage:
            self.__exit__()
            self._stage = stage
            units = {"read": " files", "embed": " passages"}
            self._bar = tqdm(total=total, desc=stage, unit=units.get(stage, ""), disable=not sys.stderr.isatty())
        self._bar.update(done - self._bar.n)


def _search(args: argparse.Namespace, config: Config) -> int:
    from rag.build import open_library
    from rag.contract import search_json
    from rag.retrieve import CitewellRetriever

    if args.k < 1:
        raise QuestionError(f"-k is {args.k}; it must be at least 1")
    items = _batch(args, "question")
    where = _filter(args)
    retriever = CitewellRetriever(open_library(config), k=args.k, where=where)

    def fitting(found: list[Hit] | CitewellError) -> list[Hit]:
        if isinstance(found, CitewellError):
            raise found
        return where.fitting(found)

    if args.batch:
        answers = _together(retriever, [item["question"] for item in items])
        return _each(items, lambda item: search_json(item["question"], fitting(next(answers))))
    hits = fitting(retriever.search(items[0]["question"]))
    if args.json:
        _print_json(search_json(args.question, hits))
        return 0
    for hit in hits:
        print(f"{hit.rank:3}. {hit.score:.3f}  {hit.paper.label}  ({_places(hit.paper.sources)}, {hit.paper.paper_id})")
        print(f"     {' '.join(hit.paper.abstract.split())[:160]}…")
    return 0


def _together(retriever: CitewellRetriever, questions: list[str]) -> Iterator[list[Hit] | CitewellError]:
    """What is found for each question, looked up many at a time; the error of one that cannot be asked."""
    from rag.retrieve import check_question

    for at in range(0, len(questions), _TOGETHER):
        part = questions[at : at + _TOGETHER]
        faults: dict[int, CitewellError] = {}
        for i, question in enumerate(part):
            try:
                check_question(question)
            except CitewellError as error:
                faults[i] = error
        found = iter(retriever.search_many([q for i, q in enumerate(part) if i not in faults]))
        for i in range(len(part)):
            yield faults[i] if i in faults else next(found)


def _ask(args: argparse.Namespace, config: Config) -> int:
    from rag.build import open_engine
    from rag.contract import answer_json
    from rag.records import Turn

    items = _batch(args, "question")
    where = _filter(args)
    engine = open_engine(config)
    if not args.batch:
        answer = engine.ask(items[0]["question"], where=where)
        _print_json(answer_json(answer)) if args.json else _print_answer(answer)
        return 0
    turns: dict[str, list[Turn]] = {}

    def ask(item: Json) -> Json:
        history = turns.setdefault(str(item["conversation"]), []) if item.get("conversation") is not None else []
        answer = engine.ask(item["question"], history=history, where=where)
        papers = tuple(dict.fromkeys(c.paper_id for c in answer.citations))
        history.append(Turn(answer.resolved_question, answer.text, papers))
        return answer_json(answer)

    return _each(items, ask)


def _print_answer(answer: Answer) -> None:
    if answer.resolved_question != answer.question:
        print(f"(understood as: {answer.resolved_question})", file=sys.stderr)
    print(answer.text)
    if answer.citations:
        print()
    for citation in answer.citations:
        print(f"[{citation.marker}] {citation.label} ({_places(citation.sources)}): “{citation.quote}”")
    if answer.status == "abstained" and answer.nearest:
        print("\nNearest papers:")
        for hit in answer.nearest:
            print(f"  {hit.paper.label} ({_places(hit.paper.sources)})")
    if answer.guarantee:
        print(f"\n{answer.guarantee}", file=sys.stderr)


def _check(args: argparse.Namespace, config: Config) -> int:
    from rag.build import open_library
    from rag.check import Checker
    from rag.contract import verification_json
    from rag.retrieve import CitewellRetriever

    items = _batch(args, "sentence")
    checker = Checker(CitewellRetriever(open_library(config)))
    if args.batch:
        return _each(
            items,
            lambda item: verification_json(
                checker.check(item["sentence"], paper_id=item.get("paper_id") or args.paper)
            ),
        )
    found = checker.check(items[0]["sentence"], paper_id=args.paper)
    if args.json:
        _print_json(verification_json(found))
        return 0
    print(f"{found.verdict} ({found.score:.2f}){': ' + found.reason if found.reason else ''}")
    for citation in found.citations:
        print(f"[{citation.marker}] {citation.label} ({_places(citation.sources)}): “{citation.quote}”")
    return 0


def _chat(args: argparse.Namespace, config: Config) -> int:
    from ui.chat import run_chat
    from ui.quality_view import Measured

    for path in args.index:
        if not path.exists():
            raise SourceError(f"{path}: no such file or folder; name a file or a folder of abstracts")
    if not args.index:
        from rag.build import open_catalogue

        open_catalogue(config).close()

    def report() -> Measured | None:
        from eval.report import newest_report

        found = newest_report(
            [Path.cwd(), Path.cwd() / "results", Path.cwd() / "eval" / "results", config.data / "results"]
        )
        return Measured(*found) if found is not None else None

    run_chat(config, host=args.host, port=args.port, sources=args.index, sign_in=args.accounts, report=report)
    return 0


def _users(args: argparse.Namespace, config: Config) -> int:
    from serve.accounts import Accounts, accounts_file

    if (args.name is None) != (args.action == "list"):
        _usage("give 'users list', or 'users add|remove|token NAME'")
    accounts = Accounts(accounts_file(config))
    result: Json = {"user": args.name}
    if args.action == "list":
        result = {"users": accounts.names()}
    elif args.action == "add":
        accounts.add(args.name, _password())
    elif args.action == "remove":
        accounts.remove(args.name)
    else:
        result["token"] = accounts.new_token(args.name)
    if args.json:
        _print_json(result)
    else:
        for line in result.get("users", [result["token"]] if "token" in result else []):
            print(line)
    return 0


def _password() -> str:
    """From the terminal, not shown, twice; or the first line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    from getpass import getpass

    password = getpass("Password: ")
    if getpass("Again: ") != password:
        raise AccountError("the two passwords differ; nothing was changed, try again")
    return password


def _mcp(args: argparse.Namespace, config: Config) -> int:
    from rag.build import open_catalogue
    from serve.tools import serve_tools

    open_catalogue(config).close()
    serve_tools(config)
    return 0


def _papers(args: argparse.Namespace, config: Config) -> int:
    from rag.build import open_catalogue
    from rag.contract import paper_json

    if args.limit is not None and args.limit < 0:
        raise QuestionError(f"--limit is {args.limit}; it must not be below 0")
    where = _filter(args)
    papers = open_catalogue(config).listed(
        where, contains=args.contains, sort=args.sort, reverse=args.reverse, limit=args.limit
    )
    if args.json:
        _print_json({"papers": [paper_json(p) for p in papers]})
        return 0
    width = min(24, max((len(p.venue) for p in papers), default=0))
    known = width or any(p.year for p in papers)
    for paper in papers:
        facts = f"{paper.year or '':4}  {paper.venue[:width]:{width}}  " if known else ""
        print(f"{paper.paper_id}  {facts}{paper.label}  ({_places(paper.sources)})")
    if not papers:
        print("no paper fits", file=sys.stderr)
    return 0


def _filter(args: argparse.Namespace) -> Filter:
    from rag.filters import Filter

    return Filter.parse(
        year=args.year or "", venue=args.venue, author=args.author, keyword=args.keyword, file=args.file
    )


def _duplicates(args: argparse.Namespace, config: Config) -> int:
    from rag.build import open_catalogue

    if args.split or args.join:
        return _decide(args, config)
    found = open_catalogue(config).merges()
    if args.json:
        _print_json({"duplicates": found})
        return 0
    for item in found:
        at = f"{item['source']['file']}#{item['source']['row']}" if "source" in item else ""
        if item["kind"] == "merge":
            print(f"{at} merged into {item['paper_id']}: {', '.join(item['reasons'])}")
        elif item["kind"] == "flag":
            print(f"{item['paper_id']} and {item['other_id']} kept apart: {item['reason']}")
        elif item["paper_id"]:
            print(
                f"{at} split off as {item['paper_id']}, apart from {', '.join(item['apart_from']) or 'none held now'}"
            )
        else:
            print(f"{at} split off; not in the sources now")
    return 0


def _decide(args: argparse.Namespace, config: Config) -> int:
    from rag.build import keep_apart
    from rag.contract import paper_json, report_json

    place = args.split or args.join
    report, paper = keep_apart(config, place, apart=bool(args.split))
    if args.json:
        _print_json({"place": place, "paper": paper_json(paper), **report_json(report)})
        return 0
    others = f", with {_places(rest)}" if (rest := tuple(s for s in paper.sources if str(s) != place)) else ""
    print(
        f"{place} is {'now' if args.split else 'again'} {paper.paper_id}, {paper.label}{others}; {report.papers} papers"
    )
    return 0


def _models(args: argparse.Namespace, config: Config) -> int:
    from rag import models

    if args.action == "list":
        states = models.list_models(config.cache)
        if args.json:
            _print_json({"models": [models.state_json(s) for s in states]})
            return 0
        for state in states:
            present = "present" if state.present else "not fetched"
            print(
                f"{state.name:30} {state.kind:10} {state.size / 1e6:7.0f} MB  {state.licence:12} {present}  {state.note}"
            )
        return 0
    if args.action == "verify":
        checks = models.verify(args.name, config.cache)
        if args.json:
            _print_json({"files": [{"model": c.model, "file": str(c.file), "ok": c.ok} for c in checks]})
        else:
            for check in checks:
                print(f"{'ok ' if check.ok else 'BAD'} {check.model}/{check.file}")
        models.require_ok(checks)
        return 0
    wanted = [args.name] if args.name else [config.embedder] + ([] if config.llm_url else [config.llm])
    for name in wanted:
        path = (
            models.pull(name, cache=config.cache)
            if models.is_registered(name)
            else models.resolve(name, cache=config.cache)
        )
        if not args.json:
            print(f"{name}: {path}")
    if args.json:
        _print_json({"pulled": wanted})
    return 0


def _calibrate(args: argparse.Namespace, config: Config) -> int:
    from dataclasses import asdict

    from eval.calibrate import calibrate
    from eval.questions import default_questions

    found = calibrate(
        config,
        args.questions or default_questions(),
        split=args.split or "calibrate",
        alpha=args.alpha,
        delta=args.delta,
    )
    if args.json:
        _print_json(asdict(found) | {"statement": found.statement})
        return 0
    for tested in found.tested:
        print(
            f"{tested.threshold:.2f}: {tested.wrong:3} of {tested.answered:3} wrong, p = {tested.p:.3g}",
            file=sys.stderr,
        )
    print(f"{found.statement[0].upper()}{found.statement[1:]}.")
    for assumption in found.assumptions if found.threshold is not None else ():
        print(f"- assumed: {assumption}")
    return 0


def _eval(args: argparse.Namespace, config: Config) -> int:
    return int(args.measure(args, config))


def _serve_review(review: Any, *, port: int) -> None:
    from ui.review import serve_review

    serve_review(review, port=port)


def _doctor(args: argparse.Namespace, config: Config) -> int:
    from rag.doctor import examine

    findings = examine(config)
    for finding in findings:
        print(f"{'ok ' if finding.ok else 'BAD'} {finding.subject}: {finding.text}")
    return 0 if all(f.ok for f in findings) else 1


def _batch(args: argparse.Namespace, key: str) -> list[Json]:
    """What is asked: the lines of the batch file, or the one argument. All of it is read before any work starts."""
    single = getattr(args, key)
    if (single is None) == (args.batch is None):
        _usage(f"give either a {key} or --batch FILE.jsonl")
    if args.batch is None:
        return [{key: single}]
    try:
        with _opened(args.batch) as file:
            return list(_lines(file, args.batch, key))
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{args.batch} cannot be read ({error}); give a JSONL file in UTF-8") from error


def _opened(name: str) -> TextIO:
    return sys.stdin if name == "-" else open(name, encoding="utf-8-sig")


def _lines(file: TextIO, name: str, key: str) -> Iterator[Json]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except ValueError as error:
            raise SourceError(f"{name} line {number} is not JSON ({error}); each line must be an object") from error
        if not isinstance(item, dict) or not isinstance(item.get(key), str) or "id" not in item:
            raise SourceError(f'{name} line {number} lacks "id" or a text "{key}": {line.strip()[:80]}')
        yield item


def _each(items: list[Json], work: Callable[[Json], Json]) -> int:
    """Prints one line an item, in order; an item that cannot be worked on gets a line with its error."""
    failed = 0
    for item in items:
        try:
            result = work(item)
        except CitewellError as error:
            failed += 1
            result = {"error": str(error)}
        _print_json({"id": item["id"], **result})
    if failed:
        print(f'citewell: {failed} of {len(items)} lines failed; see their "error"', file=sys.stderr)
    return 1 if failed else 0


def _usage(message: str) -> None:
    print(f"citewell: {message}; see 'citewell --help'", file=sys.stderr)
    raise SystemExit(2)


def _places(sources: tuple[Source, ...]) -> str:
    return ", ".join(map(str, sources))


def _print_json(value: Json) -> None:
    print(json.dumps(value, ensure_ascii=False), flush=True)
