"""Executions of libraries by name and stack: equal from stored sums and from executions."""

import shutil
from pathlib import Path

import pytest

from kvtrace.figures.libraries import library_times, node_times
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.window import windowed
from kvtrace.schema.trace import open_trace

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"


LONG = pytest.param(
    "llama_steady", marks=pytest.mark.costly("a run of 17,000 launches; the others stay by day")
)


@pytest.mark.parametrize("name", [LONG, "llama_graphs", "llama_ranks", "planted/good"])
def test_library_and_node_times_are_equal_from_stored_sums(name, tmp_path):
    folder = shutil.copytree(FIXTURES / name, tmp_path / "out")
    trace = open_trace(folder)
    before = _times(trace)
    add_up(trace, trace.select(), least_rows=0)

    after = _times(open_trace(folder))
    assert after == before
    assert before[0][0]  # library kernels ran


def _times(trace):
    """Return library times and node times of the newest runs, and of their steady part."""
    runs = trace.select()
    times = []
    for part in (trace, windowed(trace, runs)[0]):
        nodes = node_times(part, runs).to_pylist()
        times.append(sorted(map(repr, library_times(part, runs))))
        times.append(sorted(map(repr, nodes)))
    return times
