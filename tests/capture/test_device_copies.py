"""Where copies are put in pinned memory; what talks to a device is in tests/gpu."""

import ctypes
from collections import deque
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kvtrace.capture.device_copies import DeviceCopies
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
