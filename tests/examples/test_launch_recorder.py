"""The example of a producer that is no part of kvtrace writes what kvtrace reads.

A kernel here is a function of NumPy arrays, started as CuTe's compiled kernels are: neither CuTe
nor Numba is among the tests' packages. `NUMBA_ENABLE_CUDASIM=1 python examples/launch_recorder.py
out/` runs Numba's.
"""

import time
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow.parquet as pq
import pytest

from kvtrace.cli import main
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from tests.support.imported_file import imported_file
from tests.support.tree import ROOT

EXAMPLE = ROOT / "examples" / "launch_recorder.py"
#: Nanoseconds from one kernel on the device to the next.
APART = 30_000


def scaled(x: np.ndarray, factor: float) -> None:
    x *= factor


@pytest.fixture
def example() -> ModuleType:
    """The example as a module."""
    return imported_file(EXAMPLE, "launch_recorder")


def recorded(example: ModuleType, out: Path) -> None:
    """Record three launches of two unique calls, of 5 µs each on the device."""
    recorder = example.Recorder("cute")
    first = time.time_ns() + 1_000_000_000
    for number, size in enumerate((64, 64, 32)):
        x = np.ones(64, np.float32)[:size]
        begin = first + number * APART
        recorder.launch(
            partial(scaled, x, 2.0), "scaled", (2,), {"x": x, "factor": 2.0},
            lambda begin=begin: (begin, begin + 5_000),
        )  # fmt: skip
        assert (x == 2).all()
    recorder.write(out)


def test_example_recorder_writes_a_valid_trace(example: ModuleType, tmp_path: Path) -> None:
    recorded(example, tmp_path)
    recorded(example, tmp_path)
    assert validate(tmp_path, warnings=True) == []
    trace = open_trace(tmp_path)
    assert len(trace.runs) == 2
    assert trace.table("launches")["call_id"].to_pylist() == [0, 0, 1] * 2
    ((x, factor), _) = trace.table("calls", trace.runs[:1], ["args"])["args"].to_pylist()
    assert (x["shape"], x["strides"], x["dtype"], x["alias_group"]) == ([64], [1], "fp32", 0)
    assert (factor["name"], factor["scalar"]) == ("factor", "2.0")


@pytest.mark.costly("all commands; what the example records stays by day")
def test_commands_take_the_trace(example: ModuleType, tmp_path: Path, capsys) -> None:
    out = tmp_path / "out"
    recorded(example, out)
    for words in (["trace", "validate"], ["info"], ["profile"]):
        assert main([*words, str(out)]) == 0, capsys.readouterr().err
    assert "15.0 µs" in capsys.readouterr().out  # three executions of 5 µs
    assert main(["sanitize", str(out)]) == 2
    assert "has kernels from cute without TTIR" in capsys.readouterr().err
    assert main(["report", str(out), "-o", str(tmp_path / "report.html")]) == 0
    timeline = tmp_path / "timeline"
    assert main(["convert", "perfetto", str(out), "-o", str(timeline)]) == 0
    assert b"scaled" in timeline.read_bytes()


def test_validate_reports_a_required_column_that_a_producer_left_out(
    example: ModuleType, tmp_path: Path
) -> None:
    recorded(example, tmp_path)
    (part,) = tmp_path.glob("launches/*/*.parquet")
    pq.write_table(pq.read_table(part, partitioning=None).drop_columns(["thread"]), part)
    assert validate(tmp_path) == []
    pq.write_table(pq.read_table(part, partitioning=None).drop_columns(["call_id"]), part)
    assert "column call_id is missing" in [problem.text for problem in validate(tmp_path)]


def test_example_recorder_has_less_than_sixty_lines() -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    first, last = (lines.index(text) for text in ("class Recorder:", 'if __name__ == "__main__":'))
    assert sum(bool(line) for line in lines[first:last]) <= 60
