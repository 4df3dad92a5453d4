"""The example of a producer that is no part of kvtrace writes what kvtrace reads.

Its kernels here are Python functions that launch as Numba's do: Numba is not among the tests'
packages. `NUMBA_ENABLE_CUDASIM=1 python examples/launch_recorder.py out/` runs the real ones.
"""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from kvtrace.cli import main
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from tests.support.tree import ROOT

EXAMPLE = ROOT / "examples" / "launch_recorder.py"


class Kernel:
    """A function that is launched with a grid and a block, as `numba.cuda.jit` makes it."""

    def __init__(self, function):
        self.py_func = function

    def __getitem__(self, place):
        (blocks,), (threads,) = place

        def launch(x, factor):
            for index in range(min(blocks * threads, x.size)):
                self.py_func(x[index : index + 1], factor)

        return launch


def scaled(x, factor):
    x *= factor


@pytest.fixture
def example() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("launch_recorder", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def recorded(example: ModuleType, out: Path) -> None:
    """Record three launches of two unique calls."""
    recorder = example.Recorder()
    kernel = Kernel(scaled)
    for size in (64, 64, 32):
        x = np.ones(size)
        recorder.launch(kernel, (2,), (32,), x, 2.0)
        assert (x == 2).all()
    recorder.write(out)


def test_example_recorder_writes_a_valid_trace(example: ModuleType, tmp_path: Path, capsys) -> None:
    recorded(example, tmp_path)
    recorded(example, tmp_path)
    assert validate(tmp_path) == []
    trace = open_trace(tmp_path)
    assert len(trace.runs) == 2
    assert trace.table("launches")["call_id"].to_pylist() == [0, 0, 1] * 2
    args = trace.table("calls", trace.runs[:1], ["args"])["args"].to_pylist()
    assert [[arg["shape"] for arg in each] for each in args] == [[[64], None], [[32], None]]
    assert [arg["name"] for arg in args[0]] == ["x", "factor"]
    for words in (["info"], ["trace", "validate"], ["profile"]):
        assert main([*words, str(tmp_path)]) == 0, capsys.readouterr().err


def test_validate_reports_a_required_column_that_a_producer_left_out(
    example: ModuleType, tmp_path: Path
) -> None:
    import pyarrow.parquet as pq

    recorded(example, tmp_path)
    (part,) = tmp_path.glob("launches/*/*.parquet")
    pq.write_table(pq.read_table(part, partitioning=None).drop_columns(["thread"]), part)
    assert validate(tmp_path) == []
    pq.write_table(pq.read_table(part, partitioning=None).drop_columns(["call_id"]), part)
    assert "column call_id is missing" in [problem.text for problem in validate(tmp_path)]


def test_example_recorder_has_less_than_sixty_lines() -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    first, last = (lines.index(text) for text in ("class Recorder:", 'if __name__ == "__main__":'))
    assert last - first < 60
