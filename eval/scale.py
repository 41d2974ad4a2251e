"""``citewell eval scale``: how reading, indexing and searching grow with the number of papers.

Each size is measured in processes of its own, so that its peak of memory is its own. The first records of the file are
copied to a folder that is removed afterwards; nothing touches the user's libraries.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eval.progress import progress
from eval.results import Json, citewell_version
from eval.tables import table
from rag import readers
from rag.config import Config
from rag.errors import CitewellError
from rag.records import SourceRecord

if TYPE_CHECKING:
    from rag.embed import Embedder, Vectors
    from rag.library import Library
    from rag.records import Paper

SIZES = (1_000, 10_000, sys.maxsize)
_SAMPLE = 200
_SEED = 11
_BATCH = 100
_ROUNDS = 8
_MARK = "It holds for one paper more."


def measure_scale(config: Config, path: Path, *, sizes: Sequence[int] = SIZES, queries: int = 10_000) -> Json:
    """Measures libraries of the first ``sizes`` records of ``path``; ``queries`` are asked to see whether memory grows.

    Raises CitewellError where the file holds no paper.
    """
    found = [r for r in readers.read_file(path, path.name) if isinstance(r, SourceRecord)]
    if not found:
        raise CitewellError(f"{path} holds no paper; name a file that 'citewell index' reads")
    rows = []
    for size in dict.fromkeys(min(size, len(found)) for size in sizes):
        with tempfile.TemporaryDirectory(prefix="citewell-scale-") as name:
            folder = Path(name)
            source = folder / "papers.jsonl.gz"
            _write(source, found[:size])
            mine = replace(config, data=folder / "data", library="scale")
            load = os.getloadavg()[0]
            row: Json = {"records": size, "load_before": round(load, 2)}
            for what in (_read, _index, _search):
                print(f"{size:,} records: {what.__name__.strip('_')}", file=sys.stderr, flush=True)
                row.update(_apart(what, mine, source, queries))
            rows.append(row)
    return {
        "measured": "scale",
        "citewell": citewell_version(),
        "file": path.name,
        "embedder": config.embedder,
        "machine": {"cores": os.cpu_count(), "processor": platform.machine()},
        "sizes": rows,
    }


def _apart(what: Callable[[Config, Path, int], Json], config: Config, source: Path, queries: int) -> Json:
    """The result of ``what`` in a new process, with the most memory it held, in bytes."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_with_peak, what, config, source, queries).result()


def _with_peak(what: Callable[[Config, Path, int], Json], config: Config, source: Path, queries: int) -> Json:
    found = what(config, source, queries)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return {**found, f"{what.__name__.strip('_')}_peak_bytes": peak}


def _write(path: Path, records: Sequence[SourceRecord]) -> None:
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
        for record in records:
            body = {name: value for name, value in asdict(record).items() if value and name != "source"}
            file.write(json.dumps(body, ensure_ascii=False) + "\n")


def _read(config: Config, source: Path, queries: int) -> Json:
    """Reading and finding duplicates, without writing anything."""
    from rag.dedupe import dedupe

    started = _now()
    records = [r for r in readers.read_file(source, source.name) if isinstance(r, SourceRecord)]
    read = _now()
    unique = dedupe(records)
    return {"papers": len(unique.papers), **_spent("read", read - started), **_spent("dedupe", _now() - read)}


def _now() -> NDArray[np.float64]:
    """(2,): the clock, and the time all processors have spent on this process, in seconds. On a machine that others use
    too the second says what the first would be without them."""
    return np.array([time.perf_counter(), time.process_time()])


def _spent(what: str, seconds: NDArray[np.float64]) -> Json:
    return {f"{what}_s": round(float(seconds[0]), 2), f"{what}_cpu_s": round(float(seconds[1]), 2)}


class _Timed:
    """An embedder that counts the time it spends on embedding, as ``_now`` does."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.spent = np.zeros(2)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def read(
        self, texts: Sequence[str], *, on_batch: Callable[[int], None] | None = None
    ) -> tuple[Vectors, list[Vectors]]:
        started = _now()
        found = self._embedder.read(texts, on_batch=on_batch)
        self.spent += _now() - started
        return found


def _index(config: Config, source: Path, queries: int) -> Json:
    """Indexing, then again after one abstract was changed; and the rate of embedding against the bare model's."""
    from rag.build import library_folder, load_embedder
    from rag.sync import sync

    embedder = load_embedder(config)
    timed = _Timed(embedder)
    folder = library_folder(config)

    def run() -> tuple[Any, NDArray[np.float64]]:
        started = _now()
        report = sync(folder, [source], lambda: timed, embedder_print=embedder.fingerprint)  # type: ignore[arg-type,return-value]
        return report, _now() - started

    first, spent = run()
    embedding = timed.spent.copy()
    disk = {part: _bytes(folder.glob(part)) for part in ("catalogue.*", "vectors", "words-*", "embeddings-*")}
    records = [r for r in readers.read_file(source, source.name) if isinstance(r, SourceRecord)]
    middle = len(records) // 2
    records[middle] = replace(records[middle], abstract=f"{records[middle].abstract} {_MARK}")
    _write(source, records)
    change, changing = run()
    return {
        "passages": first.embedded,
        **_spent("index_without_embedding", spent - embedding),
        **_spent("embedding", embedding),
        "passages_per_s": round(first.embedded / float(embedding[0]), 1),
        **_spent("one_change", changing),
        "one_change_embedded": change.embedded,
        "disk_bytes": disk,
        "rate_against_bare_model": _against_bare(embedder, [r.abstract for r in records]),
    }


def _against_bare(embedder: Embedder, texts: Sequence[str], *, size: int = 128) -> float:
    """Our rate over the bare model's on the same texts, in turns: the median of several."""
    bare = embedder._model  # what Embedder.load made, asked without us
    rng = random.Random(_SEED)
    ratios = []
    for at in range(_ROUNDS):
        part = rng.sample(list(texts), min(size, len(texts)))
        times = {}
        for who in ("ours", "bare") if at % 2 else ("bare", "ours"):
            started = time.perf_counter()
            if who == "ours":
                embedder.read(part)
            else:
                bare.encode(part, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)
            times[who] = time.perf_counter() - started
        ratios.append(times["bare"] / times["ours"])
    return round(statistics.median(ratios), 3)


def _search(config: Config, source: Path, queries: int) -> Json:
    """Opening, single and batch searches, the approximate neighbours against the exact ones, and memory."""
    from rag.build import load_embedder, open_library
    from rag.retrieve import CitewellRetriever

    embedder = load_embedder(config)
    embedder.encode(["warm"])
    started = time.perf_counter()
    library = open_library(config, embedder)
    retriever = CitewellRetriever(library)
    opened = time.perf_counter() - started
    retriever.search("What is the first question of all?")
    answering = time.perf_counter() - started
    asked = _questions(library.papers(), queries)
    sample, batch = asked[:_SAMPLE], asked[_SAMPLE : 2 * _SAMPLE]
    times, processor, embedding = [], [], []
    for question in sample:
        began = _now()
        embedder.questions([question])
        embedding.append(1000 * float((_now() - began)[0]))
        retriever.search(question)
        taken = 1000 * (_now() - began)
        times.append(float(taken[0]))
        processor.append(float(taken[1]))
    started = time.perf_counter()
    for at in range(0, len(batch), _BATCH):
        retriever.search_many(batch[at : at + _BATCH])
    rate = len(batch) / (time.perf_counter() - started)
    found: Json = {
        "open_s": round(opened, 2),
        "open_and_answer_s": round(answering, 2),
        "search_ms": {"p50": _at(times, 0.5), "p95": _at(times, 0.95), "n": len(times)},
        "search_cpu_ms": {"p50": _at(processor, 0.5), "p95": _at(processor, 0.95)},
        "query_embedding_ms": {"p50": _at(embedding, 0.5), "p95": _at(embedding, 0.95)},
        "searches_per_s": round(1000 * len(times) / sum(times), 1),
        "batch_searches_per_s": round(rate, 1),
        "ann_recall_at_10": _recall(library, sample),
    }
    memory = []
    for number, question in enumerate(progress(asked, "searches")):
        retriever.search(question)
        if number in (len(asked) // 10, len(asked) // 2, len(asked) - 1):
            memory.append({"queries": number + 1, "bytes": _resident()})
    library.close()
    return {**found, "memory": memory}


def _questions(papers: Sequence[Paper], count: int) -> list[str]:
    """Sentences of abstracts, each once as long as there are enough, in an order of their own."""
    from rag.sentences import sentence_spans

    rng = random.Random(_SEED)
    found: list[str] = []
    while len(found) < count:
        for paper in rng.sample(list(papers), len(papers)):
            spans = sentence_spans(paper.abstract)
            start, end = spans[rng.randrange(len(spans))]
            found.append(paper.abstract[start:end][:400] + (f" ({len(found)})" if len(found) >= len(papers) else ""))
            if len(found) == count:
                break
    return found


def _recall(library: Library, questions: Sequence[str]) -> float:
    """The part of the 10 exactly nearest passages that the index brings up, over all ``questions``."""
    snapshot = library.snapshot()
    ids = list(snapshot.paper_of_chunk)
    position = {chunk_id: i for i, chunk_id in enumerate(ids)}
    vectors = snapshot.embeddings.vectors(ids)
    asked = library.embedder.remember(questions)
    shares = []
    for vector, near in zip(asked, snapshot.vectors.nearest(asked, 200), strict=True):
        cosines = vectors @ vector
        # passages as near as the tenth are as right as it
        least = np.partition(cosines, max(0, len(cosines) - 10))[max(0, len(cosines) - 10)] - 1e-6
        known = [position[chunk_id] for chunk_id, _ in near if chunk_id in position][:10]
        right = [i for i in known if cosines[i] >= least]
        shares.append(len(right) / min(10, len(ids)))
    return round(float(np.mean(shares)), 4)


def _at(values: Sequence[float], quantile: float) -> float:
    return round(float(np.quantile(values, quantile)), 1)


def _bytes(paths: Any) -> int:
    files = (f for path in paths for f in ([path] if path.is_file() else path.rglob("*")) if f.is_file())
    return sum(f.stat().st_size for f in files)


def _resident() -> int:
    """Bytes of memory the process holds now; where the system does not tell, the most it held."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def print_scale(results: Json) -> str:
    """The table: a line a figure, a column a size."""
    rows = results["sizes"]

    def line(name: str, cell: Callable[[Json], str]) -> list[str]:
        return [name, *map(cell, rows)]

    def both(what: str) -> Callable[[Json], str]:
        return lambda r: f"{r[f'{what}_s']:.1f} ({r[f'{what}_cpu_s']:.1f})"

    def percentiles(key: str) -> Callable[[Json], str]:
        return lambda r: f"{r[key]['p50']:.0f} / {r[key]['p95']:.0f}"

    lines = [
        line("papers", lambda r: f"{r['papers']:,}"),
        line("read, s", both("read")),
        line("find duplicates, s", both("dedupe")),
        line("index all but embedding, s", both("index_without_embedding")),
        line("passages embedded a second", lambda r: f"{r['passages_per_s']:,.0f}"),
        line("  against the bare model", lambda r: f"{r['rate_against_bare_model']:.0%}"),
        line("one abstract changed, s", both("one_change")),
        line("disk, MB", lambda r: f"{sum(r['disk_bytes'].values()) / 1e6:,.0f}"),
        line("peak memory indexing, MB", lambda r: f"{r['index_peak_bytes'] / 1e6:,.0f}"),
        line("open, s", lambda r: f"{r['open_s']:.2f}"),
        line("search p50 / p95, ms", percentiles("search_ms")),
        line("search p50 / p95, ms of processors", percentiles("search_cpu_ms")),
        line("searches a second, batch", lambda r: f"{r['batch_searches_per_s']:.0f}"),
        line("ANN recall@10", lambda r: f"{r['ann_recall_at_10']:.3f}"),
        line("memory searching, MB", lambda r: " → ".join(f"{m['bytes'] / 1e6:,.0f}" for m in r["memory"])),
    ]
    loads = ", ".join(str(r["load_before"]) for r in rows)
    where = f"{results['machine']['cores']} cores, embedder {results['embedder']}, load before {loads}"
    heads = ["records", *(f"{r['records']:,}" for r in rows)]
    return f"{table(heads, lines)}\n{where}; in brackets the time the processors spent, without that of other processes"
