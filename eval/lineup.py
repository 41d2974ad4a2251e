"""Systems that compete over the same questions: a TOML file with a table for each, and what each of them finds.

A table ``[NAME]`` names one of three things: a configuration of Citewell (``retriever``, ``embedder``), the factory of
any LlamaIndex ``BaseRetriever`` (``class = "package.module:factory"``, ``args``), or a ranking that was made elsewhere,
in TREC's form (``run``). ``k`` is how deep its ranking goes.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval import systems
from eval.collections import read_run
from rag.config import Config, read_toml
from rag.errors import CitewellError

if TYPE_CHECKING:
    from llama_index.core.base.base_retriever import BaseRetriever

    from rag.embed import Embedder
    from rag.library import Library
    from rag.records import Paper

Run = dict[str, dict[str, float]]
RETRIEVERS: Mapping[str, Callable[..., Run]] = {
    "fused": systems.citewell,
    "graph": partial(systems.citewell, graph=True),
    "bm25": systems.words_alone,
    "dense": systems.vectors_alone,
}
"""Citewell's own retriever, the same over the graph of passages, and its two legs by themselves."""
_KINDS: dict[str, tuple[type, ...]] = {
    "retriever": (str,),
    "embedder": (str,),
    "reranker": (str,),
    "class": (str,),
    "args": (dict,),
    "run": (str,),
    "k": (int,),
}
_OF_ANOTHER_KIND = {
    "class": {"retriever", "embedder", "reranker", "run"},
    "run": {"retriever", "embedder", "reranker", "args"},
}
_NAME = re.compile(r"[\w.+-]{1,40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One table of the file."""

    name: str
    retriever: str = "fused"
    embedder: str = ""
    """As the setting of that name; empty: the one in force."""
    reranker: str = ""
    """As the setting of that name; empty: the one in force."""
    factory: str = ""
    """Where a BaseRetriever is made: ``package.module:name``."""
    args: Mapping[str, Any] = field(default_factory=dict)
    run: Path | None = None
    k: int = 100

    def told(self) -> dict[str, Any]:
        """What was set, for the record of a measurement."""
        if self.run:
            return {"run": self.run.name, "k": self.k}
        if self.factory:
            return {"class": self.factory, "args": dict(self.args), "k": self.k}
        named = {name: value for name in ("embedder", "reranker") if (value := getattr(self, name))}
        return {"retriever": self.retriever, **named, "k": self.k}


class Field:
    """What systems compete over: the same papers, as a library for each choice of models that one of them makes."""

    def __init__(self, config: Config, library: Library, place: Callable[[Embedder], Path]) -> None:
        """``library`` is for the embedding model in force; ``place`` says where a library for another is kept."""
        self.papers: list[Paper] = library.papers()
        self._config = config
        self._place = place
        self._libraries = {(config.embedder, config.reranker): library}

    def library(self, embedder: str, reranker: str) -> Library:
        """The papers indexed with the embedding model of that name and searched with that cross-encoder (empty: those in
        force); made when it is first asked for."""
        chosen = (embedder or self._config.embedder, reranker or self._config.reranker)
        if chosen not in self._libraries:
            from rag.build import load_embedder, load_reranker

            config = replace(self._config, embedder=chosen[0], reranker=chosen[1])
            model = load_embedder(config)
            self._libraries[chosen] = systems.paper_library(
                self._place(model), self.papers, model, load_reranker(config)
            )
        return self._libraries[chosen]

    def close(self) -> None:
        for library in {id(held): held for held in self._libraries.values()}.values():
            library.close()


def load_systems(path: Path) -> list[System]:
    """The systems of a TOML file, in its order. Raises CitewellError for an unknown key or an unusable value."""
    tables = read_toml(path)
    if not tables:
        raise CitewellError(f'{path} names no system; give each a table, such as [bm25] with retriever = "bm25"')
    return [_system(path, name, table) for name, table in tables.items()]


def find(system: System, papers: Field | None, queries: Mapping[str, str], *, beside: Path) -> Run:
    """What ``system`` finds for each of ``queries``, at most ``k`` papers a query.

    ``papers`` may be None for a system with a ``run``. ``beside`` is the folder of the TOML file: a factory's module is looked for there too. Raises CitewellError, with
    the system's name, for whatever goes wrong in it.
    """
    if system.run:
        return {
            query: systems.cut(found, system.k) for query, found in read_run(system.run).items() if query in queries
        }
    assert papers is not None
    if system.factory:
        with _path(beside):
            return _asked(system, _made(system, papers.papers), {p.paper_id for p in papers.papers}, queries)
    return RETRIEVERS[system.retriever](papers.library(system.embedder, system.reranker), queries, k=system.k)


def _system(path: Path, name: str, table: Any) -> System:
    where = f"{path}: system {name!r}"
    if not isinstance(table, dict):
        raise CitewellError(f"{path}: {name!r} stands outside of any table; put it under a [NAME] of a system")
    if not _NAME.fullmatch(name):
        raise CitewellError(f"{where} cannot be named so; take up to 40 letters, digits and .+-_")
    for key, value in table.items():
        if key not in _KINDS:
            raise CitewellError(f"{where}: unknown key {key!r}; known ones: {', '.join(_KINDS)}")
        if not isinstance(value, _KINDS[key]) or isinstance(value, bool):
            raise CitewellError(f"{where}: {key} is {value!r}; it must be a {_KINDS[key][0].__name__}")
    for key, others in _OF_ANOTHER_KIND.items():
        if key in table and (extra := sorted(others & table.keys())):
            raise CitewellError(f"{where} has both {key!r} and {extra[0]!r}; they are of different kinds of systems")
    if "args" in table and "class" not in table:
        raise CitewellError(f"{where} has 'args' but no 'class' to hand them to")
    system = System(
        name=name,
        retriever=table.get("retriever", "fused"),
        embedder=table.get("embedder", ""),
        reranker=table.get("reranker", ""),
        factory=table.get("class", ""),
        args=table.get("args", {}),
        run=path.parent / table["run"] if "run" in table else None,
        k=table.get("k", 100),
    )
    if system.retriever not in RETRIEVERS:
        raise CitewellError(f"{where}: unknown retriever {system.retriever!r}; take one of {', '.join(RETRIEVERS)}")
    if "class" in table and not re.fullmatch(r"[\w.]+:[\w.]+", system.factory):
        raise CitewellError(f"{where}: class is {system.factory!r}; it must be 'package.module:factory'")
    if system.k < 1:
        raise CitewellError(f"{where}: k is {system.k}; it must be at least 1")
    return system


def _made(system: System, papers: Sequence[Paper]) -> BaseRetriever:
    """The retriever of a system's factory. One that takes ``nodes`` is given the papers: one ``TextNode`` each."""
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import TextNode

    module, _, attribute = system.factory.partition(":")
    try:
        factory: Any = importlib.import_module(module)
        for part in attribute.split("."):
            factory = getattr(factory, part)
    except Exception as error:  # a module may raise anything while it is imported
        raise CitewellError(
            f"system {system.name!r}: {system.factory!r} cannot be imported ({type(error).__name__}: {error}); "
            "install its package, or put its module beside the TOML file"
        ) from error
    args = dict(system.args)
    try:
        if "nodes" in inspect.signature(factory).parameters and "nodes" not in args:
            args["nodes"] = [
                TextNode(id_=p.paper_id, text=f"{p.title}\n\n{p.abstract}".strip(), metadata={}) for p in papers
            ]
        made = factory(**args)
    except Exception as error:
        raise CitewellError(
            f"system {system.name!r}: {system.factory!r} made no retriever of args {dict(system.args)!r} "
            f"({type(error).__name__}: {error})"
        ) from error
    if not isinstance(made, BaseRetriever):
        raise CitewellError(
            f"system {system.name!r}: {system.factory!r} made a {type(made).__name__}; "
            "it must make a llama_index.core.base.base_retriever.BaseRetriever"
        )
    return made


def _asked(system: System, retriever: BaseRetriever, paper_ids: set[str], queries: Mapping[str, str]) -> Run:
    run: Run = {}
    for query, text in queries.items():
        where = f"system {system.name!r}, question {query!r}"
        try:
            nodes = retriever.retrieve(text)
        except Exception as error:
            raise CitewellError(f"{where}: it failed ({type(error).__name__}: {error})") from error
        unscored = [n for n in nodes if n.score is None]
        if unscored and len(unscored) != len(nodes):
            raise CitewellError(f"{where}: {len(unscored)} of {len(nodes)} nodes have no score; all must, or none")
        found: dict[str, float] = {}
        seen: set[str] = set()
        for place, node in enumerate(nodes):
            score = float(-place) if node.score is None else float(node.score)  # without scores the order counts
            if not -sys.float_info.max <= score <= sys.float_info.max:
                raise CitewellError(f"{where}: the score of node {node.node_id!r} is {score}; it must be finite")
            if node.node_id in seen:
                raise CitewellError(f"{where}: node {node.node_id!r} comes twice; a ranking holds a node once")
            seen.add(node.node_id)
            paper = _paper_of(node, paper_ids)
            if paper is None:
                raise CitewellError(
                    f"{where}: node {node.node_id!r} is no paper of the library and comes from none; its id, or that "
                    "of the document it was cut from, must be a paper's"
                )
            found[paper] = max(found.get(paper, score), score)  # a paper is as good as its best passage
        run[query] = systems.cut(found, system.k)
    return run


def _paper_of(node: Any, paper_ids: set[str]) -> str | None:
    for found in (node.node_id, getattr(node.node, "ref_doc_id", None)):
        if found in paper_ids:
            return str(found)
    return None


@contextmanager
def _path(folder: Path) -> Iterator[None]:
    """``folder`` among the places modules are looked for."""
    place = str(folder.resolve())
    sys.path.insert(0, place)
    try:
        yield
    finally:
        sys.path.remove(place)
