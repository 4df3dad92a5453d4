"""Executions of libraries by name and stack: equal from stored sums and from executions."""

import shutil
from pathlib import Path

import pytest

from kvtrace.figures.libraries import library_executions, library_times, node_times
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.window import windowed
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"


LONG = pytest.param(
    "llama_steady", marks=pytest.mark.costly("a run of 17,000 launches; the others stay by day")
)


@pytest.mark.costly("adds up recorded runs; times from rows stay by day")
@pytest.mark.parametrize("name", [LONG, "llama_graphs", "llama_ranks", "planted/good"])
def test_library_and_node_times_are_equal_from_stored_sums(name, tmp_path):
    folder = shutil.copytree(FIXTURES / name, tmp_path / "out")
    trace = open_trace(folder)
    before = _times(trace)
    add_up(trace, trace.select(), least_rows=0)

    after = _times(open_trace(folder))
    assert after == before
    assert before[0][0]  # library kernels ran


def test_equal_rows_have_one_order(tmp_path):
    names = [f"cutlass_{number}" for number in range(40)] + ["flash_fwd", "at::add"] * 20
    writer = RunWriter(tmp_path, "20260102-030405-0001")
    rows = [{"record": n, "start": 9 * n, "end": 9 * n + 5, "name": name}
            for n, name in enumerate(names)]  # fmt: skip
    writer.append_rows("gpu_kernels", rows)
    writer.seal({})
    trace = open_trace(tmp_path)
    shown = [time.name for time in library_times(trace, trace.runs)]
    assert shown == sorted(shown)
    assert list(library_executions(trace, trace.runs)) == ["CUTLASS", "torch", "FlashAttention"]


def _times(trace):
    """Return library times and node times of the newest runs, and of their steady part."""
    runs = trace.select()
    times = []
    for part in (trace, windowed(trace, runs)[0]):
        nodes = node_times(part, runs).to_pylist()
        times.append(sorted(map(repr, library_times(part, runs))))
        times.append(sorted(map(repr, nodes)))
    return times
