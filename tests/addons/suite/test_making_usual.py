"""The usual launch of a call is the one with the median time."""

from statistics import median

from kvtrace.addons.suite.choice import weighed_calls
from kvtrace.addons.suite.making import _nearest, usual_launches
from kvtrace.figures.requested_part import WHOLE
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import select_runs
from tests.support.tree import ROOT

LLAMA = ROOT / "tests" / "fixtures" / "h200" / "llama"


def test_its_time_is_nearest_to_the_median():
    selection = select_runs(LLAMA)
    calls = weighed_calls(selection, WHOLE).calls

    usual = usual_launches(selection, calls, WHOLE)

    table = selection.trace.table
    launches = plain_rows(table("launches", selection.runs, ["seq", "call_id"]))
    executions = plain_rows(table("gpu_kernels", selection.runs, ["launch_seq", "start", "end"]))
    times: dict[int, list[int]] = {}
    for row in executions:
        times.setdefault(row["launch_seq"], []).append(row["end"] - row["start"])
    for call in calls:
        seqs = [row["seq"] for row in launches if row["call_id"] == call.call_id]
        nearest = min(abs(median(times[seq]) - call.median_ns) for seq in seqs if seq in times)
        assert abs(median(times[usual[call.run.run_id, call.call_id]]) - call.median_ns) == nearest


def test_without_times_it_is_the_middle_launch():
    assert _nearest([3, 5, 8], {}, None) == 5
    assert _nearest([3, 5, 8], {3: 10.0, 8: 30.0}, 28.0) == 8
