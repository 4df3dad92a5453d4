"""Copies that the native hot path makes by itself, on a driver and a device that are not there."""

import ctypes
import itertools
import time

import pytest
import torch

from kvtrace.capture.copied_contents import BYTE_NS, COPY_NS
from kvtrace.capture.device_copies import Copy

_hot = pytest.importorskip("kvtrace.capture._hot")

ARENA = 4096
CUDA = 2


class _Tensor(ctypes.Structure):
    """`dl_tensor` up to its device."""

    _fields_ = (("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("index", ctypes.c_int32))


class _Exchange(ctypes.Structure):
    """`dl_exchange`."""

    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("older", ctypes.c_void_p),
        ("before", ctypes.c_void_p * 3), ("view", ctypes.c_void_p), ("stream", ctypes.c_void_p),
    )  # fmt: skip


_VIEW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Tensor))
_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)

_NAME = b"dlpack_exchange_api"  # a capsule points to it
_torchs = _Exchange.from_address(
    _api.PyCapsule_GetPointer(torch.Tensor.__dlpack_c_exchange_api__, _NAME)
)


@_VIEW
def _on_a_device(tensor, seen):
    failed = _VIEW(_torchs.view)(tensor, seen)
    seen.contents.device = CUDA
    return failed


_exchange = _Exchange(1, 3, None, _torchs.before, ctypes.cast(_on_a_device, ctypes.c_void_p),
                      _torchs.stream)  # fmt: skip


class OnDevice(torch.Tensor):
    """A tensor that DLPack says is on a device."""

    __dlpack_c_exchange_api__ = _api.PyCapsule_New(ctypes.addressof(_exchange), _NAME, None)


_kept: list[torch.Tensor] = []


def on_device(tensor):
    """Keep the tensor, as a program does until the stream is done with it, until the next test."""
    _kept.append(tensor)
    return tensor.as_subclass(OnDevice)


class Driver:
    """CUDA's driver, whose stream gets to its work when it is told to."""

    def __init__(self):
        self.capturing = self.error = 0
        self.context = 1
        self.waiting, self.held = [], []
        kinds = (
            (self.current_context, "p"), (self.is_capturing, "pp"), (self.copy, "LLzp"),
            (self.write, "pLIi"), (self.exchange, "p"), (self.query, "p"),
        )  # fmt: skip
        types = {"p": ctypes.c_void_p, "L": ctypes.c_uint64, "z": ctypes.c_size_t,
                 "I": ctypes.c_uint32, "i": ctypes.c_uint}  # fmt: skip
        self.functions = [
            ctypes.CFUNCTYPE(ctypes.c_int, *(types[each] for each in given))(function)
            for function, given in kinds
        ]
        self.addresses = tuple(ctypes.cast(each, ctypes.c_void_p).value for each in self.functions)

    def current_context(self, found):
        ctypes.c_void_p.from_address(found).value = self.context
        return 0

    def is_capturing(self, _stream, status):
        ctypes.c_int.from_address(status).value = self.capturing
        return 0

    def copy(self, target, source, size, _stream):
        self.waiting.append(lambda: ctypes.memmove(target, source, size))
        return self.error

    def write(self, _stream, place, number, _flags):
        self.waiting.append(lambda: ctypes.memmove(place, number.to_bytes(4, "little"), 4))
        return 0

    def pinned(self, size):
        self.held.append(ctypes.create_string_buffer(size))
        return ctypes.addressof(self.held[-1])

    def exchange(self, _mode):
        return 0

    def query(self, _stream):
        return 700 if self.error else 600

    def run(self):
        while self.waiting:
            self.waiting.pop(0)()


_driver = Driver()  # the pinned memory is the process's


@pytest.fixture
def driver():
    """The driver, with nothing left of other tests."""
    _driver.capturing = _driver.error = 0
    _driver.context = 1
    _driver.run()
    _kept.clear()
    return _driver


def raise_it(error):
    raise error


@pytest.fixture
def recorder():
    return _hot.Recorder(raise_it, raise_it, (OnDevice,), 100)


SCHEDULE = (6, 3, 1, 1 << 20, 10, 15)


@pytest.fixture
def looks(recorder, driver):
    """Makes what copies, with so many nanoseconds of allowance."""

    def make(allowance=10**9, fraction=0.0, limit=1 << 20, waiting=100):
        budget = allowance, fraction, COPY_NS, BYTE_NS
        room = limit, waiting, 1 << 20, ARENA
        return recorder.looks(
            itertools.count(1), budget, room, SCHEDULE, driver.addresses, driver.pinned, 0
        )

    return make


def drained_copies(looks):
    return [
        (number, Copy(*fields), arguments) for number, _, fields, arguments, _ in looks.drain(0, 0)
    ]


def test_contents_are_copied_as_they_are_at_that_point_of_the_stream(looks, driver):
    x, y = on_device(torch.arange(8)), on_device(torch.arange(3, dtype=torch.int32))
    made = looks()
    assert made.take([(2, x), (5, y), (7, x)], 9, None, 0) == 1
    ((number, copy, arguments),) = drained_copies(made)
    assert (number, copy.stream, copy.done) == (1, 9, False)
    assert arguments == [(2, 0, 0, 0), (5, 1, 0, 0), (7, 0, 0, 0)]
    x[0] = 100  # before the stream gets there
    driver.run()
    assert copy.done
    assert copy.read() == (x.numpy().tobytes(), y.numpy().tobytes())
    made.release(copy.end)
    assert drained_copies(made) == []


def test_nothing_is_copied_into_a_graph_or_without_a_context(looks, driver):
    made, x = looks(), on_device(torch.arange(8))
    driver.capturing = 1
    assert made.take([(0, x)], 0, None, 0) == 0
    driver.capturing, driver.context = 0, None
    assert made.take([(0, x)], 0, None, 0) == 0
    assert made.failed == 0
    driver.context = 1
    assert made.take([(0, x)], 0, None, 6) == 6  # the number that the launch has already


def test_a_driver_error_stops_further_device_copies(looks, driver):
    made, x = looks(), on_device(torch.arange(8))
    driver.error = 719
    assert made.take([(0, x)], 0, None, 0) == 0
    assert made.failed == 719
    driver.error = 0
    assert made.take([(0, x)], 0, None, 0) == 0
    assert made.query(3) == 600


def test_missing_driver_is_reported_at_the_first_copy(recorder):
    made = recorder.looks(
        itertools.count(1), (0, 0.0, 1, 0.0), (8, 8, 8, 8), SCHEDULE, (0,) * 6, print, 0
    )
    assert made.failed == 0
    assert made.take([(0, on_device(torch.arange(1)))], 0, None, 0) == 0
    assert made.failed == -1


def test_waiting_copies_share_no_memory_and_memory_is_freed_in_order(looks, driver):
    made = looks()
    whole = on_device(torch.zeros(ARENA - 64, dtype=torch.uint8))
    assert made.take([(0, whole)], 0, None, 0) == 1  # behind it the ring begins again
    driver.run()
    made.release(drained_copies(made)[0][1].end)
    tensors = [on_device(torch.full((100,), n)) for n in range(9)]
    taken = [made.take([(0, x)], 0, None, 0) for x in tensors]
    assert taken[:4] == [2, 3, 4, 5]
    assert taken[4:] == [0] * 5  # 800 bytes each, and a number, of 4096
    driver.run()
    copies = [copy for _, copy, _ in drained_copies(made)]
    assert [copy.read() for copy in copies] == [(x.numpy().tobytes(),) for x in tensors[:4]]
    made.release(copies[1].end)
    assert made.take([(0, tensors[8])], 0, None, 0) == 0  # the oldest is not read yet
    made.release(copies[0].end)
    assert made.take([(0, tensors[8])], 0, None, 0) == 6
    driver.run()
    assert [copies[n].read() for n in (2, 3)] == [(tensors[n].numpy().tobytes(),) for n in (2, 3)]
    ((_, last, _),) = drained_copies(made)
    assert last.read() == (tensors[8].numpy().tobytes(),)
    for copy in (*copies[2:], last):
        made.release(copy.end)


def test_memory_of_a_freed_reader_is_reused_once_its_copies_arrive(looks, driver):
    x = on_device(torch.full((400,), 3))
    made = looks()
    assert made.take([(0, x)], 0, None, 0) == 1
    del made
    made = looks()
    assert made.take([(0, x)], 0, None, 0) == 0
    driver.run()
    assert made.take([(0, x)], 0, None, 0) == 1
    driver.run()
    ((_, copy, _),) = drained_copies(made)
    made.release(copy.end)


def test_number_of_waiting_copies_is_limited(looks, driver):
    made, x = looks(waiting=2), on_device(torch.arange(2))
    assert [made.take([(0, x)], 0, None, 0) for _ in range(3)] == [1, 2, 0]
    driver.run()
    made_copies = drained_copies(made)
    assert made.take([(0, x)], 0, None, 0) == 0  # Python has not read those two
    for _, copy, _ in made_copies:
        made.release(copy.end)
    assert made.drain(0, 0) == []
    assert made.take([(0, x)], 0, None, 0) == 3
    driver.run()
    made.release(drained_copies(made)[0][1].end)


@pytest.mark.parametrize(
    ("view", "reach"),
    [(slice(3, 7), slice(3, 7)), (slice(0, 40, 2), slice(0, 39)), (slice(5, 5), None)],
)
def test_only_the_view_of_a_large_storage_is_copied(looks, driver, view, reach):
    pool = torch.arange(100)
    part = on_device(pool[view])
    made = looks(limit=400)
    assert made.take([(1, part)], 0, None, 0) == int(reach is not None)
    driver.run()
    for _, copy, arguments in drained_copies(made):
        assert copy.read() == (pool[reach].numpy().tobytes(),)
        assert arguments == [(1, 0, 8 * reach.start, 8 * reach.start)]
        made.release(copy.end)


def test_contents_above_the_limits_are_left_out(looks):
    made = looks(limit=400)
    assert made.take([(0, on_device(torch.arange(51)))], 0, None, 0) == 0
    assert made.take([(0, 5), (1, None), (2, torch.arange(3))], 0, None, 0) == 0


def inspected_launches(look, arguments, driver, looks, count):
    """Which of so many launches are looked at; each copy is read at once."""
    seen = []
    for number in range(count):
        if look.at(arguments, 0):
            seen.append(number)
        driver.run()
        for _, copy, _ in drained_copies(looks):
            looks.release(copy.end)
    return seen


@pytest.mark.parametrize(
    ("is_settled", "inspected"), [(True, [0, 1, 2, 4, 8, 16]), (False, [0, 1, 2, 3, 4, 5, 21])]
)
def test_launches_on_a_device_are_inspected_at_growing_distances(
    recorder, looks, driver, is_settled, inspected
):
    """In a row as long as it is not known what the kernel writes."""
    made = looks()
    look = recorder.look(made, None, [(0, (0,))])
    if is_settled:
        look.settle([(0, (0,))])
    arguments = (on_device(torch.arange(4)), 4)
    assert inspected_launches(look, arguments, driver, made, 22) == inspected


def test_without_time_only_the_first_launch_is_inspected_and_others_are_counted(
    recorder, looks, driver
):
    made = looks(allowance=0)
    look = recorder.look(made, None, [(0, (0,))])
    look.settle([(0, (0,))])
    arguments = (on_device(torch.arange(4)),)
    assert inspected_launches(look, arguments, driver, made, 20) == [0]
    assert made.refused > 0
    assert not made.allows()


def test_the_time_that_copies_take_is_measured(recorder, looks, driver):
    made = looks(allowance=0, fraction=0.5)
    assert made.allows()
    made.spend(50_000_000)
    assert not made.allows()
    time.sleep(0.12)
    assert made.allows()


def test_tensors_within_tuples_are_copied(recorder, looks, driver):
    made, x = looks(), on_device(torch.arange(4))
    look = recorder.look(made, None, [(3, (1, 0, 1)), (4, (9,)), (5, (1, 7)), (6, (0, 0))])
    assert look.at((1, ((2, x), [])), 0) == 1
    ((_, copy, arguments),) = drained_copies(made)
    assert arguments == [(3, 0, 0, 0)]
    driver.run()
    assert copy.read() == (x.numpy().tobytes(),)
    made.release(copy.end)


def test_copies_are_forgotten_when_another_run_begins(recorder, looks, driver):
    made, x = looks(), on_device(torch.arange(4))
    made.take([(0, x)], 0, None, 0)
    driver.run()
    for _, copy, _ in drained_copies(made):
        made.release(copy.end)
    made.spend(10**12)
    assert not made.allows()
    made.renew(itertools.count(40))
    assert made.allows()
    assert made.take([(0, x)], 0, None, 0) == 40
    driver.run()
    made.release(drained_copies(made)[0][1].end)
