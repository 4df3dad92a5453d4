"""Where copies are put in pinned memory; what talks to a device is in tests/gpu."""

import ctypes
import os
from collections import deque
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.capture.device_copies import (
    ARENA_BYTES,
    CopyFailed,
    DeviceCopies,
    pinned_memory,
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


def test_pinned_memory_is_far_from_what_is_mapped_otherwise(with_driver):
    driver = with_driver(Driver())
    addresses = [pinned_memory(size) for size in (4096, ARENA_BYTES, ARENA_BYTES)]
    assert driver.pinned == dict(zip(addresses, (4096, ARENA_BYTES, ARENA_BYTES), strict=True))
    assert not driver.allocated
    for address in addresses:
        assert 0x5000_0000_0000 <= address < 0x5100_0000_0000
        ctypes.memset(address, 7, 4096)
        assert ctypes.string_at(address + 4095, 1) == b"\x07"


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
def test_device_goes_on_writing_to_the_same_pages_after_a_fork(with_driver):
    with_driver(Driver())
    address = pinned_memory(4096)
    ctypes.memset(address, 1, 4096)
    child = os.fork()
    if child == 0:
        ctypes.memset(address, 9, 4096)  # the pages of the parent: none was copied
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert ctypes.string_at(address, 4096) == bytes([9]) * 4096
