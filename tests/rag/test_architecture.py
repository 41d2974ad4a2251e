"""Which module may import what, read from the sources."""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

from eval import commands as eval_commands
from rag import cli

ROOT = Path(__file__).parents[2]
OURS = ("rag", "serve", "ui", "eval")
TREES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(path.read_text("utf-8"))
    for package in OURS
    for path in sorted((ROOT / package).rglob("*.py"))
}


@cache
def imports(module: str, *, at_load: bool = False) -> frozenset[str]:
    """Every module that ``module`` imports; ``at_load``: only those that importing it imports."""
    found = set()
    for node in nodes(TREES[module], at_load):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & TREES.keys() or {str(node.module)}
    return frozenset(found)


def nodes(tree: ast.AST, at_load: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if at_load and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if at_load and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from nodes(node, at_load)


def importers(*packages: str) -> set[str]:
    """The modules of ours that import one of ``packages`` or something in it."""
    return {module for module in TREES if any(name.split(".")[0] in packages for name in imports(module))}


def test_the_sources_are_found() -> None:
    assert {"rag", "rag.records", "rag.readers.table", "ui.app", "eval.commands"} <= TREES.keys()
    assert {"rag.records", "rag.sentences", "collections.abc"} <= imports("rag.chunk")
    assert "eval.commands" in imports("rag.commands.eval")
    assert "eval.commands" not in imports("rag.commands.eval", at_load=True)


def test_the_library_imports_neither_the_page_nor_the_evaluation() -> None:
    rag = {module for module in TREES if module.split(".")[0] == "rag"}
    assert importers("ui", "eval") & rag == {"rag.commands.calibrate", "rag.commands.chat", "rag.commands.eval"}


def test_the_page_and_the_evaluation_do_not_import_each_other() -> None:
    assert [module for module in importers("eval") if module.startswith("ui")] == []
    assert [module for module in importers("ui") if module.startswith("eval")] == []


def test_records_and_errors_import_nothing_of_ours() -> None:
    for module in ("rag.records", "rag.errors"):
        assert [name for name in imports(module) if name.split(".")[0] in OURS] == []


def test_nothing_below_the_command_line_imports_it_and_only_that_and_the_doctor_import_the_root() -> None:
    below = {m for m in TREES if m.startswith("rag") and m != "rag.cli" and m not in commands("rag")}
    by_target = {
        target: {module for module in below if any(name.startswith(target) for name in imports(module))}
        for target in ("rag.cli", "rag.commands", "rag.build", "rag.doctor", "rag.contract")
    }
    assert by_target == {
        "rag.cli": set(),
        "rag.commands": set(),
        "rag.build": {"rag.doctor"},
        "rag.doctor": set(),
        "rag.contract": set(),
    }
    assert {module for module in TREES if "rag.cli" in imports(module)} == set()


def commands(package: str) -> set[str]:
    """The modules of a package's commands, those that they share among them."""
    return {module for module in TREES if f"{module}.".startswith(f"{package}.commands.")}


SHARED = {"arguments", "batch", "output"}
"""Modules beside the commands that hold what several of them need."""


@pytest.mark.parametrize(("package", "found"), [("rag", cli.COMMANDS), ("eval", eval_commands.COMMANDS)])
def test_a_command_is_found_by_the_name_of_its_file(package: str, found: tuple[ModuleType, ...]) -> None:
    parser = argparse.ArgumentParser()
    added = parser.add_subparsers()
    for module in found:
        module.add(added)
        assert list(added.choices)[-1] == module.__name__.rpartition(".")[2]
    files = {module.removeprefix(f"{package}.commands.") for module in commands(package) - {f"{package}.commands"}}
    assert files - SHARED == set(added.choices)


def test_a_command_imports_what_it_works_with_only_when_it_runs() -> None:
    for package in ("rag", "eval"):
        for module in commands(package):
            ours = {name for name in imports(module, at_load=True) if name.split(".")[0] in OURS}
            assert ours <= {"rag.errors"} | commands("rag") | commands("eval"), module


def test_no_two_modules_need_each_other_to_be_imported() -> None:
    order = list(TopologicalSorter({m: imports(m, at_load=True) & TREES.keys() - {m} for m in TREES}).static_order())
    assert order.index("rag.records") < order.index("rag.catalogue") < order.index("rag.library")


def test_each_heavy_library_has_one_door() -> None:
    doors = {
        "chromadb": {"rag.store"},
        "bm25s": {"rag.terms"},
        "sentence_transformers": {"rag.embed", "rag.rerank"},
        "xllamacpp": {"rag.llms.embedded"},
        "gradio": {
            *("ui.app", "ui.chat_view", "ui.library_view", "ui.map_view", "ui.review"),
            *("ui.check_view", "ui.quality_view", "ui.settings_view", "ui.wiring"),
        },
        "tomllib": {"rag.config"},
        "torch": set(),
    }
    assert {package: importers(package) for package in doors} == doors


def test_only_the_settings_read_the_environment() -> None:
    """Others: offline switches, what a child process inherits, defaults that keep the libraries below quiet."""
    users = {
        module
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv", "putenv"))
        or (isinstance(node, ast.ImportFrom) and node.module == "os")
    }
    writers = {"rag.cli", "rag.embed", "ui.app", "eval.paperqa_runner"}
    assert users <= {"rag.config", "rag.models", "rag.fetch", *writers}
    for module in writers:
        for line in ast.unparse(TREES[module]).splitlines():
            if "os.environ" in line and "setdefault" not in line and "os.environ[" not in line:
                assert "TQDM_DISABLE" in line  # kept as it is


def test_nobody_writes_import_eval() -> None:
    """It would shadow the builtin in that module."""
    tests = {str(path): ast.parse(path.read_text("utf-8")) for path in (ROOT / "tests").rglob("*.py")}
    guilty = [
        module
        for module, tree in {**TREES, **tests}.items()
        for node in ast.walk(tree)
        if (
            isinstance(node, ast.Import)
            and any(a.asname is None and a.name.split(".")[0] == "eval" for a in node.names)
        )
        or (isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == "eval" for a in node.names))
    ]
    assert guilty == []


def test_only_the_command_lines_print() -> None:
    printers = {
        module
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert {module for module in printers if module.startswith("rag")} <= {"rag.cli"} | commands("rag")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom rag.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as stop:\n    assert stop.code == 0\n"
        "heavy = ('torch', 'chromadb', 'gradio', 'llama_index', 'transformers', 'numpy', 'huggingface_hub', 'bm25s')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stderr == "[]\n"
    assert run.stdout.startswith("usage: citewell")
