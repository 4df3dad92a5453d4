"""Causes of gaps: waits of the host by their length, and the percentile of delays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.converters.profile.profile import read_profile
from kvtrace.figures.gap_causes import _LATENCY, _Delays
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter

LIMITS = [limit // 2 for limit in _LATENCY]
DELAYS = st.lists(
    st.one_of(
        st.integers(-1_000, 60_000), st.sampled_from([n + d for n in LIMITS for d in (-1, 0, 1)])
    ),
    min_size=1,
    max_size=300,
)


@given(st.lists(DELAYS, min_size=1, max_size=3), st.sampled_from([1, 30]))
def test_the_percentile_is_that_of_all_delays(pieces, percent):
    delays = _Delays()
    for piece in pieces:
        delays.add(np.array(piece, np.int64))
    expected = np.percentile(np.concatenate(pieces), percent)

    assert np.clip(delays.percentile(percent), *LIMITS) == pytest.approx(np.clip(expected, *LIMITS))


@pytest.mark.parametrize(
    ("wait", "asked", "cause"),
    [
        ((0, 105), 290, "synchronize"),  # it took 105 of 200 µs, and ended 5 µs into the gap
        ((60, 105), 290, "host"),  # 45 of 200 µs: the rest is what the host did then
        ((60, 105), 180, "synchronize"),  # 45 of 90 µs
        ((0, 20), 290, "host"),  # it was over before the gap began
        ((99, 250), 290, "synchronize"),  # it covers most of the gap
    ],
)
def test_a_wait_is_the_cause_of_a_gap_no_longer_than_twice_as_long(tmp_path, wait, asked, cause):
    """The gap begins at 100 µs, and ends 10 µs after the next execution is requested."""
    writer = RunWriter(tmp_path / "out", run := "20260102T030405-0001")
    writer.append("host_events", {
        "record": [0, 1], "kind": ["synchronize", "synchronize"],
        "begin": [begin * 1_000 for begin in (wait[0], 900)],
        "end": [end * 1_000 for end in (wait[1], 901)],
    })  # fmt: skip
    writer.append("gpu_kernels", {
        "record": [0, 1], "name": ["a", "b"], "requested": [1, asked * 1_000],
        "start": [10_000, (asked + 10) * 1_000], "end": [100_000, 900_000],
    })  # fmt: skip
    writer.seal({"run_id": run, "started": 0, "ended": 10**6, "command": "python x.py"})
    trace = open_trace(tmp_path / "out")

    gaps = read_profile(trace, trace.runs).gaps

    assert gaps.by_cause == {cause: (asked - 90) * 1_000}


def test_there_is_none_without_delays():
    assert _Delays().percentile(1) is None
