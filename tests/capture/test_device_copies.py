"""Where copies are put in pinned memory; what talks to a device is in tests/gpu."""

import ctypes
import os
from collections import deque
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.capture import device_copies
from kvtrace.capture.device_copies import (
    ARENA_BYTES,
    CopyFailed,
    DeviceCopies,
    pinned_memory,
    reserve_memory,
)
from kvtrace.forks import Lock

SIZE = 4096


def arena():
    """Copies whose memory is ordinary, and that no driver is asked for."""
    memory = ctypes.create_string_buffer(SIZE)
    copies = DeviceCopies.__new__(DeviceCopies)
    copies._lock = Lock()
    copies._number = copies._head = copies._tail = 0
    copies._ends, copies._released = deque(), set()
    copies._size, copies._base = SIZE, ctypes.addressof(memory)
    return copies, memory


@given(st.lists(st.integers(0, 1200), max_size=40))
def test_copies_that_wait_never_share_memory(steps):
    """A size asks for a copy in two parts, 0 gives back the oldest or the newest."""
    copies, memory = arena()
    waiting = deque()
    for size in steps:
        if size == 0:
            if waiting:
                copies.release(waiting.pop() if len(waiting) % 2 else waiting.popleft())
            continue
        sizes = [size, size // 3 + 1]
        copy = copies._allocated(sizes, 0)
        if copy is None:
            continue
        copies._commit(copy)
        waiting.append(copy)
        spans = sorted(span for each in waiting for span in (*each.parts, (each.flag, 4)))
        assert spans[0][0] >= copies._base
        assert spans[-1][0] + spans[-1][1] <= copies._base + SIZE
        assert all(a + size <= b for (a, size), (b, _) in pairwise(spans))
    assert len(memory) == SIZE


def test_memory_is_free_again_after_copies_are_released():
    copies, _memory = arena()
    first = copies._allocated([3000], 0)
    copies._commit(first)
    assert copies._allocated([2000], 0) is None
    copies.release(first)
    assert copies._allocated([2000], 0) is not None
    assert copies._allocated([SIZE], 0) is None


def test_a_copy_is_done_once_its_number_is_written():
    copies, _memory = arena()
    copy = copies._allocated([3, 5], 0)
    assert not copy.done
    ctypes.memmove(copy.parts[0][0], b"abc", 3)
    ctypes.memmove(copy.parts[1][0], b"defgh", 5)
    ctypes.c_uint32.from_address(copy.flag).value = copy.number
    assert copy.done
    assert copy.read() == (b"abc", b"defgh")


class Driver:
    """CUDA's driver, which pins memory unless `refused` is its error, and maps it at `shift`."""

    def __init__(self, refused=0, shift=0):
        self.refused, self.shift = refused, shift
        self.pinned, self.allocated = {}, {}

    def cuThreadExchangeStreamCaptureMode(self, _mode):
        return 0

    def cuStreamWriteValue32_v2(self, *_):
        raise AssertionError

    def cuMemHostRegister_v2(self, address, size, flags):
        assert flags == 3
        if not self.refused:
            self.pinned[address.value] = size.value
        return self.refused

    def cuMemHostGetDevicePointer_v2(self, found, address, _flags):
        found._obj.value = address.value + self.shift
        return 0

    def cuMemHostUnregister(self, address):
        del self.pinned[address.value]
        return 0

    def cuMemHostAlloc(self, found, size, _flags):
        if self.refused == 2:
            return 2
        memory = ctypes.create_string_buffer(size.value)
        self.allocated[ctypes.addressof(memory)] = memory
        found._obj.value = ctypes.addressof(memory)
        return 0


@pytest.fixture
def with_driver(monkeypatch):
    """Makes a driver the one that is loaded by the name of CUDA's."""
    loaded = ctypes.CDLL

    def use(driver):
        monkeypatch.setattr(ctypes, "CDLL", lambda name, *_: driver if name else loaded(None))
        return driver

    return use


def test_pinned_memory_has_the_addresses_that_were_reserved(with_driver):
    # given memory that was reserved before there is a driver
    reserve_memory()
    ((_, reserved),) = device_copies._reserved
    reserve_memory()
    assert device_copies._reserved == [(os.getpid(), reserved)]
    # when memory of that size is pinned, then it is that one; and further memory is another
    driver = with_driver(Driver())
    addresses = [pinned_memory(size) for size in (4096, ARENA_BYTES, ARENA_BYTES)]
    assert addresses[1] == reserved
    assert driver.pinned == dict(zip(addresses, (4096, ARENA_BYTES, ARENA_BYTES), strict=True))
    assert not driver.allocated
    ctypes.memset(reserved, 7, ARENA_BYTES)
    assert ctypes.string_at(reserved + ARENA_BYTES - 1, 1) == b"\x07"


@pytest.mark.parametrize("driver", [Driver(refused=801), Driver(shift=4096)])
def test_driver_allocates_what_it_cannot_map_under_the_same_address(with_driver, driver):
    with_driver(driver)
    assert pinned_memory(4096) in driver.allocated
    assert not driver.pinned


def test_error_of_the_driver_is_reported(with_driver):
    with_driver(Driver(refused=2))
    assert pinned_memory(4096) == -2
    with pytest.raises(CopyFailed, match="cuMemHostAlloc failed with error 2"):
        DeviceCopies(4096)


@pytest.mark.process
def test_forked_process_does_not_use_the_memory_of_its_parent(with_driver):
    with_driver(Driver())
    reserve_memory()
    ((_, reserved),) = device_copies._reserved
    child = os.fork()
    if child == 0:
        pinned = pinned_memory(ARENA_BYTES)
        ctypes.memset(pinned, 9, ARENA_BYTES)
        os._exit(int(pinned == reserved))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ctypes.string_at(reserved, ARENA_BYTES) == bytes(ARENA_BYTES)
    assert pinned_memory(ARENA_BYTES) == reserved
