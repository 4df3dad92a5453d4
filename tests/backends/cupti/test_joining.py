"""Kernels and launches: simulated streams of which the truth is known. A join is never wrong."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.backends.cupti.joining import JoinedExecutions, Joiner
from kvtrace.backends.cupti.records import Kernels
from kvtrace.figures.causes import NONE, Launches, places

MICROSECOND = 1_000


@dataclass
class Device:
    """A device with streams: launches are queued, and run one after the other on each stream."""

    now: int = 0
    correlation: int = 0
    free: dict[int, int] = field(default_factory=dict)
    launches: list[tuple[int, ...]] = field(default_factory=list)
    kernels: list[tuple[int, ...]] = field(default_factory=list)

    def launch(
        self,
        look: int,
        stream: int = 7,
        lasts: int = 3,
        ours: bool = True,
        after: int = 0,
        slow: int = 0,
    ) -> None:
        """Launch a kernel that runs `lasts` microseconds, not before `after`.

        The launching function takes `slow` microseconds more after the driver's call.
        """
        enter = self.now
        self.now += 8 * MICROSECOND
        called = self.now
        self.now += slow * MICROSECOND
        self.correlation += 1
        seq = len(self.launches) if ours else NONE
        if ours:
            self.launches.append((seq, look + 100, enter, self.now, stream, 0, look))
        start = max(called - 2 * MICROSECOND, self.free.get(stream, 0), after)
        end = start + lasts * MICROSECOND
        self.free[stream] = end
        self.kernels.append((start, end, stream, self.correlation, 0, 0, look, seq))

    def capture(self, graph: int, looks: list[int]) -> None:
        """Launch kernels into a graph: nothing runs."""
        for look in looks:
            self.now += 8 * MICROSECOND
            seq = len(self.launches)
            self.launches.append((seq, look + 100, self.now, self.now + 1, 7, graph, look))

    def replay(self, graph: int, looks: list[int], truth: list[int]) -> None:
        """Run an executable graph."""
        self.now += 20 * MICROSECOND
        self.correlation += 1
        start = max(self.now, self.free.get(7, 0))
        for node, (look, seq) in enumerate(zip(looks, truth, strict=True)):
            row = (
                start,
                start + 900,
                7,
                self.correlation,
                graph,
                graph << 32 | node,
                look,
                seq,
            )
            self.kernels.append(row)
            start += 1000
        self.free[7] = start

    def join(self, joiner: Joiner, rounds: int = 1) -> dict[int, tuple[int, int]]:
        """Give launch and call of each kernel by its place, and check that none is wrong."""
        launches = np.asarray(self.launches, np.int64).reshape(-1, 7)
        kernels = np.asarray(self.kernels, np.int64).reshape(-1, 8)
        found: list[JoinedExecutions] = []
        for index in range(rounds):
            last = index == rounds - 1
            upto = self.now if last else self.now * (index + 1) // rounds
            before = self.now * index // rounds
            some = (launches[:, 3] >= before) & ((launches[:, 3] < upto) | last)
            joiner.add_launches(_launches(launches[some]))
            some = (kernels[:, 1] >= before) & ((kernels[:, 1] < upto) | last)
            joiner.add_kernels(_kernels(kernels[some]))
            found += joiner.take(final=last)
        truth = {(row[3], row[5]): row[7] for row in self.kernels}
        joined = {}
        for part in found:
            names = zip(part.kernels.correlation, part.kernels.graph_node, strict=True)
            for key, seq, call in zip(names, part.seq, part.call, strict=True):
                place = (int(key[0]), int(key[1]))
                assert place not in joined, "a kernel is given once"
                assert seq in (NONE, truth[place]), "a join is never wrong"
                joined[place] = (int(seq), int(call))
            told = (part.seq == NONE) | (part.kernels.graph_node != 0)
            assert part.by_request.tolist() == told.tolist(), "a graph is asked for as a whole"
        assert len(joined) == len(self.kernels), "every kernel is given"
        foreign = [bool(one) for part in found for one in part.foreign]
        assert sum(foreign) == joiner.counts.foreign, "what others launched is marked as such"
        return joined


def _launches(rows: np.ndarray) -> Launches:
    seq, call, enter, leave, stream, graph, look = rows.T
    graph = np.where(graph == 0, NONE, graph)
    return Launches(seq, call, enter, leave, places(np.zeros_like(seq), stream), graph, look)


def _kernels(rows: np.ndarray) -> Kernels:
    start, end, stream, correlation, graph, node, look, _ = rows.T
    zero = np.zeros_like(start)
    grid = np.ones((len(start), 3), np.int64)
    return Kernels(start, end, zero, stream, correlation, graph, node, grid, zero, zero, look)


def test_every_kernel_of_a_quiet_program_is_joined() -> None:
    device = Device()
    for step in range(20):
        for look in (1, 2, 1, 3):
            device.launch(look, stream=7 + step % 2)
        device.launch(50, ours=False)
        device.now += 500 * MICROSECOND
    joiner = Joiner()
    joined = device.join(joiner, rounds=5)
    assert sum(seq != NONE for seq, _ in joined.values()) == 80
    assert (joiner.counts.joined, joiner.counts.foreign, joiner.counts.ambiguous) == (80, 20, 0)


def test_a_stream_that_waits_for_another_is_joined_all_the_same() -> None:
    device = Device()
    device.launch(1, stream=7)
    device.launch(2, stream=13, after=5_000 * MICROSECOND)  # waits for an event
    device.launch(3, stream=13)
    device.now += 9_000 * MICROSECOND
    device.launch(2, stream=13)
    device.launch(1, stream=7)
    joined = device.join(Joiner())
    assert all(seq != NONE for seq, _ in joined.values())


def test_a_launch_that_returns_long_after_its_kernel_ran_is_joined() -> None:
    device = Device()
    for step in range(40):
        device.launch(step % 2, slow=900 * (step % 3 == 0))
        device.now += 300 * MICROSECOND
    joined = device.join(Joiner(), rounds=2)
    assert all(seq != NONE for seq, _ in joined.values())


def test_launch_that_runs_trials_first_is_ordered_after_them() -> None:
    device = Device()
    enter = device.now
    for look in (1, 2, 1, 2):
        device.launch(look)
    device.launch(2)
    seq, call, _, *rest = device.launches[-1]
    device.launches[-1] = (seq, call, enter, *rest)
    device.now += 500 * MICROSECOND
    device.launch(1)
    joined = device.join(Joiner())
    assert all(seq != NONE for seq, _ in joined.values())


def test_foreign_kernel_of_the_same_name_prevents_joins_only_until_the_next_idle_moment() -> None:
    device = Device()
    for step in range(6):
        for look in (1, 1, 2):
            device.launch(look)
        if step == 2:
            device.launch(1, ours=False)
        device.now += 1_000 * MICROSECOND
    joiner = Joiner()
    joined = device.join(joiner, rounds=3)
    assert sum(seq != NONE for seq, _ in joined.values()) == 15
    assert joiner.counts.ambiguous == 4


def test_joining_resumes_after_another_profiler_used_cupti() -> None:
    device = Device()
    for _ in range(100):
        for _ in range(4):
            device.launch(1)
        device.now += 1_000 * MICROSECOND
    del device.kernels[100:200]
    joiner = Joiner()
    launches = np.asarray(device.launches, np.int64)
    kernels = np.asarray(device.kernels, np.int64)
    joiner.add_launches(_launches(launches[:200]))
    joiner.add_kernels(_kernels(kernels[:100]))
    found = joiner.take()
    joiner.lose_order()
    joiner.add_launches(_launches(launches[200:]))
    joiner.add_kernels(_kernels(kernels[100:]))
    found += joiner.take(final=True)
    for part in found:
        for correlation, seq in zip(part.kernels.correlation, part.seq, strict=True):
            assert seq in (NONE, correlation - 1)
    assert joiner.counts.joined >= 290


def test_joining_resumes_after_a_launch_that_never_ran() -> None:
    device = Device()
    for _ in range(400):
        device.launch(1)
        device.now += 20_000 * MICROSECOND
    del device.kernels[50]
    joiner = Joiner()
    device.join(joiner, rounds=16)
    assert joiner.counts.joined >= 250


def test_a_busy_stream_is_joined_without_waiting_for_it_to_be_idle() -> None:
    device = Device()
    for step in range(12_000):
        device.launch(step % 3, lasts=9)
    joiner = Joiner()
    joined = device.join(joiner, rounds=6)
    assert sum(seq != NONE for seq, _ in joined.values()) == 12_000


def test_busy_stream_of_one_kernel_is_joined_to_the_call_only() -> None:
    device = Device()
    for _ in range(12_000):
        device.launch(4, lasts=9)
    joined = device.join(Joiner(), rounds=6)
    early = [joined[key] for key in sorted(joined)][:6_000]
    assert {call for _, call in joined.values()} == {104}
    assert sum(seq == NONE for seq, _ in early) > 3_000


def test_replays_are_joined_to_captured_launches() -> None:
    device = Device()
    device.capture(1, [1, 2, 1])
    device.capture(4, [1, 3])
    for _ in range(5):
        device.replay(2, [1, 2, 99, 1], [0, 1, NONE, 2])
        device.replay(5, [1, 3], [3, 4])
    joiner = Joiner()
    joined = device.join(joiner, rounds=3)
    assert sum(seq != NONE for seq, _ in joined.values()) == 25
    assert joiner.counts.ambiguous == 0


def test_equal_graphs_captured_before_running_are_joined_by_call_only() -> None:
    device = Device()
    device.capture(1, [1, 2])
    device.capture(2, [1, 2])
    device.replay(4, [1, 2], [2, 3])  # made executable after both: not certain which it is
    joined = device.join(Joiner())
    assert sorted(joined.values()) == [(NONE, 101), (NONE, 102)]


def test_a_graph_with_kernels_that_were_not_captured_here_is_not_joined() -> None:
    device = Device()
    device.capture(1, [1, 2])
    device.replay(2, [1, 1, 2], [NONE, NONE, NONE])
    joiner = Joiner()
    joined = device.join(joiner)
    assert set(joined.values()) == {(NONE, NONE)}
    assert joiner.counts.ambiguous == 3


steps = st.lists(
    st.tuples(
        st.integers(0, 2),  # which kernel
        st.integers(1, 40),  # how long it runs
        st.sampled_from((True, True, True, True, False)),  # whether ours
        st.sampled_from((0, 0, 0, 30, 700)),  # microseconds that the program then does nothing
        st.sampled_from((7, 7, 13)),
        st.sampled_from((0, 0, 0, 1_000)),  # microseconds that the launch takes to return
    ),
    max_size=60,
)


@given(steps, st.integers(1, 4))
def test_no_join_is_wrong_for_any_foreign_launches(
    plan: list[tuple[int, int, bool, int, int, int]], rounds: int
) -> None:
    device = Device()
    for look, lasts, ours, pause, stream, slow in plan:
        device.launch(look, stream, lasts, ours, slow=slow)
        device.now += pause * MICROSECOND
    device.join(Joiner(), rounds)
