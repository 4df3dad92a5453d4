"""Each allocation of what CUPTI calls fails once: the request goes on, and all is told."""

import ctypes
import itertools
import struct
import threading
from shutil import which

import pytest

from kvtrace.backends.cupti.frames import find_frame_offsets
from kvtrace.backends.cupti.read_stacks import ReadStacks
from tests.backends.cupti.driver_requests import LAUNCH, STREAM_SYNCHRONIZE, Asked, callback_of
from tests.support.native_build import Allocations
from tests.support.tiers import needs

_testcapi = pytest.importorskip("_testcapi")
pytestmark = [
    pytest.mark.costly("compiles the extension"),
    pytest.mark.skipif(which("gcc") is None, reason="allocations are made to fail by gcc's linker"),
]
REQUESTED, OTHER_BYTES = 200, 80
LENGTHS = KERNEL_BYTES, COPY_BYTES, _ = 160, 120, 96
COUNTS = [1, 3, 1 << 40]


@pytest.fixture(scope="module")
@needs("process")
def requests(tmp_path_factory):
    """The compiled requests."""
    return Allocations("kvtrace/backends/cupti/_requests.c", tmp_path_factory.mktemp("requests"))


@pytest.fixture(scope="module")
@needs("process")
def buffers(tmp_path_factory):
    """The compiled buffers."""
    return Allocations("kvtrace/backends/cupti/_buffers.c", tmp_path_factory.mktemp("buffers"))


def asked_by(native):
    """Ask the driver from code objects of many names, in a new thread."""
    native.forget()
    native.take()
    native.expect(*LAUNCH, 1)
    native.expect(*STREAM_SYNCHRONIZE, 2)
    find_frame_offsets(native)
    callback, failures = callback_of(native), []

    def ask(number):
        asked = Asked(own=ctypes.pointer(ctypes.c_uint64()), correlation=number)
        for asked.site in (0, 1):
            callback(None, *(LAUNCH, STREAM_SYNCHRONIZE)[number % 2], ctypes.byref(asked))

    def ask_all():
        try:
            for number in range(REQUESTED):
                name = f"function_{number}"
                made = {}
                exec(f"def {name}(ask, number):\n    ask(number)", made)
                made[name](ask, number)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=ask_all)
    thread.start()
    thread.join()
    assert failures == []


def requested(take):
    """The numbers of requests taken and lost, and a flag that their stacks are known."""
    stacks, count, lost, is_left, numbers = ReadStacks(), 0, 0, True, []
    while is_left:
        content, news, missing, is_left = take()
        stacks.add(news)
        rows = list(struct.iter_unpack("=QQQQIIQQQII", content))
        numbers += [row[6] for row in rows]
        count, lost = count + len(rows), lost + missing
    return count, lost, max(numbers, default=0) <= stacks.count


@pytest.mark.parametrize("count", COUNTS)
def test_a_request_goes_on_whichever_allocation_fails(requests, count):
    native = requests.module
    for point in itertools.count(1):
        with requests.failing(point, count):
            asked_by(native)
        if requests.made < point:
            break
        found, lost, fits = requested(native.take)
        assert fits, point
        assert found + lost >= REQUESTED, (point, found, lost)
        assert lost, point
    assert point > 3


def test_taking_requests_loses_nothing_whichever_allocation_fails(requests):
    native = requests.module
    asked_by(native)
    expected = requested(native.take)
    assert expected == (REQUESTED, 0, True)
    for point in itertools.count(1):
        asked_by(native)
        failures = []

        def take(at=point, failures=failures):
            if not failures:
                _testcapi.set_nomemory(at - 1, at)
                try:
                    return native.take()
                except MemoryError as error:
                    failures.append(error)
                finally:
                    _testcapi.remove_mem_hooks()
            return native.take()

        assert requested(take) == expected
        if not failures:
            break
    assert point > 1


def filled(native, count):
    """Fill buffers as CUPTI does, with two records each; return how many there were room for."""
    ask = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(native.REQUEST)
    complete = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
    )(native.COMPLETE)
    made = 0
    for _ in range(count):
        data, size, records = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
        ask(*map(ctypes.addressof, (data, size, records)))
        assert bool(data.value) == bool(size.value)
        if not data.value:
            continue
        content = struct.pack("=I", 10).ljust(KERNEL_BYTES, b"k")
        content += struct.pack("=I", 1).ljust(COPY_BYTES, b"c")
        ctypes.memmove(data.value, content, len(content))
        complete(None, 0, data.value, size.value, len(content))
        made += 1
    return made


def with_records(contents):
    """The number of buffers that hold the records of one fill."""
    for kernels, others, unread in contents:
        assert (len(kernels), len(others), unread) == (KERNEL_BYTES, OTHER_BYTES, 0)
    return len(contents)


@pytest.mark.parametrize("count", COUNTS)
def test_buffers_are_refused_or_read_whichever_allocation_fails(buffers, count):
    for point in itertools.count(1):
        with buffers.failing(point, count):
            made = filled(buffers.module, 8)
            assert with_records(buffers.module.take(*LENGTHS)) == made
        if buffers.made < point:
            break
        assert filled(buffers.module, 8) == 8
        assert with_records(buffers.module.take(*LENGTHS)) == 8
    assert point > 3


def test_buffers_stay_until_there_is_memory_to_take_them(buffers):
    native = buffers.module
    for point in itertools.count(1):
        assert filled(native, 5) == 5
        contents, failed = (), False
        _testcapi.set_nomemory(point - 1, point)
        try:
            contents = native.take(*LENGTHS)
        except MemoryError:
            failed = True
        finally:
            _testcapi.remove_mem_hooks()
        found = with_records(contents)
        assert found + with_records(native.take(*LENGTHS)) == 5
        if found == 5 and not failed:
            break
    assert point > 10
