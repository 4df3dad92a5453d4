"""Stored sums of any runs are those of their launches and executions, in any window."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.figures.bins import PRECISION
from kvtrace.figures.requested_part import STEADY, WHOLE, RequestedPart
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.sums_reading import at_rest
from kvtrace.figures.sums_stored import settings_of, stored_settings, sums_stored
from kvtrace.figures.times import device_times, host_times
from kvtrace.figures.window import windowed
from kvtrace.schema.trace import open_trace
from kvtrace.schema.window import RunWindow, TraceWindow
from kvtrace.schema.writer import RunWriter
from tests.figures.written_runs import EPOCH, KERNELS, LAUNCHES, written
from tests.support.tiers import some

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures" / "h200").glob("*/runs"))
#: Begin and end of a window; times below 128 ns have bins of their own (`figures/bins.py`).
SPANS = st.tuples(st.integers(0, 130), st.integers(0, 130))


def rows_of(times):
    """Rows of all tables of times as texts, in order of the texts."""
    tables = (times.calls, times.kernels, times.by_phase)
    return [sorted(map(repr, table.to_pylist())) for table in tables if table is not None]


def of_both(trace, runs):
    return [rows_of(of(trace, runs)) for of in (host_times, device_times)]


def in_window(trace, runs, spans):
    bounds = [(EPOCH + min(span), EPOCH + max(span) + 1) for span in spans]
    windows = {run.run_id: RunWindow(*span, *span) for run, span in zip(runs, bounds, strict=False)}
    return TraceWindow(trace, EPOCH, EPOCH + 60, windows)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(KERNELS, LAUNCHES), min_size=1, max_size=3),
    st.lists(st.lists(SPANS, min_size=3, max_size=3), min_size=8, max_size=8),
    st.lists(st.booleans(), min_size=3, max_size=3),
    st.lists(st.integers(0, 130), max_size=4),
)
def test_sums_of_any_window_are_those_of_its_rows(tmp_path_factory, runs, windows, have_sums, cuts):
    folder = tmp_path_factory.mktemp("runs")
    written(folder, runs)
    leaves = open_trace(folder)
    expected = of_both(leaves, leaves.runs)
    inside = [of_both(in_window(leaves, leaves.runs, spans), leaves.runs) for spans in windows]
    trace = open_trace(folder)
    chosen = [run for run, has in zip(trace.runs, have_sums, strict=False) if has]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "kvtrace.figures.sums_building._cuts",
            lambda *_: sorted({EPOCH + cut for cut in cuts}),
        )
        add_up(trace, chosen, least_rows=0)
    assert all(sums_stored(trace, run) for run in chosen)
    assert of_both(trace, trace.runs) == expected
    for spans, expected_inside in zip(windows, inside, strict=True):
        assert of_both(in_window(trace, trace.runs, spans), trace.runs) == expected_inside


def at_twentieths(steady, low, high, _pieces):
    """Cut a run at the bounds of its steady part, and at each twentieth of its time."""
    between = () if low is None else (low + (high - low) * part // 20 for part in range(1, 20))
    return sorted({*steady, *between})


@pytest.mark.parametrize("runs", some(FIXTURES, 10), ids=lambda path: path.parent.name)
def test_sums_of_recorded_traces_are_those_of_their_rows(runs, tmp_path, monkeypatch):
    monkeypatch.setattr("kvtrace.figures.sums_building._cuts", at_twentieths)
    shutil.copytree(runs.parent, tmp_path / "out")
    leaves, trace = open_trace(tmp_path / "out"), open_trace(tmp_path / "out")
    asked = (WHOLE, STEADY, RequestedPart(since="20%", until="70%"))
    expected = [of_both(windowed(leaves, leaves.runs, part)[0], leaves.runs) for part in asked]
    add_up(trace, trace.runs, least_rows=0)
    found = [of_both(windowed(trace, trace.runs, part)[0], trace.runs) for part in asked]
    for ours, theirs in zip(found, expected, strict=True):
        for our_tables, their_tables in zip(ours, theirs, strict=True):
            for our_rows, their_rows in zip(our_tables, their_tables, strict=True):
                assert_equal_but_for_bins(our_rows, their_rows)


def assert_equal_but_for_bins(ours, theirs):
    """Rows are equal, medians within the precision of a bin."""
    columns = [pa.Table.from_pylist([eval(row) for row in rows]) for rows in (ours, theirs)]
    assert columns[0].column_names == columns[1].column_names
    exact = [name for name in columns[0].column_names if not name.endswith("median_ns")]
    keys = [
        name for name in exact if name in ("run", "call_id", "module", "name", "source", "kind")
    ]
    assert sorted(map(repr, columns[0].select(exact).to_pylist())) == sorted(
        map(repr, columns[1].select(exact).to_pylist())
    )
    for name in set(columns[0].column_names).difference(exact):
        medians = [
            {tuple(row[key] for key in keys): row[name] for row in table.to_pylist()}
            for table in columns
        ]
        assert medians[0].keys() == medians[1].keys()
        for key, theirs_ns in medians[1].items():
            assert medians[0][key] == (
                theirs_ns if theirs_ns is None else pytest.approx(theirs_ns, rel=PRECISION)
            )


def test_a_steady_part_is_read_from_stretches_alone(tmp_path):
    shutil.copytree(FIXTURES[0].parent, tmp_path / "out")
    trace = open_trace(tmp_path / "out")
    add_up(trace, trace.runs, least_rows=0)
    window = windowed(trace, trace.runs)[0]
    assert isinstance(window, TraceWindow)
    for table in ("launch_sums", "execution_sums"):
        rest = at_rest(window, trace.runs, table)
        assert (rest.stored, rest.leaves) == (trace.runs, ())


def test_sums_of_other_files_do_not_count(tmp_path):
    written(tmp_path, [([("a", None, None)], [(0, 1, 2, None, None, 3, True)])])
    trace = open_trace(tmp_path)
    add_up(trace, trace.runs, least_rows=0)
    run = trace.runs[0]
    assert stored_settings(trace, run)["launches"] == settings_of(trace, run)["launches"]
    (part,) = (tmp_path / "launches" / "run=r0").iterdir()
    shutil.copy(part, part.with_name("part-00001.parquet"))
    assert not sums_stored(open_trace(tmp_path), run)


def test_short_runs_and_runs_that_go_on_are_left(tmp_path):
    trace = written(tmp_path, [([("a", None, None)], [(0, 1, 2, None, None, 3, True)])])
    writer = RunWriter(tmp_path, "r1")
    writer.append("launches", {"seq": [0], "call_id": [0]})
    writer.flush()
    trace = open_trace(tmp_path)
    add_up(trace, trace.runs)
    add_up(trace, trace.runs[1:], least_rows=0)
    assert not any(sums_stored(trace, run) for run in trace.runs)
    writer.close()


@pytest.mark.parametrize(("least", "sentences"), [(2, 1), (3, 0)])
def test_the_opener_is_told_before_many_rows_are_added_up(tmp_path, monkeypatch, least, sentences):
    trace = written(tmp_path, [([("a", None, None)], [(0, 1, 2, None, None, 3, True)])])
    rows = sum(trace.table(name).num_rows for name in ("launches", "gpu_kernels"))
    monkeypatch.setattr("kvtrace.figures.sums_building._MANY_ROWS", rows + least - 2)
    told = []
    trace.tell = told.append
    add_up(trace, trace.runs, least_rows=0)
    assert len(told) == sentences
    add_up(trace, trace.runs, least_rows=0)
    assert len(told) == sentences  # the second time there is nothing to add up
