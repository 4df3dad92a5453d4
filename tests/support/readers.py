"""The readers in examples/readers: the one in Python as a module, the one in C++ built."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.support.imported_file import imported_file
from tests.support.tree import ROOT

READERS = ROOT / "examples" / "readers"
#: A folder for each case: the trace, and `expected.json`.
SUITE = ROOT / "schema" / "conformance"


@dataclass(frozen=True)
class Case:
    """A trace with the expected answer; `answer` None: the trace has to be rejected."""

    name: str
    trace: Path
    answer: Any


def conformance_cases() -> list[Case]:
    """Return the cases of the suite in schema/conformance/, in the order of their names."""
    files = sorted(SUITE.glob("*/expected.json"))
    answers = [json.loads(file.read_text(encoding="utf-8"))["answer"] for file in files]
    return [
        Case(file.parent.name, file.with_name("trace"), answer)
        for file, answer in zip(files, answers, strict=True)
    ]


def answer_of(reader: Path, case: Case) -> Any:
    """Return what a program answers, None if it rejects the trace; a signal is no rejection."""
    done = subprocess.run([reader, case.trace], capture_output=True, check=False, timeout=60)
    assert done.returncode >= 0
    return None if done.returncode else json.loads(done.stdout)


def expected_fields(answer: Any, expected: Any) -> Any:
    """Return an answer without fields that nobody asked for."""
    if isinstance(expected, dict) and isinstance(answer, dict):
        return {
            name: expected_fields(value, expected[name])
            for name, value in answer.items()
            if name in expected
        }
    if isinstance(expected, list) and isinstance(answer, list) and len(answer) == len(expected):
        return [expected_fields(*pair) for pair in zip(answer, expected, strict=True)]
    return answer


def python_reader() -> ModuleType:
    """Return examples/readers/reader.py as a new module."""
    return _module("reader")


def plain_reader() -> ModuleType:
    """Return examples/readers/plain_reader.py as a new module."""
    return _module("plain_reader")


def other_engines() -> ModuleType:
    """Return examples/readers/other_engines.py as a new module, with what it imports beside it."""
    with pytest.MonkeyPatch.context() as path:
        path.syspath_prepend(str(READERS))
        return _module("other_engines")


def first_query(trace: Path) -> duckdb.DuckDBPyConnection:
    """Return the rows of the first query of docs/format.md, asked without kvtrace."""
    page = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    read, _, query = page.partition("```sql\n")[2].partition("```")[0].partition("\n")
    views = (ROOT / read.removeprefix(".read ")).read_text(encoding="utf-8")
    database = duckdb.connect()
    database.execute(views.replace("'out/", f"'{trace}/"))
    return database.execute(query)


def _module(name: str) -> ModuleType:
    return imported_file(READERS / f"{name}.py", f"example_{name}")


def built(name: str, folder: Path) -> Path:
    """Build a program of examples/readers, as reader.cpp, with what the wheel of pyarrow has."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed")
    arrow = Path(pa.get_library_dirs()[0])
    libraries = [next(arrow.glob(f"lib{name}.so.[0-9]*")) for name in ("arrow", "parquet")]
    program = folder / name
    options = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-isystem", pa.get_include()]
    source = READERS / f"{name}.cpp"
    words = [compiler, *options, source, "-o", program, *libraries, f"-Wl,-rpath,{arrow}"]
    subprocess.run(words, check=True, timeout=280)
    return program
