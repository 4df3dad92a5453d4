"""Causes of gaps: waits of the host by their length, and the percentile of delays."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.converters.profile.device_text import gaps_text
from kvtrace.converters.profile.profile import read_profile
from kvtrace.figures.gap_causes import _LATENCY, _Delays
from kvtrace.figures.part_figures import PartFigures
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from kvtrace.text import percent

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"
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
def test_a_gap_is_listed_by_a_wait_of_half_its_length(tmp_path, wait, asked, cause):
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

    waited = max(min(wait[1], asked) - 100, 0)
    parts = {"synchronize": waited, "launch": 10, "host": asked - 100 - waited}
    assert gaps.by_cause == {name: ns * 1_000 for name, ns in parts.items() if ns}
    assert [group.cause for group in gaps.groups] == [cause]
    assert dict(gaps.groups[0].parts_ns) == gaps.by_cause
    # What would save it is what it is listed by.
    assert gaps.lost.by_remedy["synchronize"] == (
        (asked - 90) * 1_000 if cause == "synchronize" else waited * 1_000
    )


@pytest.mark.parametrize("parts_ms", [(3, 7), (6, 3)])
def test_a_gap_of_two_causes_is_split_by_what_each_took(tmp_path, parts_ms):
    """Each of 20 gaps of some ms has a release of memory and then code that is not recorded."""
    freeing, rest = (part * 1_000_000 for part in parts_ms)
    writer = RunWriter(tmp_path / "out", run := "20260102T030405-0001")
    begins = [number * (freeing + rest + 110_000) for number in range(21)]
    writer.append("gpu_kernels", {
        "record": list(range(21)), "name": ["k"] * 21, "requested": [at + 1 for at in begins],
        "start": [at + 10_001 for at in begins], "end": [at + 110_000 for at in begins],
    })  # fmt: skip
    writer.append("host_events", {
        "record": list(range(20)), "kind": ["free"] * 20,
        "begin": [at + 110_000 for at in begins[:20]],
        "end": [at + 110_000 + freeing for at in begins[:20]],
    })  # fmt: skip
    writer.seal({"run_id": run, "started": 0, "ended": 10**9, "command": "python x.py"})
    trace = open_trace(tmp_path / "out")

    profile = read_profile(trace, trace.runs)

    gaps = profile.gaps
    assert gaps.by_cause["allocate"] == 20 * freeing
    assert gaps.by_cause["host"] == 20 * (rest + 1)
    assert sum(gaps.by_cause.values()) == gaps.idle_ns
    for cause in ("allocate", "host", "launch"):
        assert sum(group.parts_ns[cause] for group in gaps.groups) == gaps.by_cause[cause]
    costs = {advice.rule: advice.cost_ns for advice in profile.advice}
    assert costs["allocations"] == gaps.by_cause["allocate"]
    assert costs["host-bound"] == gaps.by_cause["host"]
    recorded = 1 - gaps.by_cause["host"] / gaps.idle_ns
    assert gaps_text(gaps, 1, 200)[-1].endswith(f"{percent(recorded)} of idle time")


def test_there_is_none_without_delays():
    assert _Delays().percentile(1) is None


def test_first_launches_of_a_recorded_program_are_no_launching():
    trace = open_trace(FIXTURES / "decoding")
    by_cause = PartFigures(trace, trace.runs).gaps.by_cause
    # Six kernels were compiled within 1.75 s of 1.99 s, half of it beside what was timed.
    assert by_cause["compile"] == pytest.approx(1.75e9, rel=0.01)
    assert by_cause["launch"] < 0.02e9
