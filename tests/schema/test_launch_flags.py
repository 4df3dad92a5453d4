"""Launches in which an autotuner tried configurations, against a search of every pair of rows."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.figures.part_figures import PartFigures
from kvtrace.figures.times import compiling_launches, host_times
from kvtrace.schema.launch_flags import HoldingTrials
from kvtrace.schema.trace import resolve
from kvtrace.schema.writer import RunWriter
from tests.support.synthetic_trace import EPOCH

#: A thread's launches, one after the other: how many trials each holds, and whether it is one.
PROGRAMS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans()), min_size=1, max_size=20
)


def rows_of(program):
    """Rows as they are recorded: a launch when it returns, after the trials that it holds."""
    clocks = {thread: 100 * thread for thread in range(3)}
    rows = []
    for thread, trials, alone in program:
        enter = clocks[thread] + 1
        time = enter
        for _ in range(trials):
            rows.append((time + 1, time + 3, thread, "autotune"))
            time += 5
        clocks[thread] = time + 4
        rows.append((enter, time + 4, thread, "warmup" if alone and not trials else "run"))
    return rows


def table(rows):
    enter, leave, thread, phase = zip(*rows, strict=True)
    return pa.table(
        {"enter": enter, "exit": leave, "thread": thread,
         "phase": pa.array(phase).dictionary_encode()}
    )  # fmt: skip


@given(PROGRAMS, st.integers(1, 7))
def test_launch_during_which_an_autotuner_ran_trials_is_found(program, size):
    rows = rows_of(program)
    whole = table(rows)

    holding = HoldingTrials()
    found = [holding.among(whole.slice(at, size)) for at in range(0, len(rows), size)]

    assert np.concatenate(found).tolist() == [
        phase == "run"
        and any(p != "run" and t == thread and enter <= e < leave for e, _, t, p in rows)
        for enter, leave, thread, phase in rows
    ]


@pytest.fixture
def tuned(tmp_path):
    """A launch of 800 µs that holds three trials, and ten steady ones of 10 µs, on a device."""
    writer = RunWriter(tmp_path / "out", "20260102-030405-000-0000abcd")
    us = 1_000
    enter = [100, 300, 500, 0, *range(1_000, 2_000, 100)]
    length = [50, 50, 50, 800, *([10] * 10)]
    phases = ["autotune"] * 3 + ["run"] * 11
    begin = EPOCH + np.array(enter) * us
    end = begin + np.array(length) * us
    count = len(enter)
    writer.append("kernels", {"kernel_id": [0], "name": ["k"]})
    writer.append("calls", {"call_id": [0], "kernel_id": [0]})
    writer.append(
        "launches",
        {"seq": np.arange(count), "call_id": [0] * count, "enter": begin, "exit": end,
         "thread": [1] * count, "phase": phases},
    )  # fmt: skip
    starts = np.array([EPOCH - 5 * us, EPOCH + 3_000 * us])
    writer.append(
        "gpu_kernels",
        {"record": [0, 1], "start": starts, "end": starts + us, "device": [0, 0]},
    )
    writer.seal({"started": EPOCH})
    return resolve(str(tmp_path / "out"))


def test_launch_that_tunes_does_not_count_in_host_time(tuned):
    (sums,) = host_times(tuned.trace, tuned.runs).calls.to_pylist()

    assert (sums["launches"], sums["tuning_launches"]) == (11, 3)
    assert sums["host_ns"] == 100 * 1_000
    assert sums["compiling_ns"] == 800_000


def test_gap_before_a_tuning_launch_is_not_attributed_to_launching(tuned):
    gaps = PartFigures(tuned.trace, tuned.runs[:1]).gaps

    assert gaps is not None
    (gap,) = gaps.groups
    assert gap.parts_ns["launch"] == 10 * 10_000  # trials are of the launch that tunes
    assert gap.parts_ns["compile"] == 800_000


def test_launches_that_tune_are_found_at_the_end_of_a_run(tuned):
    found = compiling_launches(tuned.trace, tuned.runs[0])

    assert found["seq"].to_pylist() == [3]
