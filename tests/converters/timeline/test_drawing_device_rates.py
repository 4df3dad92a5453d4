import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.converters.timeline import drawing_device
from kvtrace.converters.timeline.call_work import CallWork
from kvtrace.converters.timeline.drawing_device import rate_counters
from kvtrace.converters.timeline.timeline import Track

GPU = Track(("run", "process", "GPU 0", "0"), "lane", 77)
WORK = {
    3: CallWork(bytes=800, unique_bytes=400, flops=100, unknown=0, best_ns=5.0, bound="memory"),
    8: CallWork(bytes=0, unique_bytes=None, flops=0, unknown=2, best_ns=None, bound=None),
}
SPANS = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 50), st.sampled_from([3, 8, 9, -1])), max_size=20
)


def rates(spans):
    columns = [np.array([span[i] for span in spans], np.int64) for i in range(3)]
    return {counter.track.name: counter for counter in rate_counters(GPU, *columns, WORK)}


def test_a_rate_is_the_amount_over_the_time_taken():
    found = rates([(100, 10, 3), (120, 40, 3)])

    share = found["achieved of the roofline (derived)"]
    moved = found["distinct bytes (derived)"]
    assert (share.track.unit, share.time.tolist(), share.value.tolist()) == (
        "%", [100, 110, 120, 160], [50, 0, 12, 0],
    )  # fmt: skip
    assert moved.value.tolist() == [40_000_000_000, 0, 10_000_000_000, 0]
    assert [c.track.rank for c in found.values()] == [-3, -2, -1]


def test_no_counters_are_drawn_without_derived_work():
    assert rates([(100, 10, 9), (100, 10, -1), (100, 10, 8)]) == {}
    assert rates([(100, 0, 3)]) == {}
    assert rates([]) == {}


@given(SPANS)
def test_at_each_moment_the_rates_of_what_runs_add_up(spans):
    found = rates(spans).get("distinct bytes (derived)")

    running = [(b, b + d, round(400e9 / d)) for b, d, call in spans if call == 3 and d]
    assert (found is None) == (not running)
    if found is None:
        return
    for moment in range(260):
        place = int(np.searchsorted(found.time, moment, "right")) - 1
        value = int(found.value[place]) if place >= 0 else 0
        assert value == sum(rate for begin, end, rate in running if begin <= moment < end)


def test_counters_of_many_executions_are_means_over_steps(monkeypatch):
    monkeypatch.setattr(drawing_device, "_MOST", 3)
    begins = [0, 100_000, 2_500_000, 2_600_000]

    found = rates([(begin, 1_000, 3) for begin in begins])

    mean = found["distinct bytes, mean of 1 ms (derived)"]
    assert mean.time.tolist() == [0, 1_000_000, 2_000_000, 3_000_000]
    assert mean.value.tolist() == [800_000, 0, 800_000, 0]
    total = float((mean.value[:-1] * np.diff(mean.time)).sum()) / 1e9
    assert total == pytest.approx(4 * 400)
