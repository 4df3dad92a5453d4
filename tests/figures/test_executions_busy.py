"""Busy and idle time, compared with a count of every nanosecond."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.figures.executions import Busy, Timeline
from kvtrace.figures.part_figures import PartFigures
from kvtrace.figures.run_parts import run_parts
from kvtrace.figures.sums_building import tables_at_rest
from kvtrace.schema.trace import open_trace
from kvtrace.schema.window import RunWindow
from kvtrace.schema.writer import RunWriter
from tests.support.replacing import replace

EPOCH = 1_767_323_045_000_000_000

INTERVALS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda at: (at[0], at[0] + at[1])),
    min_size=1,
    max_size=30,
).map(sorted)


def covered(intervals):
    """Which of the first 80 ns some interval covers."""
    line = np.zeros(80, bool)
    for begin, end in intervals:
        line[begin:end] = True
    return line


@settings(deadline=None)
@given(INTERVALS, st.integers(1, 12), st.booleans())
def test_gaps_are_the_times_without_an_execution(intervals, rows_of_block, is_window):
    window = RunWindow(0, 0, 0, 70) if is_window else None
    timeline = Timeline(window)
    gaps, ends_before, latest = [], [], None
    for first in range(0, len(intervals), rows_of_block):
        block = np.array(intervals[first : first + rows_of_block], np.int64)
        of_block = timeline.add(block[:, 0], block[:, 1])
        gaps += zip(of_block.begin.tolist(), of_block.end.tolist(), strict=True)
        assert (block[of_block.after, 0] == of_block.end).all()
        ends_before += [latest if row < 0 else block[row, 1] for row in of_block.before.tolist()]
        latest = latest if of_block.latest < 0 else block[of_block.latest, 1]
    # each gap begins where the execution before it ended, or with the window
    begins = [begin for begin, _ in gaps]
    assert begins == [0 if end is None else end for end in ends_before]
    gaps += [timeline.last_gap] if timeline.last_gap else []

    first, last = (0, 70) if is_window else (intervals[0][0], 0)
    last = max(last, *(end for _, end in intervals))
    line = covered(intervals)
    assert (covered(gaps)[first:last] == ~line[first:last]).all()
    busy_ns = int(line[first:last].sum())
    executions_ns = sum(end - begin for begin, end in intervals)
    idle_ns = last - first - busy_ns
    assert timeline.busy == Busy(last - first, busy_ns, executions_ns - busy_ns, idle_ns, 1)


def test_without_an_execution_nothing_is_busy_or_idle():
    assert Timeline(RunWindow(0, 5, 0, 5)).busy is None
    assert Timeline(None).last_gap is None


def test_busy_times_of_runs_are_summed():
    assert Busy(10, 4, 1, 6) + Busy(1, 1) == Busy(11, 5, 1, 6)


def written(folder, executions):
    """Write a run of executions on devices: (device, begin, end), and return its trace."""
    writer = RunWriter(folder, "r0", of_this_process=False)
    rows = [
        {"record": row, "device": device, "start": EPOCH + begin, "end": EPOCH + end, "name": "k"}
        for row, (device, begin, end) in enumerate(executions)
    ]
    writer.append_rows("gpu_kernels", rows)
    writer.seal({"mode": "timeline", "ending": "stopped"})
    return open_trace(folder)


@pytest.mark.parametrize(
    "executions",
    [
        # one that is always busy, and one that ran 2 of 986 µs
        [(0, 0, 1_000_000), (1, 10_000, 11_000), (1, 995_000, 996_000)],
        # two that take turns, and an execution whose device is not known
        [(0, 0, 30_000), (1, 40_000, 70_000), (0, 80_000, 110_000), (None, 0, 5_000)],
        # two that run at once, each with an overlap of its own
        [(3, 0, 50_000), (7, 0, 60_000), (3, 25_000, 75_000), (7, 90_000, 99_000)],
    ],
)
def test_each_device_has_its_own_times_which_are_added_up(executions, tmp_path):
    devices = {device for device, _, _ in executions}
    traces = [
        written(tmp_path / str(device), [row for row in executions if row[0] == device])
        for device in devices
    ]
    both = written(tmp_path / "both", executions)
    busy, *alone = (run_parts(trace, trace.runs)[0].busy for trace in (both, *traces))
    most = len(devices) * max(of_device.busy_ns for of_device in alone)
    spare = max(busy.span_ns - most, 0)
    assert busy == replace(sum(alone, Busy()), spare_ns=spare)
    assert busy.devices == len(devices)
    gaps = PartFigures(both, both.runs).gaps
    assert gaps.idle_ns == busy.idle_ns == sum(gaps.by_cause.values())
    causes_alone = [PartFigures(trace, trace.runs).gaps.by_cause for trace in traces]
    for cause, ns in gaps.by_cause.items():
        assert ns == sum(causes.get(cause, 0) for causes in causes_alone)
    (stored,) = [
        row
        for row in tables_at_rest(both, both.runs[0])["run_parts"].to_pylist()
        if row["part"] == "whole"
    ]
    assert (stored["devices"], stored["span_ns"], stored["idle_ns"]) == (
        len(devices),
        busy.span_ns,
        busy.idle_ns,
    )
