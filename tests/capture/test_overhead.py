"""What a recording says that it cost the program."""

import threading
import time
from types import SimpleNamespace

import pytest

from kvtrace.capture import _hot
from kvtrace.capture.arguments import Identities
from kvtrace.capture.overhead import Overhead, ThreadClocks
from kvtrace.converters.info.info import overhead_percent
from kvtrace.schema.runs import Run


class Clocks(ThreadClocks):
    """Gives moments that were written down: the clock, thread 7's processor time, the asker's."""

    def __init__(self, *moments):
        super().__init__()
        self.moments = list(moments)

    def now(self):
        wall, thread, own = self.moments.pop(0)
        return wall, {7: thread}, own


def recorder(new=0, timed=0, timed_ns=0, quickest_ns=None):
    quickest_ns = timed_ns // (timed or 1) if quickest_ns is None else quickest_ns
    return SimpleNamespace(costs=(new, timed, timed_ns, quickest_ns))


def test_program_waits_for_the_work_of_the_journals_thread_at_its_own_pace():
    # given a thread that uses nine tenths of the time, and a round of 8 ms of processor time
    clocks = Clocks(
        (0, 0, 0),
        (0, 0, 0), (0, 0, 0), (0, 0, 0),  # a first round
        (100_000_000, 90_000_000, 0), (110_000_000, 94_000_000, 8_000_000),
        (110_000_000, 94_000_000, 8_000_000),
    )  # fmt: skip
    overhead = Overhead(recorder(timed=100, timed_ns=50_000), clocks)
    overhead.begin_round()
    overhead.end_round()
    # when the round has launches of known kernels
    overhead.begin_round()
    overhead.add_launches([7], 2_000)
    overhead.end_round()
    # then the thread waited for nine tenths of it, and launches cost half a microsecond each
    parts = overhead.columns()["overhead"]
    assert parts["waits_ns"] == 7_200_000
    assert parts["launches_ns"] == 1_000_000
    assert parts["running_ns"] == 110_000_000
    assert parts["thread_ns"] == 8_000_000
    # and the share is of the time that the program would have taken
    share = overhead_percent(Run("x", overhead=parts))
    assert share["total"] == pytest.approx(100 * 8.2 / 101.8)


def test_time_in_which_recording_waits_for_its_data_counts_twice():
    # given launches of 1,200 ns on average, of which the quickest took 400 ns
    overhead = Overhead(recorder(timed=100, timed_ns=120_000, quickest_ns=400))
    overhead.begin_round()
    overhead.add_launches([], 1_000)
    overhead.end_round(waited=0)
    # then the program fetches again, for 800 ns, what the 800 ns of fetching have evicted
    assert overhead.columns()["overhead"]["launches_ns"] == 2_000_000


def test_rounds_with_new_kernels_count_as_start():
    overhead = Overhead(recorder(new=30_000_000, timed=10, timed_ns=10_000))
    overhead.begin_round()
    overhead.add_kernel()
    overhead.add_launches([], 5)
    overhead.spend(2_000_000)
    overhead.end_round(waited=3_000_000)
    parts = overhead.columns()["overhead"]
    assert parts["start_ns"] == 35_005_000
    assert parts["running_ns"] == parts["launches_ns"] == parts["waits_ns"] == 0
    assert overhead_percent(Run("x", overhead=parts)) is None


def test_sum_of_the_costs_is_the_measured_overhead():
    overhead = Overhead(recorder())
    overhead.begin_round()
    overhead.add_launches([], 1)
    overhead.spend(10)
    overhead.add_executions(5)
    overhead.profiler_took(1)
    overhead.end_round(waited=100)
    overhead.end(time.monotonic_ns() - 1_000_000)
    columns = overhead.columns()
    assert columns["self_overhead_ns"] == 115 + columns["overhead"]["end_ns"]
    assert columns["overhead"]["end_ns"] >= 1_000_000


def held_and_waited():
    """Hold the interpreter's lock in rounds; return for how long, and a thread's wait, in ns."""
    ended, overhead = threading.Event(), Overhead(recorder())
    computing = threading.Thread(target=lambda: all(not ended.is_set() for _ in iter(int, 1)))
    computing.start()
    overhead.begin_round()
    overhead.add_launches([computing.native_id], 1)
    overhead.end_round()
    held = 0
    for _ in range(6):
        time.sleep(0.05)
        overhead.begin_round()
        overhead.add_launches([computing.native_id], 1)
        begin = time.thread_time_ns()  # on a busy machine both threads get less of the processor
        sum(range(1_500_000))
        held += time.thread_time_ns() - begin
        overhead.end_round()
    ended.set()
    computing.join()
    return held, overhead.columns()["overhead"]["waits_ns"]


@pytest.mark.costly("threads that wait; the overhead of launches stays by day")
def test_a_thread_that_computes_waits_while_another_holds_the_lock():
    for _ in range(20):  # where others take the processors, a thread waits for these instead
        held, waited = held_and_waited()
        if 0.3 * held < waited < 3 * held:
            return
    pytest.fail(f"of {held} ns that the lock was held, a thread waited {waited}")


class Adapter:
    """Takes a while for what is new."""

    def new_kernel(self, _owner, _kernel):
        time.sleep(0.02)
        return (0, 0, -1)

    def new_call(self, *_facts):
        time.sleep(0.02)
        return 0


def test_hot_path_times_some_launches_and_all_new_kernels_and_calls():
    def fail(error):
        raise error

    def launch(_self, *_args, grid, warmup):
        del grid, warmup
        begin = time.perf_counter()
        while time.perf_counter() - begin < 200e-6:
            pass
        return kernel

    kernel = type("Kernel", (), {})()
    made = _hot.Recorder(Identities(print), fail, (), 100)
    owner = type("Owner", (), {"run": made.wrap(launch, Adapter())})()
    owner.run(5, grid=(1,), warmup=False)
    new, timed, *_ = made.costs
    assert new >= 40_000_000
    assert timed == 0  # it was counted whole
    for _ in range(8 * 31):
        owner.run(5, grid=(1,), warmup=False)
    again, timed, took, quickest = made.costs
    assert again == new
    assert 4 <= timed <= 8
    assert 0 < quickest <= took / timed < 150_000  # without the launch itself
