"""Benchmarks start, and refuse a recording that is not what their figure is called."""

import ast
import importlib
import os
from pathlib import Path

import pytest

from tests.support.warm_python import warm_python

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import torch, kvtrace
from recorded import check
from tests.support.corpus_cases import vector_add
x = torch.zeros(8)
with kvtrace.capture(sys.argv[3]):
    for _ in range(3):
        vector_add[(1,)](x, x, x, 8, BLOCK=8)
check(sys.argv[3], mode=sys.argv[4], launches=int(sys.argv[5]))
print("measured")
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("mode", "launches", "told"),
    [
        ("launch", 3, "measured"),
        ("launch", 4, "not measured: 4 launches were made, 3 recorded"),
        ("timeline", 3, "not measured: of 3 launches 0 are in the device timeline"),
    ],
)
def test_benchmark_check_refuses_another_mode_or_launch_count(tmp_path, mode, launches, told):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    arguments = (program, ROOT, ROOT / "benchmarks", tmp_path / "out", mode, str(launches))
    done = warm_python().run(*arguments, folder=tmp_path, environment=os.environ)
    assert told in done.stdout + done.stderr
    assert done.returncode == (0 if told == "measured" else 1)


def imported_names(path):
    """Yield (module, name) of all that a file imports from kvtrace and tests, in functions, too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in ("kvtrace", "tests"):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            names = (alias.name for alias in node.names)
            yield from ((name, None) for name in names if name.split(".")[0] == "kvtrace")


def exists(module, name):
    """Return whether a module can be imported and has a name, or a submodule of that name."""
    try:
        found = importlib.import_module(module)
        if name is not None and not hasattr(found, name):
            importlib.import_module(f"{module}.{name}")
    except ImportError:
        return False
    return True


@pytest.mark.costly("imports whatever any benchmark imports")
def test_benchmarks_import_only_what_exists():
    missing = [
        f"{path.name}: {module}.{name}"
        for path in sorted((ROOT / "benchmarks").rglob("*.py"))
        for module, name in imported_names(path)
        if not exists(module, name)
    ]
    assert missing == []


def test_an_import_of_what_was_renamed_is_noticed(tmp_path):
    file = tmp_path / "benchmark.py"
    file.write_text("def f():\n    from kvtrace.backends.cupti.records import RENAMED\n")
    assert [exists(*names) for names in imported_names(file)] == [False]
