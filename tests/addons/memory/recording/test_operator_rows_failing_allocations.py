"""Each allocation of the C that records operators fails once: the program runs, and all is told."""

import itertools
import threading
from shutil import which

import pytest
import torch

from kvtrace.addons.memory.recording.layouts import install
from kvtrace.addons.memory.recording.operator_rows import unique_calls
from kvtrace.backends.cupti.frames import find_frame_offsets
from kvtrace.backends.cupti.read_stacks import ReadStacks
from tests.addons.memory.recording.allocator_hook import Allocator
from tests.support.native_build import Allocations
from tests.support.tiers import needs

_testcapi = pytest.importorskip("_testcapi")
pytestmark = [
    pytest.mark.costly("compiles the extension"),
    pytest.mark.skipif(which("gcc") is None, reason="allocations are made to fail by gcc's linker"),
]
SOURCE = "kvtrace/addons/memory/recording/_operators.c"
#: More than the tables have places for at first.
ADDRESSES = [512 * n for n in range(1, 2600)]


class Recording:
    """The compiled extension, installed in torch and as the allocators' hook."""

    def __init__(self, folder):
        self.allocations = Allocations(SOURCE, folder)
        self.native = self.allocations.module
        self.installed = install(self.native, torch)
        self.allocator = Allocator(self.native)
        assert self.allocator.install()
        self.empty = self.native.wrap_allocating(torch.empty_strided)

    def program(self):
        """Run the operators of the program, and return their results."""
        x = torch.ones(4)
        for _ in range(3):
            x = torch.add(x, 1)
        for size in range(600):  # more unique calls than the table has places for at first
            torch.ones(size + 1).neg_()
        x = torch.cat([x, x.reshape(1, 1, 1, 1, 1, 1, 4).reshape(4)])
        self.empty((2, 2), (2, 1))
        for address in ADDRESSES:
            self.allocator.allocate(address)
        for address in ADDRESSES:
            self.allocator.free(address)
        return x.tolist()

    def run(self, first=0, count=1):
        """Run the program in a new thread; return its result, or what it raised."""
        outcome = []

        def target():
            try:
                outcome.append(self.program())
            except BaseException as error:
                outcome.append(error)

        self.native.forget()
        find_frame_offsets(self.native)
        self.native.record_calls(True)
        with self.allocations.failing(first, count):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
        self.native.record_calls(False)
        return outcome[0]

    def taken(self, take):
        """Numbers of operators and allocations, of what is lost, and whether numbers are known."""
        stacks, calls, operations, allocations, lost, fits = ReadStacks(), [], 0, 0, 0, True
        is_left = True
        while is_left:
            news, operators, rows, memory, missing, is_left = take()
            stacks.add(news)
            calls += unique_calls(operators)
            numbers = memoryview(rows[0]).cast("q").tolist()
            fits &= max(numbers, default=-1) < len(calls)
            fits &= max((call.stack for call in calls), default=0) <= stacks.count
            operations += len(numbers)
            allocations += len(memory[0]) // 8
            lost += missing
        return operations, allocations, lost, fits

    def close(self):
        self.native.record_calls(False)
        self.allocator.uninstall()
        self.installed.remove(self.installed.handle)


@pytest.fixture(scope="module")
@needs("process")
def recording(tmp_path_factory):
    made = Recording(tmp_path_factory.mktemp("failing"))
    yield made
    made.close()


@pytest.mark.parametrize("count", [1, 3, 1 << 40])
def test_an_operator_runs_whichever_allocation_fails(recording, count):
    expected = recording.run()
    operations, allocations, lost, fits = recording.taken(lambda: recording.native.take(True))
    assert (lost, fits) == (0, True)
    assert operations > 1200
    assert allocations == len(ADDRESSES) + 1
    for point in itertools.count(1):
        assert recording.run(point, count) == expected
        if recording.allocations.made < point:
            break
        rows, memory, lost, fits = recording.taken(lambda: recording.native.take(True))
        assert fits, point
        assert rows + memory + lost >= operations + allocations, (point, rows, memory, lost)
    assert point > 15


def test_taking_loses_nothing_whichever_allocation_fails(recording):
    recording.run()
    expected = recording.taken(lambda: recording.native.take(True))

    for point in itertools.count(1):
        recording.run()
        failures = []

        def take(at=point, failures=failures):
            if failures:
                return recording.native.take(True)
            _testcapi.set_nomemory(at - 1, at)
            try:
                return recording.native.take(True)
            except MemoryError as error:
                failures.append(error)
            finally:
                _testcapi.remove_mem_hooks()
            return recording.native.take(True)

        assert recording.taken(take) == expected
        if not failures:
            break
    assert point > 12
