"""Begins of steps on devices: one rule for a single run and for ranks."""

import numpy as np
import pytest

from kvtrace.converters.profile.profile import read_profile
from kvtrace.figures.collectives import matched_collectives
from kvtrace.figures.rank_steps import read_rank_steps
from kvtrace.figures.requested_part import RequestedPart
from kvtrace.figures.steps import StepsOnDevice
from kvtrace.figures.window import windowed
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.support.simulated_ranks import changed, planned, simulated, write_ranks

MS = 1_000_000
STALLED = 12


def run_with_stall(folder, after_mark):
    """Write 20 marked steps of 10 ms, in one of which the host slept for 50 ms after its mark."""
    writer = RunWriter(folder, run := "20260102T030405-0001")
    begins, at = [], MS
    executions = []
    for step in range(20):
        begins.append(at)
        at += 50 * MS if step == STALLED and after_mark else 0
        for number in range(8):
            asked = at + number * MS
            executions.append((asked, asked + 10_000, asked + 900_000))
        at += 10 * MS
        at += 50 * MS if step == STALLED - 1 and not after_mark else 0
    writer.append("marks", {
        "mark_id": list(range(20)), "name": ["step"] * 20, "begin": begins,
        "end": [*begins[1:], at],
    })  # fmt: skip
    asked, start, end = (list(column) for column in zip(*executions, strict=True))
    writer.append("gpu_kernels", {
        "record": list(range(len(start))), "name": ["k"] * len(start), "requested": asked,
        "start": start, "end": end,
    })  # fmt: skip
    writer.seal({"run_id": run, "started": 0, "ended": 10**9, "command": "python x.py"})
    return open_trace(folder)


@pytest.mark.costly("many executions; other steps stay by day")
@pytest.mark.parametrize(("after_mark", "slow"), [(True, STALLED), (False, STALLED - 1)])
def test_a_stall_after_a_mark_belongs_to_that_marks_step(tmp_path, after_mark, slow):
    trace = run_with_stall(tmp_path / "out", after_mark)
    (steps,) = read_profile(trace, trace.runs).gaps.steps
    assert int(np.argmax(steps.duration_ns)) + steps.first == slow
    for step in (slow - 1, slow, slow + 1):
        part, window = windowed(trace, trace.runs, RequestedPart(steps=str(step)))
        gaps = read_profile(part, part.runs).gaps
        assert window.step_ns == pytest.approx(60 * MS if step == slow else 10 * MS, rel=0.02)
        assert (gaps.paused_ns > 49 * MS) == (step == slow)


@pytest.mark.costly("records of ranks; stalls of one run stay by day")
def test_single_runs_and_ranks_tell_a_stall_in_the_same_step(tmp_path):
    plans = changed(planned(2, 20), 1, range(STALLED, STALLED + 1), pause=300)
    selection = write_ranks(tmp_path, simulated(plans))
    collectives = matched_collectives(selection.trace, selection.runs)
    for of_rank in read_rank_steps(selection.trace, collectives):
        alone = [run for run in selection.runs if run.run_id == of_rank.run.run_id]
        (steps,) = read_profile(selection.trace, alone).gaps.steps
        assert steps.duration_ns == tuple(of_rank.duration[steps.first - of_rank.first :].tolist())
    assert int(np.argmax(of_rank.duration)) + of_rank.first == STALLED


@pytest.mark.parametrize(
    ("executions", "begins"),
    [
        ([(10, 30, 80), (120, 130, 180)], [10, 100, 200]),  # the host is late
        ([(10, 30, 140), (120, 150, 280)], [10, 140, 280]),  # the device is behind
        ([(10, 30, 140), (120, 125, 150)], [10, 125, 200]),  # two streams
        ([(-1, 30, 60), (70, 80, 90)], [60, 100, 200]),  # of work before the first step
    ],
)
def test_begins_of_steps_on_the_device(executions, begins):
    steps = StepsOnDevice(np.array([10, 100, 200]))
    steps.add(*np.array(executions).T)
    assert steps.begins().tolist() == begins
