"""A clock that is set back while a program runs is said, and nothing takes less than no time."""

import pytest

from kvtrace.capture.records import KernelRecord
from kvtrace.capture.session import Session
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.settings import DEFAULT

BEGAN = 1_767_323_045_000_000_000
SECOND = 1_000_000_000


def record_launches(times, out):
    session = Session(str(out), DEFAULT)
    call = session.add_call(session.add_kernel(KernelRecord(name="k", origin="jit")), (1, 1, 1), [])
    for enter, leave in times:
        session.add_launch(call, BEGAN + enter, BEGAN + leave)
    session.add_mark("m", BEGAN + 5 * SECOND, BEGAN + SECOND, {})
    session.stop()
    return open_trace(out)


def message_codes(trace):
    return trace.table("messages", columns=["code"])["code"].to_pylist()


@pytest.mark.parametrize(
    "times",
    [
        [(0, 5), (10 * SECOND, 2 * SECOND), (3 * SECOND, 3 * SECOND + 1)],
        [(10 * SECOND, 10 * SECOND + 5), (3 * SECOND, 3 * SECOND + 5)],
    ],
)
def test_clock_that_is_set_back_is_reported(times, tmp_path):
    trace = record_launches(times, tmp_path / "out")

    assert message_codes(trace).count("clock-stepped-back") == 1
    rows = plain_rows(trace.table("launches"))
    assert [row["enter"] - BEGAN for row in rows] == [enter for enter, _ in times]
    assert all(row["exit"] >= row["enter"] for row in rows)
    (mark,) = plain_rows(trace.table("marks"))
    assert mark["end"] == mark["begin"]
    assert trace.notes == []


def test_overlapping_launches_are_not_taken_for_a_clock_set_back(tmp_path):
    times = [(0, 3 * SECOND), (SECOND, 3 * SECOND - 1000), (2 * SECOND, 3 * SECOND + 5)]
    assert "clock-stepped-back" not in message_codes(record_launches(times, tmp_path / "out"))
