"""What the host did near a time, of launches that are read there alone."""

import numpy as np
import pytest

from kvtrace.figures.host_events import HostEvents
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter

EPOCH = 1_767_323_045_000_000_000


def read(folder, launches):
    writer = RunWriter(folder, "r0")
    rows = [
        {"seq": n, "call_id": 0, "thread": 1, "enter": EPOCH + enter, "phase": phase}
        | ({} if leave is None else {"exit": EPOCH + leave})
        for n, (enter, leave, phase) in enumerate(launches)
    ]
    writer.append_rows("launches", rows)
    writer.seal({"ending": "exit"})
    trace = open_trace(folder)
    return HostEvents.read(trace, trace.runs[0])


def covered(events, begin, end):
    """Nanoseconds of launches between two times."""
    events.move_to(EPOCH + begin, EPOCH + end)
    edges = (np.array([EPOCH + edge], np.int64) for edge in (begin, end))
    return events.coverage["launch"].of(*edges).tolist()


def test_a_launch_without_an_end_takes_no_time(tmp_path):
    events = read(tmp_path, [(1_000, 3_000, None), (5_000, None, None), (8_000, 9_500, None)])

    assert covered(events, 0, 10_000) == [3_500]
    assert covered(events, 2_000, 6_000) == [1_000]
    events.move_to(EPOCH, EPOCH + 10_000)
    assert (events.launched - EPOCH).tolist() == [1_000, 5_000, 8_000]


def test_launches_that_hold_trials_or_are_long_do_more_than_launch(tmp_path):
    of_trials = [(0, 500_000, None), (100, 200, "autotune"), (600_000, 2_000_000, None)]
    events = read(tmp_path, [*of_trials, (3_000_000, 3_000_400, None)])

    assert covered(events, 0, 4_000_000) == [100 + 400]
    # a launch that is far away changes nothing
    assert covered(events, 2_900_000, 3_000_100) == [100]


@pytest.mark.parametrize("origin", ["jit", "gluon", "other"])
@pytest.mark.parametrize("compile_begin", [400_000_000, None])
def test_the_first_launch_of_a_kernel_is_compiling_as_a_whole(tmp_path, origin, compile_begin):
    writer = RunWriter(tmp_path, "r0")
    begin = None if compile_begin is None else EPOCH + compile_begin
    kernel = {"kernel_id": 0, "name": "k", "origin": origin}
    writer.append_rows("kernels", [kernel | {"compile_begin": begin, "compile_ns": 10_000_000}])
    writer.append_rows("calls", [{"call_id": call, "kernel_id": 0} for call in (0, 1)])
    # Another call's launch of the same kernel is as long, for a reason that is not known.
    launches = [(0, 1_000_000_000, 0), (1_100_000_000, 1_100_010_000, 0), (2 * 10**9, 3 * 10**9, 1)]
    writer.append_rows("launches", [
        {"seq": n, "call_id": call, "thread": 1, "enter": EPOCH + enter, "exit": EPOCH + leave}
        for n, (enter, leave, call) in enumerate(launches)
    ])  # fmt: skip
    writer.seal({"ending": "exit"})
    trace = open_trace(tmp_path)
    coverage = HostEvents.read(trace, trace.runs[0]).coverage["compile"]
    edges = (np.array([EPOCH + edge], np.int64) for edge in (0, 4 * 10**9))
    assert coverage.of(*edges).tolist() == [1_000_000_000]
