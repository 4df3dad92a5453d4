"""CUPTI's records: lengths by version, fields, and the buffers that it fills."""

import ctypes
import importlib
import time

import numpy as np
import pytest

from kvtrace.backends.cupti.records import Identities, layout, read_kernels, record_length


@pytest.mark.parametrize(
    ("version", "length"),
    [(18, 208), (24, 208), (28, 208), (130001, 216), (130101, 224), (130202, 224), (130301, 232)],
)
def test_the_length_of_a_record_follows_from_the_version(version: int, length: int) -> None:
    assert record_length(version) == length


def test_versions_that_are_not_known_have_no_length() -> None:
    assert record_length(17) is None
    assert record_length(140000) is None


@pytest.mark.parametrize("length", [208, 216, 248])
def test_records_are_read_as_columns(length: int) -> None:
    records = np.zeros(3, layout(length))
    records["kind"] = 10
    records["start"], records["end"] = [5, 15, 25], [10, 20, 30]
    records["name"] = [4096, 8192, 4096]
    records["grid_x"], records["grid_y"], records["grid_z"] = [4, 1, 4], 1, 1
    records["static_shared"], records["dynamic_shared"] = 16, [0, 32, 64]
    records["correlation"] = [1, 2, 3]
    records["graph"], records["graph_node"] = [0, 0, 2], [0, 0, 2 << 32 | 1]
    identities = Identities()
    names = {4096: "add", 8192: "mul"}
    kernels = read_kernels(records.tobytes(), length, names.__getitem__, identities)
    assert [identities.known[number][0] for number in kernels.identity] == ["add", "mul", "add"]
    assert kernels.identity[0] == kernels.identity[2]
    assert kernels.end.tolist() == [10, 20, 30]
    assert kernels.shared_bytes.tolist() == [16, 48, 80]
    assert kernels.graph_node.tolist() == [0, 0, (2 << 32) + 1]


def test_a_buffer_of_something_else_is_refused() -> None:
    records = np.zeros(2, layout(208))
    with pytest.raises(ValueError, match="not one of kernel records"):
        read_kernels(records.tobytes(), 208, str, Identities())
    with pytest.raises(ValueError, match="not one of kernel records"):
        read_kernels(bytes(100), 208, str, Identities())


def test_the_clock_for_cupti_is_the_realtime_clock() -> None:
    buffers = importlib.import_module("kvtrace.backends.cupti._buffers")
    clock = ctypes.CFUNCTYPE(ctypes.c_uint64)(buffers.REALTIME)
    before, now, after = time.time_ns(), clock(), time.time_ns()
    assert before <= now <= after


def test_buffers_go_to_cupti_and_come_back() -> None:
    buffers = importlib.import_module("kvtrace.backends.cupti._buffers")
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    request = ctypes.CFUNCTYPE(None, pointer, pointer, pointer)(buffers.REQUEST)
    complete = ctypes.CFUNCTYPE(None, pointer, ctypes.c_uint32, pointer, size, size)(
        buffers.COMPLETE
    )

    def asked() -> tuple[int, int]:
        data, room, records = pointer(), size(), size(7)
        request(ctypes.byref(data), ctypes.byref(room), ctypes.byref(records))
        assert records.value == 0
        return data.value or 0, room.value

    buffers.take()
    first, room = asked()
    second, _ = asked()
    assert first != second
    assert first % 8 == 0
    ctypes.memmove(first, b"kernels!", 8)
    complete(None, 0, first, room, 8)
    complete(None, 0, second, room, 0)
    assert buffers.take() == [b"kernels!"]
    assert buffers.take() == []
    given = [asked() for _ in range(80)]
    assert sum(address != 0 for address, _ in given) <= 64
    assert buffers.refusals() >= 16
    for address, _ in given:
        complete(None, 0, address or None, room, 0)
