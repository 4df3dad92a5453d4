"""Times of calls that another engine counted are summed as those that are read here."""

from pathlib import Path

import pytest

from kvtrace.converters.profile.profile import profile_of, read_profile
from kvtrace.converters.profile.profile_model import profile_object
from kvtrace.converters.query.query import connect
from kvtrace.figures.part_figures import PartFigures
from kvtrace.figures.requested_part import WHOLE
from kvtrace.figures.times import device_times, host_times, times_of_engine
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.support.tiers import some

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures" / "h200").glob("*/runs"))


class Engine:
    """DuckDB in Spark's place: both are asked in one dialect."""

    def __init__(self, trace):
        self._trace = trace

    def table(self, text):
        with connect(self._trace, self._trace.runs) as database:
            return database.sql(text).to_arrow_table()


@pytest.mark.costly("a second engine; weights of rows stay by day")
@pytest.mark.parametrize("runs", some(FIXTURES, 12), ids=lambda path: path.parent.name)
def test_times_computed_by_another_engine_equal_those_of_the_trace(runs):
    trace = open_trace(runs.parent)
    expected = read_profile(trace, trace.runs, calls=True, part=WHOLE)
    asked = times_of_engine(Engine(trace).table)
    found = profile_of(PartFigures(trace, trace.runs, summed=asked), calls=True)
    ours, theirs = (profile_object(profile)["kernels"] for profile in (found, expected))
    for kernel in (*ours, *theirs):
        del kernel["headline"]  # has a share of all that devices did, which is not asked for here
    assert ours == theirs


def test_sampled_row_counts_as_often_as_its_weight(tmp_path):
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
    here = host_times(trace, trace.runs), device_times(trace, trace.runs)
    for number, found in enumerate([*here, *times_of_engine(Engine(trace).table)]):
        (row,) = found.calls.to_pylist()
        kind, count = (("host", "timed_launches"), ("device", "device_executions"))[number % 2]
        assert (row[count], row[f"{kind}_ns"], row[f"{kind}_median_ns"]) == (7, 35, 3.0)
        assert found.kernels[f"{kind}_median_ns"].to_pylist() == [3.0]
