"""The hot path keeps nothing alive, loses no launch, and tells threads and phases apart."""

import gc
import itertools
import os
import sys
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kvtrace.capture import hot
from kvtrace.capture.records import AUTOTUNE, RUN
from tests.capture.recorders import (
    Adapter,
    Function,
    Kernel,
    calls,
    recorder_of,
    rows,
    wrapped,
)
from tests.support.thorough import usually

torch = pytest.importorskip("torch")


def test_recorded_tensors_are_freed_with_the_programs_last_reference():
    with wrapped():
        function, tensor = Function(Kernel()), torch.zeros(8)
        function.run(tensor, grid=lambda meta: (1,), warmup=False)
        function.given.clear()
        gone = weakref.ref(tensor)
        del tensor
        assert gone() is None


@pytest.mark.usefixtures("young_heap")
def test_launches_leave_nothing_for_the_garbage_collector():
    with wrapped() as (recorder, _):
        function, x = Function(Kernel()), torch.zeros(8)
        function.given = type("Nowhere", (), {"append": lambda self, row: None})()
        function.run(x, x, 3, grid=lambda meta: (1,), warmup=False, BLOCK=2)
        gc.collect()
        gc.disable()
        try:
            before = len(gc.get_objects())
            for _ in range(500):
                function.run(x, x, 3, grid=lambda meta: (1,), warmup=False, BLOCK=2)
            assert len(gc.get_objects()) - before < 20
        finally:
            gc.enable()
        assert len(calls(recorder)) == 501


def test_references_are_balanced():
    kernel, x, name = Kernel(), torch.zeros(8), "a name that is no constant " * 3
    with wrapped():
        function = Function(kernel)
        held = (kernel, x, name, torch.float32, None, Function)
        function.run(x, name, torch.float32, grid=(1,), warmup=False)
        function.given.clear()
        before = [sys.getrefcount(value) for value in held]
        for _ in range(100):
            function.run(x, name, torch.float32, grid=(1,), warmup=False)
            function.given.clear()
        after = [sys.getrefcount(value) for value in held]
    assert [late - early for early, late in zip(before, after, strict=True)] == [0] * 4 + [
        after[4] - before[4],
        0,
    ]
    assert abs(after[4] - before[4]) < 50  # None is everybody's


@pytest.mark.usefixtures("young_heap")
def test_a_recorder_is_collected_with_its_wrapper():
    recorder, adapter = recorder_of(), Adapter()
    function = recorder.wrap(Function.run, adapter)
    adapter.function = function  # a cycle through the adapter
    kernel = Kernel()
    function(Function(kernel), grid=(1,), warmup=False)
    gone = weakref.ref(adapter)
    del recorder, adapter, function, kernel
    gc.collect()
    assert gone() is None


def test_threads_lose_no_launch_and_agree_on_the_calls():
    recorder, adapter, kernel = recorder_of(), Adapter(), Kernel()
    taken, stop = [], threading.Event()

    def launch():
        for size in range(2000):
            recorder.record(adapter, None, kernel, (1,), (size % 50,), {}, size, size)

    def drain():
        while not stop.is_set():
            taken.append(rows(recorder))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        workers = [threading.Thread(target=launch) for _ in range(4)]
        drainer = threading.Thread(target=drain)
        for thread in (drainer, *workers):
            thread.start()
        for thread in workers:
            thread.join()
        stop.set()
        drainer.join()
    finally:
        sys.setswitchinterval(before)
    found = np.concatenate([*taken, rows(recorder)])
    assert len(found) == 8000
    assert len(set(found["thread"].tolist())) == 4
    # one size is one call, but for those that two threads met at the same moment
    per_size = {
        size: {int(c) for c in found["call_id"][found["enter"] % 50 == size]} for size in range(50)
    }
    assert all(1 <= len(ids) <= 4 for ids in per_size.values())
    assert not set.intersection(*per_size.values())


def test_rows_have_id_and_phase_of_the_launching_thread():
    recorder = recorder_of()

    def launch():
        assert recorder.swap_phase(AUTOTUNE) == RUN
        recorder.append(1, 10, 20)

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    recorder.append(2, 30, 40, 3, 5)
    first, second = rows(recorder)
    assert first["phase"] == AUTOTUNE
    assert second.tolist() == (30, 40, 2, 5, threading.get_native_id(), 0, 3, RUN)
    assert first["thread"] not in (0, second["thread"])


def test_tagged_copies_belong_to_the_next_launch_only():
    recorder, adapter, kernel = recorder_of(), Adapter(), Kernel()

    def launch():
        recorder.record(adapter, None, kernel, (1,), (1.0,), {}, 1, 2)

    launch()
    assert recorder.tag(7) == 0
    launch()
    launch()
    assert (recorder.tag(8), recorder.tag(9)) == (0, 8)
    recorder.append(1, 10, 20)
    assert rows(recorder)["contents"].tolist() == [0, 7, 0, 0]


def test_copies_for_a_failed_launch_are_not_assigned_to_another():
    recorder, adapter, kernel = recorder_of(), Adapter(), Kernel()

    class Owner:
        def run(self, fails, *, grid, warmup):
            del grid, warmup
            if fails:
                recorder.tag(5)
                raise ValueError("after the launch")
            return kernel

    Owner.run = recorder.wrap(Owner.run, adapter)
    with pytest.raises(ValueError, match="after the launch"):
        Owner().run(True, grid=(1,), warmup=False)
    Owner().run(False, grid=(1,), warmup=False)
    assert rows(recorder)["contents"].tolist() == [0]


def test_launchers_marked_uncommon_go_to_the_uncommon_method():
    class Apart(Adapter):
        def new_kernel(self, owner, kernel):
            return (*super().new_kernel(owner, kernel)[:3], kernel.apart)

    recorder, adapter = recorder_of(), Apart()
    went = []

    class Owner:
        def run(self, x, *, stream):
            del x, stream
            went.append("plain")

        def careful(self, x, *, stream):
            del x, stream
            went.append("careful")

    Owner.run = recorder.wrap_choosing(Owner.run, adapter, Owner.careful)
    for apart in (True, False):
        owner, launcher = Owner(), Kernel()
        launcher.apart = apart
        owner.launchers = [launcher]
        owner.run(1, stream=0)  # it is not known yet
        owner.run(1, stream=0)
    assert went == ["plain", "careful", "plain", "plain"]


def test_many_rows_are_drained_in_order_and_once():
    recorder = recorder_of()
    for number in range(10_000):
        recorder.append(number, number, number)
    assert calls(recorder) == list(range(10_000))
    assert calls(recorder) == []


def test_recorder_records_kernels_and_calls_again_after_forget():
    recorder, adapter, kernel = recorder_of(), Adapter(), Kernel()
    recorder.record(adapter, None, kernel, (1,), (), {}, 1, 2)
    recorder.forget()
    assert (recorder.known_calls, calls(recorder)) == (0, [])
    recorder.record(adapter, None, kernel, (1,), (), {}, 1, 2)
    assert (adapter.kernels, calls(recorder)) == (2, [1])


def test_launches_on_intel_devices_have_their_device():
    class OnIntel(Adapter):
        def new_kernel(self, owner, kernel):
            return (0, hot.ONEAPI, 2)

    recorder = recorder_of()
    recorder.record(OnIntel(), None, Kernel(), (1,), (torch.ones(2), 3), {}, 1, 2)
    (row,) = rows(recorder)
    assert row["stream"] == 0  # it is not known
    assert row["device"] == 2


class TestWhoseLaunchIsUnderWay:
    """`launching`: the id of whose launch the running thread has under way."""

    @pytest.fixture
    def recorder(self):
        return recorder_of()

    def owner_whose_launch(self, recorder, what):
        """An owner with a wrapped `run` that does something and returns a kernel."""

        class Owner:
            def run(self, *_args, grid, warmup):
                what(self)
                return Kernel()

        Owner.run = recorder.wrap(Owner.run, Adapter())
        return Owner()

    def test_launching_is_the_owners_id_during_its_launch(self, recorder):
        seen = []
        owner = self.owner_whose_launch(recorder, lambda _: seen.append(recorder.launching))
        owner.run(grid=(1,), warmup=False)
        owner.run(grid=lambda _: (1,), warmup=True)
        assert seen == [id(owner), id(owner)]
        assert recorder.launching == 0

    def test_nested_launch_restores_launching_of_the_outer_one(self, recorder):
        seen = []
        inner = self.owner_whose_launch(recorder, lambda _: seen.append(recorder.launching))

        def launch_inner(_):
            inner.run(grid=(1,), warmup=False)
            seen.append(recorder.launching)

        outer = self.owner_whose_launch(recorder, launch_inner)
        outer.run(grid=(1,), warmup=False)
        assert seen == [id(inner), id(outer)]

    def test_launching_is_reset_after_a_failed_launch(self, recorder):
        def fail(_):
            raise ValueError("as the program wants it")

        owner = self.owner_whose_launch(recorder, fail)
        with pytest.raises(ValueError, match="as the program wants it"):
            owner.run(grid=(1,), warmup=False)
        assert recorder.launching == 0

    def test_launching_is_zero_in_other_threads(self, recorder):
        seen = []

        def look(_):
            thread = threading.Thread(target=lambda: seen.append(recorder.launching))
            thread.start()
            thread.join()

        self.owner_whose_launch(recorder, look).run(grid=(1,), warmup=False)
        assert seen == [0]

    def test_launching_can_be_set_for_a_launch_that_is_not_wrapped(self, recorder):
        recorder.launching = id(recorder)
        assert recorder.launching == id(recorder)
        recorder.launching = 0
        assert recorder.launching == 0


def resident_bytes():
    with Path("/proc/self/statm").open() as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Launching:
    """Launches of one kind, whose rows are drained; each call makes some."""

    def __init__(self, recorder):
        self.recorder, self.function, self.numbers = recorder, Function(Kernel()), itertools.count()
        self.function.given = SimpleNamespace(append=lambda launch: None)
        self.arguments = (torch.ones(8), 2.5, "text", (1, [2]))

    def same_calls(self, count):
        for _ in range(count):
            self.function.run(*self.arguments, grid=(1,), warmup=False)

    def new_calls(self, count):
        for _ in range(count):
            self.function.run(next(self.numbers), *self.arguments, grid=(1,), warmup=False)

    def new_kernels(self, count):
        for _ in range(count):
            self.function.kernel = Kernel()
            self.function.run(*self.arguments, grid=lambda meta: (1,), warmup=False)


@pytest.mark.parametrize(
    ("launches", "count"),
    [
        ("same_calls", usually(40_000, thorough=10_000_000)),
        ("new_calls", usually(20_000, thorough=1_000_000)),
        ("new_kernels", usually(4_000, thorough=100_000)),
    ],
)
@pytest.mark.usefixtures("young_heap")
def test_memory_stays_flat_over_many_launches(launches, count):
    with wrapped(max_calls=1000) as (recorder, adapter):
        adapter.new_call = lambda *given: 1
        launching, marks = Launching(recorder), []
        for _ in range(4):
            for _ in range(20):
                getattr(launching, launches)(count // 80)
                recorder.drain()
            gc.collect()
            marks.append((sys.getallocatedblocks(), resident_bytes()))
    (_, _), (blocks, resident), *_, (last_blocks, last_resident) = marks
    assert last_blocks - blocks < 1000
    if "PYTHONMALLOC" not in os.environ:  # as sanitizers want it, which keep what is freed
        assert last_resident - resident < 2 << 20
