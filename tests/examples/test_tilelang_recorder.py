"""The example of a producer for another language: launches of TileLang's kernels, on the CPU.

TileLang needs an older Z3 than kvtrace, so `make test-tilelang` installs it into a folder of its
own, and names the folder in KVTRACE_TEST_TILELANG.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.cli import main
from kvtrace.schema.trace import Trace, open_trace
from kvtrace.schema.validation import validate
from tests.support.readers import python_reader
from tests.support.tree import ROOT

EXAMPLE = ROOT / "examples" / "tilelang_recorder.py"
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        "KVTRACE_TEST_TILELANG" not in os.environ,
        reason="TileLang is not there (make test-tilelang)",
    ),
]


@pytest.fixture(scope="module")
def trace(tmp_path_factory) -> Trace:
    """A trace that the example wrote, in a process of its own."""
    out = tmp_path_factory.mktemp("tilelang") / "out"
    packages = str(Path(os.environ["KVTRACE_TEST_TILELANG"]).resolve())
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((packages, str(ROOT)))}
    subprocess.run([sys.executable, EXAMPLE, out], check=True, env=environment, timeout=280)
    return open_trace(out)


@pytest.mark.parametrize("profile", ["core", None])
def test_the_trace_is_valid(trace: Trace, profile) -> None:
    assert validate(trace.path, profile) == []


def test_calls_have_grids_arguments_and_aliases(trace: Trace) -> None:
    (run,) = python_reader().answer(str(trace.path))["runs"]
    assert run["launches"] == 4
    assert [(k["name"], k["launches"]) for k in run["kernels"]] == [("axpy", 3), ("axpy", 1)]
    assert [call["grid"] for call in run["calls"]] == [[4, 1, 1], [2, 1, 1]]
    assert [call["tensors"] for call in run["calls"]] == [[[64], [64]]] * 2
    args = trace.table("calls", None, ["args"])["args"].to_pylist()
    assert [[a["alias_group"] for a in each[:2]] for each in args] == [[0, 1], [0, 0]]
    assert [(a["name"], a["dtype"]) for a in args[0]] == [("x", "fp32"), ("y", "fp32"), ("a", None)]
    assert args[0][2]["scalar"] == "2.0"


def test_the_ir_is_that_of_the_kernel_and_names_its_dialect(trace: Trace) -> None:
    for kernel in trace.table("kernels", None, ["stages"]).to_pylist():
        (stage,) = kernel["stages"]
        assert stage["stage"] == "tilelang:tvmscript"
        text = trace.artifact(stage["artifact"])
        assert text is not None
        assert b"T.prim_func" in text
    artifacts = trace.table("artifacts", None, ["dialect", "producer"]).to_pylist()
    assert {(a["dialect"], a["producer"]) for a in artifacts} == {
        ("tilelang:tvmscript", "tilelang")
    }


@pytest.mark.parametrize("words", [["info"], ["profile"], ["sql", "SELECT * FROM launched"]])
def test_commands_read_the_trace(trace: Trace, words: list[str], capsys) -> None:
    command, *more = words
    assert main([command, str(trace.path), *more]) == 0
    assert "axpy" in capsys.readouterr().out


def test_the_example_has_less_than_150_lines() -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 150
