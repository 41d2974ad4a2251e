"""The commands under ``citewell eval``: parse, call, print. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.errors import CitewellError

if TYPE_CHECKING:
    from eval.results import Json
    from rag.config import Config

SPLITS = ("tune", "calibrate", "test", "all")


def add_commands(parser: argparse.ArgumentParser, *, serve_review: Callable[..., None]) -> None:
    """Adds the commands to the parser of ``citewell eval``; each sets ``measure``, a function (args, config) -> int.

    ``serve_review`` (review, port) serves the page of ``eval review``: the evaluation does not know the pages.
    """
    commands = parser.add_subparsers(title="measurements", metavar="MEASUREMENT", required=True)

    def command(name: str, run: Callable[[argparse.Namespace, Config], int], summary: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=summary, description=summary)
        sub.set_defaults(measure=run)
        return sub

    def with_questions(sub: argparse.ArgumentParser) -> None:
        # suppressed: a default here would hide what was said before the subcommand
        sub.add_argument("--questions", metavar="FILE", type=Path, help="JSONL (default: questions about the seeds)")
        sub.add_argument("--split", choices=SPLITS, default="all", help="which split of them (default: all)")
        sub.add_argument("--library", metavar="NAME", default=argparse.SUPPRESS, help="the library to use")
        sub.add_argument("--out", metavar="FILE.json", type=Path, help="write everything measured, as JSON")

    def with_json(sub: argparse.ArgumentParser) -> None:
        sub.add_argument("--json", action="store_true", help="print one JSON object, and nothing else")

    retrieval = command("retrieval", _retrieval, "measure what is found, over questions or a collection of others")
    with_questions(retrieval)
    # not "run", which is the command's own
    retrieval.add_argument(
        "--run",
        metavar="FILE",
        dest="run_file",
        type=Path,
        help="write rankings in TREC's form (--systems: to a folder)",
    )
    retrieval.add_argument("--llm", action="store_true", help="resolve Chinese and follow-up questions by the LLM")
    retrieval.add_argument("--beir", metavar="FOLDER", type=Path, help="measure over BEIR's or Cranfield's files")
    retrieval.add_argument("--qrels", metavar="SPLIT", default="test", help="judgements of --beir (default: test)")

    retrieval.add_argument("--systems", metavar="FILE.toml", type=Path, help="compare several systems, a table each")
    retrieval.add_argument("--baseline", metavar="NAME", help="compare all systems with this one, not all pairs")
    retrieval.add_argument(
        "--trec", metavar="QRELS", type=Path, help="judgements in TREC's form, for --systems with runs"
    )
    with_json(retrieval)

    answers = command("answers", _answers, "ask every question and score the answers; goes on where it was stopped")
    with_questions(answers)
    answers.add_argument("--kinds", metavar="KIND[,KIND…]", type=_listed, help="only these kinds of questions")
    answers.add_argument("--limit", metavar="N", type=int, help="only N of them, spread evenly")
    answers.add_argument("--fresh", action="store_true", help="ask anew what was asked before")

    answers.add_argument("--judge-url", metavar="URL", help="also ask a judge: an OpenAI-compatible server")
    answers.add_argument("--judge-model", metavar="MODEL", help="the model to ask there")
    with_json(answers)

    leaks = command(
        "leaks", _leaks, "find what the splits of a questions file share: near-duplicates, papers, passages"
    )
    leaks.add_argument("--questions", metavar="FILE", type=Path, help="JSONL (default: questions about the seeds)")
    leaks.add_argument("--words-only", action="store_true", help="do without the embedding model")
    leaks.add_argument("--out", metavar="FILE.json", type=Path, help="write everything found, as JSON")
    with_json(leaks)

    gain = command("gain", _gain, "tell what more splits of the questions buy, and after how many they buy no more")
    gain.add_argument(
        "results", metavar="RESULTS.json", type=Path, nargs="+", help="what --out wrote; several: each is a split"
    )
    gain.add_argument("--measure", metavar="NAME", help="of which measure (default: right, or nDCG@10)")
    gain.add_argument("--system", metavar="NAME", help="of which system, where there are several")
    gain.add_argument("--less", metavar="NAME", help="of its difference to this system")
    gain.add_argument("--splits", metavar="N", type=int, default=50, help="splits to draw (default: 50)")
    gain.add_argument("--share", metavar="SHARE", type=float, default=0.3, help="test part of each (default: 0.3)")
    gain.add_argument(
        "--enough", metavar="SHARE", type=float, default=0.05, help="stop below this gain (default: 0.05)"
    )
    with_json(gain)

    gate = command("gate", _gate, "hold the quick retrieval figures on the seeds against the committed baseline")
    gate.add_argument("--library", metavar="NAME", default=argparse.SUPPRESS, help="the library that holds the seeds")
    gate.add_argument("--renew", action="store_true", help="make what is measured now the baseline")
    with_json(gate)

    encoders = command("encoders", _encoders, "rank embedding models for a library, without labels")
    encoders.add_argument("names", metavar="ENCODER", nargs="*", help="as the setting 'embedder' (default: those here)")
    encoders.add_argument("--questions", metavar="FILE", type=Path, help="hold it against these questions' labels")
    encoders.add_argument("--library", metavar="NAME", default=argparse.SUPPRESS, help="the library to use")
    encoders.add_argument("--out", metavar="FILE.json", type=Path, help="write everything measured, as JSON")
    with_json(encoders)

    fusion = command("fusion", _fusion, "compare ways to fuse the retriever's legs, by nested cross-validation")
    fusion.add_argument("beir", metavar="FOLDER", type=Path, help="a collection in BEIR's form, or Cranfield's")
    fusion.add_argument("--qrels", metavar="SPLIT", default="train", help="judgements of it (default: train)")
    fusion.add_argument("--out", metavar="FILE.json", type=Path, help="write everything measured, as JSON")
    with_json(fusion)

    make = command("make", _make, "write questions about a library with the language model, and drop the bad ones")
    make.add_argument("--library", metavar="NAME", default=argparse.SUPPRESS, help="the library to use")
    make.add_argument("--out", metavar="FILE.jsonl", type=Path, help="where to (default: questions-LIBRARY.jsonl)")
    make.add_argument("--count", metavar="N", type=int, default=40, help="how many, all kinds together (default: 40)")
    make.add_argument(
        "--kinds", metavar="KIND[,KIND…]", type=_listed, help="single, paraphrase, two-paper, unanswerable"
    )
    make.add_argument("--seed", metavar="N", type=int, default=0, help="another seed, other questions (default: 0)")
    make.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    peers = command("peers", _peers, "ask other systems the same questions, with the same models and the same scorer")
    with_questions(peers)
    peers.add_argument("--kinds", metavar="KIND[,KIND…]", type=_listed, help="only these kinds of questions")
    peers.add_argument("--limit", metavar="N", type=int, help="only N of them, spread evenly")
    peers.add_argument("--peers", metavar="NAME[,NAME…]", type=_listed, help="citewell, citation-engine, paperqa")
    peers.add_argument(
        "--patience", metavar="S", type=float, default=600.0, help="seconds PaperQA2 may take a question (default: 600)"
    )
    peers.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    review = command("review", _review, "read made questions in the browser: accept, edit or drop each")
    review.add_argument("file", metavar="FILE.jsonl", type=Path, help="what 'citewell eval make' wrote")
    review.add_argument("--library", metavar="NAME", default=argparse.SUPPRESS, help="the library they are about")
    review.set_defaults(serve_review=serve_review)
    review.add_argument("--port", type=int, default=7861, help="port to bind, on this machine only (default: 7861)")

    cases = command("cases", _cases, "list the thumbs given on the page, and write them as questions")
    cases.add_argument("--library", metavar="NAME", default=argparse.SUPPRESS, help="the library to use")
    cases.add_argument("--out", metavar="FILE.jsonl", type=Path, help="write them as a questions file")
    cases.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    papers = command("table", _table, "print, paper by paper, whether it is found, answered and rightly cited")
    papers.add_argument("results", metavar="RESULTS.json", type=Path, help="what 'citewell eval answers --out' wrote")

    report = command("report", _report, "make one HTML page of results that opens without a network")
    report.add_argument(
        "results", metavar="RESULTS.json", type=Path, help="what 'answers' or 'retrieval' wrote by --out"
    )
    report.add_argument("-o", "--out", metavar="FILE.html", type=Path, default=Path("report.html"), help="the page")
    report.add_argument("--against", metavar="EARLIER.json", type=Path, help="compare with an earlier run")
    report.add_argument("--system", metavar="NAME", help="compare this system of it (default: the first)")
    with_json(report)

    fit = command("fit", _fit, "fit a model that ships with Citewell on the tuning questions, and put it in place")
    fit.add_argument("model", choices=["evidence", "confidence", "stance", "topics"], help="which one")
    fit.add_argument("--scifact", metavar="FOLDER", type=Path, help="for stance: SciFact's corpus and claims")
    with_questions(fit)

    bound = command("guarantee", _guarantee, "put the bound on wrong answers to the test over random halvings")
    bound.add_argument("results", metavar="RESULTS.json", type=Path, help="what 'citewell eval answers --out' wrote")
    bound.add_argument("--out", metavar="FILE.json", type=Path, help="write everything measured, as JSON")

    verify = command("verify", _verify, "measure how well sentences are checked")
    verify.add_argument("--scifact", metavar="FOLDER", type=Path, help="SciFact's corpus and claims, with gold papers")
    verify.add_argument("--claims", metavar="SPLIT", default="dev", help="which claims of it (default: dev)")
    verify.add_argument("--answers", metavar="RESULTS.json", type=Path, help="falsify the sentences of these answers")
    verify.add_argument("--library", metavar="NAME", default=argparse.SUPPRESS, help="the library of the answers")
    verify.add_argument("--out", metavar="FILE.json", type=Path, help="write everything measured, as JSON")

    bench = command("bench", _bench, "time search and answers, warm")
    with_questions(bench)
    bench.add_argument("--limit", metavar="N", type=int, default=20, help="how many questions to answer (default: 20)")

    scale = command("scale", _scale, "measure how indexing and search grow with the number of papers")
    scale.add_argument("papers", metavar="FILE", type=Path, help="a file of papers, the more the better")
    scale.add_argument(
        "--sizes",
        metavar="N[,N…]",
        type=_numbers,
        help="libraries of its first N records (default: 1000,10000 and all)",
    )
    scale.add_argument(
        "--queries", metavar="N", type=int, default=10_000, help="searches to watch memory over (default: 10000)"
    )
    scale.add_argument("--out", metavar="FILE.json", type=Path, help="write everything measured, as JSON")


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str) -> list[int]:
    numbers = [int(part) for part in _listed(text)]
    if not numbers or min(numbers) < 1:
        raise ValueError(text)
    return numbers


def _retrieval(args: argparse.Namespace, config: Config) -> int:
    from eval.questions import default_questions
    from eval.results import write_json
    from eval.retrieval import measure_collection, measure_questions, print_retrieval

    if args.systems:
        return _systems(args, config)
    if args.trec or args.baseline:
        raise CitewellError("--trec and --baseline are for several systems; name their file with --systems")
    if args.beir:
        results, run = measure_collection(config, args.beir, split=args.qrels)
    else:
        path = args.questions or default_questions()
        results, run = measure_questions(config, path, split=args.split, with_llm=args.llm)
    if args.run_file:
        from eval.collections import write_run

        write_run(args.run_file, run, "citewell")
    if args.out:
        write_json(args.out, results)
    _print(args, results, print_retrieval)
    return 0


def _systems(args: argparse.Namespace, config: Config) -> int:
    from eval.collections import write_run
    from eval.contest import measure_systems, over_collection, over_qrels, over_questions, print_systems
    from eval.questions import default_questions
    from eval.results import write_json

    if args.llm:
        raise CitewellError(
            "--llm cannot go with --systems: what the language model makes of a question is Citewell's own"
        )
    if args.trec:
        task, papers = over_qrels(args.trec), None
    elif args.beir:
        task, papers = over_collection(config, args.beir, split=args.qrels)
    else:
        task, papers = over_questions(config, args.questions or default_questions(), split=args.split)
    results, runs = measure_systems(args.systems, task, papers, baseline=args.baseline)
    if papers:
        papers.close()
    for name, run in runs.items() if args.run_file else ():
        write_run(args.run_file / f"{name}.run", run, name)
    if args.out:
        write_json(args.out, results)
    _print(args, results, print_systems)
    return 0


def _print(args: argparse.Namespace, results: Json, text: Callable[[Json], str]) -> None:
    """The results on stdout: as one JSON object where that was asked for, else as text."""
    print(json.dumps(results, ensure_ascii=False, allow_nan=False) if args.json else text(results))


def _answers(args: argparse.Namespace, config: Config) -> int:
    from eval.answers import measure_answers
    from eval.questions import default_questions
    from eval.results import write_json
    from eval.summary import print_summary

    judge = None
    if args.judge_url or args.judge_model:
        from eval.judge import Judge

        judge = Judge.at(config, url=args.judge_url or "", model=args.judge_model or "")
    results = measure_answers(
        config,
        args.questions or default_questions(),
        split=args.split,
        kinds=args.kinds,
        limit=args.limit,
        fresh=args.fresh,
        judge=judge,
    )
    if args.out:
        write_json(args.out, results)
        print(f"written: {args.out}", file=sys.stderr)
    _print(args, results, lambda found: print_summary(found["summary"]))
    if judge and not args.json:
        from eval.judge import print_judge

        print("\n" + print_judge(results["judge"]))
    return 0


def _make(args: argparse.Namespace, config: Config) -> int:
    import json

    from eval.make import make_questions, print_made

    path = args.out or Path(f"questions-{config.library}.jsonl")
    results = make_questions(config, path, count=args.count, kinds=args.kinds, seed=args.seed)
    print(json.dumps(results, ensure_ascii=False) if args.json else print_made(results))
    return 0


def _peers(args: argparse.Namespace, config: Config) -> int:
    import json

    from eval.peers import measure_peers, print_peers
    from eval.questions import default_questions
    from eval.results import write_json

    results = measure_peers(
        config,
        args.questions or default_questions(),
        split=args.split,
        kinds=args.kinds,
        limit=args.limit,
        peers=args.peers,
        patience=args.patience,
    )
    if args.out:
        write_json(args.out, results)
    print(json.dumps(results, ensure_ascii=False) if args.json else print_peers(results))
    return 0


def _review(args: argparse.Namespace, config: Config) -> int:
    from eval.review import Review
    from rag.build import open_catalogue

    catalogue = open_catalogue(config)
    papers = {p.paper_id: p for p in catalogue.papers()}
    catalogue.close()
    review = Review(args.file, papers)
    args.serve_review(review, port=args.port)
    print(f"{review.accepted_path}: {review.counts()['accepted']} accepted", file=sys.stderr)
    return 0


def _cases(args: argparse.Namespace, config: Config) -> int:
    import json

    from eval.cases import cases_json, cases_of, print_cases
    from eval.questions import as_line
    from eval.results import write_text

    questions, left = cases_of(config)
    if args.out and questions:
        write_text(args.out, "".join(as_line(q) + "\n" for q in questions))
        print(f"written: {args.out}", file=sys.stderr)
    written = str(args.out) if args.out and questions else ""
    if args.json:
        print(json.dumps(cases_json(questions, left, written), ensure_ascii=False))
    else:
        print(print_cases(questions, left))
    return 0


def _table(args: argparse.Namespace, config: Config) -> int:
    from eval.answers import paper_table, read_answers

    print(paper_table(read_answers(args.results)))
    return 0


def _report(args: argparse.Namespace, config: Config) -> int:
    from eval.against import compare_runs, print_change
    from eval.outcomes import read_outcomes
    from eval.report import report_html
    from eval.results import write_text

    results, _ = read_outcomes(args.results)
    change = compare_runs(results, read_outcomes(args.against)[0], system=args.system) if args.against else None
    write_text(args.out, report_html(results, change))
    print(f"written: {args.out}", file=sys.stderr)
    if change:
        _print(args, change, print_change)
    elif args.json:
        _print(args, {"measured": "report", "of": results["measured"], "page": str(args.out)}, str)
    return 0


def _leaks(args: argparse.Namespace, config: Config) -> int:
    from eval.leaks import find_leaks, print_leaks
    from eval.questions import default_questions, load_questions
    from eval.results import write_json
    from rag.build import load_embedder

    questions = load_questions(args.questions or default_questions())
    found = find_leaks(questions, None if args.words_only else load_embedder(config).encode)
    if args.out:
        write_json(args.out, found)
    _print(args, found, print_leaks)
    return 0


def _gain(args: argparse.Namespace, config: Config) -> int:
    from eval.gain import measure_gain, print_gain

    found = measure_gain(
        args.results,
        measure=args.measure,
        system=args.system,
        less=args.less,
        splits=args.splits,
        share=args.share,
        enough=args.enough,
    )
    _print(args, found, print_gain)
    return 0


def _gate(args: argparse.Namespace, config: Config) -> int:
    from eval import gate
    from eval.questions import default_questions
    from rag.build import open_library

    library = open_library(config)
    now = gate.quick_figures(library, default_questions())
    library.close()
    if args.renew:
        gate.renew(gate.baseline_path(), now)
        print(f"written: {gate.baseline_path()}", file=sys.stderr)
    baseline = gate.read_baseline(gate.baseline_path())
    _print(
        args,
        {"measured": "gate", "figures": gate.held_against(now, baseline)},
        lambda _: gate.print_gate(now, baseline),
    )
    gate.require_no_fall(now, baseline)
    return 0


def _fusion(args: argparse.Namespace, config: Config) -> int:
    from eval.fusion import measure_fusion, print_fusion
    from eval.results import write_json

    results = measure_fusion(config, args.beir, split=args.qrels)
    if args.out:
        write_json(args.out, results)
    _print(args, results, print_fusion)
    return 0


def _encoders(args: argparse.Namespace, config: Config) -> int:
    from eval.encoders import measure_encoders, print_encoders
    from eval.results import write_json

    results = measure_encoders(config, args.names or _encoders_here(config), args.questions)
    if args.out:
        write_json(args.out, results)
    _print(args, results, print_encoders)
    return 0


def _encoders_here(config: Config) -> list[str]:
    """The embedding models of the registry that need no download."""
    from rag.models import list_models

    here = [s.name for s in list_models(config.cache) if s.kind == "embedding" and s.present]
    return here or [config.embedder]


def _guarantee(args: argparse.Namespace, config: Config) -> int:
    from eval.answers import read_answers
    from eval.calibrate import measure_guarantee, print_guarantee
    from eval.results import write_json

    results = measure_guarantee(read_answers(args.results)["records"], alphas=(0.05, 0.1, 0.2, 0.3), delta=0.05)
    if args.out:
        write_json(args.out, results)
    print(print_guarantee(results))
    return 0


def _verify(args: argparse.Namespace, config: Config) -> int:
    from eval.results import write_json
    from eval.verify import measure_answers_falsified, measure_claims, print_verify
    from rag.errors import CitewellError

    if not (args.scifact or args.answers):
        raise CitewellError("nothing to measure; give --scifact FOLDER or --answers RESULTS.json or both")
    results: dict[str, Any] = {"measured": "verify"}
    if args.scifact:
        from rag.build import load_embedder

        results["claims"] = measure_claims(args.scifact, args.claims, load_embedder(config))
    if args.answers:
        from eval.answers import read_answers
        from rag.build import open_library

        records = read_answers(args.answers)["records"]
        results["falsified"] = measure_answers_falsified(records, open_library(config))
    if args.out:
        write_json(args.out, results)
    print(print_verify(results))
    return 0


def _bench(args: argparse.Namespace, config: Config) -> int:
    from eval.bench import measure_times, print_times
    from eval.questions import default_questions
    from eval.results import write_json

    results = measure_times(config, args.questions or default_questions(), split=args.split, limit=args.limit)
    if args.out:
        write_json(args.out, results)
    print(print_times(results))
    return 0


def _scale(args: argparse.Namespace, config: Config) -> int:
    from eval.results import write_json
    from eval.scale import SIZES, measure_scale, print_scale

    results = measure_scale(config, args.papers, sizes=args.sizes or SIZES, queries=args.queries)
    if args.out:
        write_json(args.out, results)
    print(print_scale(results))
    return 0


def _fit(args: argparse.Namespace, config: Config) -> int:
    from importlib.resources import files

    from eval.fit import fit_confidence, fit_evidence, write_model
    from eval.questions import default_questions, load_questions, select

    if args.model == "stance":
        from eval.fit import fit_stance
        from eval.verify import claim_rows
        from rag.build import load_embedder
        from rag.errors import CitewellError

        if args.scifact is None:
            raise CitewellError("fit stance needs --scifact FOLDER, which holds corpus.jsonl.gz and claims_train.jsonl")
        rows, claims = claim_rows(args.scifact, "train", load_embedder(config))
        target = args.out or Path(str(files("rag"))) / "stance.json"
        write_model(target, fit_stance(rows, [c.stance for c in claims]))
        print(f"fitted on SciFact's training claims: {target}")
        return 0
    path = args.questions or default_questions()
    split = "tune" if args.split == "all" else args.split
    root = Path(str(files("rag")))
    if args.model == "evidence":
        from rag.build import open_library
        from rag.retrieve import CitewellRetriever

        kinds = ("single", "paraphrase", "late", "two-paper")
        asked = select(load_questions(path), split=split, kinds=kinds)
        text = fit_evidence(
            CitewellRetriever(open_library(config)), [(q.question, q.papers, q.evidence) for q in asked]
        )
        target = args.out or root / "evidence.json"
    elif args.model == "topics":
        from eval.fit import fit_topics
        from rag.build import open_library

        # few ask for a topic, so both parts that are not the test are used
        parts = ("tune", "calibrate") if args.split == "all" else (args.split,)
        chosen = [q for part in parts for q in select(load_questions(path), split=part)]
        wanted = [q for q in chosen if q.kind in ("whole-library", "unanswerable")]
        text = fit_topics(open_library(config), [(q.english or q.question, q.papers) for q in wanted])
        target, split = args.out or root / "topic.json", " and ".join(parts)
    else:
        from eval.answers import measure_answers

        text = fit_confidence(measure_answers(config, path, split=split, threshold=0.0)["records"])
        target = args.out or root / "abstain.json"
    write_model(target, text)
    print(f"fitted on the {split} questions: {target}")
    return 0
