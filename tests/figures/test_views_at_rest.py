"""SQL views of sums answer alike, from stored sums and from launches and executions."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.converters.query.query import connect, query
from kvtrace.figures.stored import sums_stored
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.views import ADDED_UP
from kvtrace.schema.trace import open_trace
from tests.figures.written_runs import KERNELS, LAUNCHES, written
from tests.support.thorough import usually
from tests.support.tiers import some

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures").glob("**/runs"))
VIEWS = (*sorted(ADDED_UP), "host_sums", "device_sums", "call_sums", "kernel_sums")


def answers(trace, runs):
    """The columns and rows of all views of sums."""
    with connect(trace, runs, f"SELECT 1 FROM {', '.join(VIEWS)}") as database:
        return {view: query(database, f"FROM {view} ORDER BY ALL") for view in VIEWS}


@pytest.mark.costly("all views of five traces, twice; recorded ones stay by day")
@settings(max_examples=usually(5, thorough=60), deadline=None)
@given(
    st.lists(st.tuples(KERNELS, LAUNCHES), min_size=1, max_size=3),
    st.lists(st.booleans(), min_size=3, max_size=3),
)
def test_any_runs_with_and_without_stored_sums_give_the_same_rows(
    tmp_path_factory, runs, have_sums
):
    trace = written(tmp_path_factory.mktemp("runs"), runs)
    expected = answers(trace, trace.runs)
    chosen = [run for run, has in zip(trace.runs, have_sums, strict=False) if has]
    add_up(trace, chosen, least_rows=0)
    assert all(sums_stored(trace, run) for run in chosen)
    assert answers(trace, trace.runs) == expected


@pytest.mark.parametrize("runs", some(FIXTURES, 44), ids=lambda path: path.parent.name)
def test_recorded_traces_give_the_same_rows(runs, tmp_path):
    shutil.copytree(runs.parent, tmp_path / "out")
    trace = open_trace(tmp_path / "out")
    expected = answers(trace, trace.runs)
    add_up(trace, trace.runs, least_rows=0)
    assert answers(trace, trace.runs) == expected


def test_launches_are_not_opened_where_sums_of_all_runs_are_stored(tmp_path):
    trace = written(tmp_path, [([("a", None, None)], [(0, 1, 2, None, None, 3, True)])])
    add_up(trace, trace.runs, least_rows=0)
    (part,) = (tmp_path / "launches" / "run=r0").iterdir()
    part.write_bytes(b"?" * part.stat().st_size)
    trace = open_trace(tmp_path)
    text = "SELECT launches, host_ns, device_ns FROM kernel_sums"
    with connect(trace, trace.runs, text) as database:
        assert query(database, text)[1] == [(1, 2, 3)]
