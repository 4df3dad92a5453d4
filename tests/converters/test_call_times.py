"""Times of calls that another engine counted are summed as those that are read here."""

from pathlib import Path

import pytest

from kvtrace.converters import middles
from kvtrace.converters.call_times import device_times, host_times
from kvtrace.converters.profile import profile_object, read_profile
from kvtrace.converters.query import connect
from kvtrace.converters.spark.times import spark_times
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures" / "h200").glob("*/runs"))


class Engine:
    """DuckDB in Spark's place: both are asked in one dialect."""

    def __init__(self, trace):
        self._trace = trace

    def table(self, text):
        with connect(self._trace, self._trace.runs) as database:
            return database.sql(text).to_arrow_table()


@pytest.mark.parametrize("runs", FIXTURES, ids=lambda path: path.parent.name)
def test_a_profile_of_counted_times_is_that_of_the_trace(runs):
    trace = open_trace(runs.parent)
    expected = read_profile(trace, trace.runs, calls=True)
    times = spark_times(Engine(trace))
    found = read_profile(trace, trace.runs, calls=True, times=times)
    assert profile_object(found)["kernels"] == profile_object(expected)["kernels"]


@pytest.mark.parametrize("runs", FIXTURES, ids=lambda path: path.parent.name)
def test_with_little_room_medians_take_more_passes_and_are_the_same(runs, monkeypatch):
    trace = open_trace(runs.parent)
    expected = host_times(trace, trace.runs), device_times(trace, trace.runs, {})
    monkeypatch.setattr(middles.Middles.__init__, "__defaults__", (8, 2))
    found = host_times(trace, trace.runs), device_times(trace, trace.runs, {})
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.sums.equals(theirs.sums)
        assert ours.medians.equals(theirs.medians)


def test_a_sampled_row_counts_as_often_as_it_stands_for(tmp_path):
    writer = RunWriter(tmp_path, "r0")
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "a"}])
    writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0}])
    taken = [(0, 3, 4), (1, 9, None), (2, 7, 2)]
    for table, key, begin, end in (
        ("launches", "seq", "enter", "exit"),
        ("gpu_kernels", "record", "start", "end"),
    ):
        rows = [{key: n, "call_id": 0, begin: 9, end: 9 + ns, "weight": w} for n, ns, w in taken]
        writer.append_rows(table, rows)
    writer.seal({})
    trace = open_trace(tmp_path)
    here = host_times(trace, trace.runs), device_times(trace, trace.runs, {})
    for times in (*here, *spark_times(Engine(trace))):
        (row,) = times.sums.to_pylist()
        assert (row["timed"], row["ns"], row["median"]) == (7, 35, 3.0)
        assert times.medians["median"].to_pylist() == [3.0]
