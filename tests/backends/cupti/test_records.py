"""CUPTI's records: lengths by version, fields, and the buffers that it fills."""

import ctypes
import importlib
import time

import numpy as np
import pytest

from kvtrace.backends.cupti.records import (
    Looks,
    layout,
    read_kernels,
    read_transfers,
    record_lengths,
)


@pytest.mark.parametrize(
    ("version", "lengths"),
    [
        (18, (208, 88, 88)),
        (24, (208, 88, 88)),
        (28, (208, 96, 88)),
        (130001, (216, 96, 88)),
        (130101, (224, 96, 88)),
        (130202, (224, 96, 88)),
        (130301, (232, 96, 88)),
        (130401, (248, 112, 104)),
        (130500, (248, 112, 104)),
    ],
)
def test_lengths_of_records_follow_from_the_version(
    version: int, lengths: tuple[int, int, int]
) -> None:
    assert record_lengths(version) == lengths


def test_versions_that_are_not_known_have_no_lengths() -> None:
    assert record_lengths(17) is None
    assert record_lengths(140000) is None


@pytest.mark.parametrize("length", [208, 216, 248])
def test_records_are_read_as_columns(length: int) -> None:
    records = np.zeros(3, layout(length))
    records["start"], records["end"] = [5, 15, 25], [10, 20, 30]
    records["name"] = [4096, 8192, 4096]
    records["grid_x"], records["grid_y"], records["grid_z"] = [4, 1, 4], 1, 1
    records["static_shared"], records["dynamic_shared"] = 16, [0, 32, 64]
    records["correlation"] = [1, 2, 3]
    records["graph"], records["graph_node"] = [0, 0, 2], [0, 0, 2 << 32 | 1]
    looks = Looks()
    names = {4096: "add", 8192: "mul"}
    kernels = read_kernels(records.tobytes(), length, names.__getitem__, looks)
    assert [looks.known[number][0] for number in kernels.look] == ["add", "mul", "add"]
    assert kernels.look[0] == kernels.look[2]
    assert kernels.end.tolist() == [10, 20, 30]
    assert kernels.shared_bytes.tolist() == [16, 48, 80]
    assert kernels.graph_node.tolist() == [0, 0, (2 << 32) + 1]


def packed_record(kind: int, length: int, **fields: tuple[int, int, int]) -> bytes:
    """Make a record: a field is (offset, bytes, value)."""
    made = bytearray(length)
    made[:4] = kind.to_bytes(4, "little")
    for offset, size, value in fields.values():
        made[offset : offset + size] = value.to_bytes(size, "little")
    return bytes(made)


def test_copies_and_fills_are_read_as_columns() -> None:
    placed = {"end": (24, 8, 30), "device": (32, 4, 1), "stream": (40, 4, 7)}
    transfers = read_transfers(
        packed_record(1, 80, how=(4, 1, 1), bytes=(8, 8, 1 << 33), start=(16, 8, 5), **placed)
        + packed_record(1, 80, how=(4, 1, 8), bytes=(8, 8, 64), graph=(72, 4, 3), **placed)
        + packed_record(2, 80, how=(4, 4, 0), bytes=(8, 8, 4096), correlation=(44, 4, 9), **placed)
    )
    assert transfers.names == ["memcpy host to device", "memcpy device to device", "memset"]
    assert transfers.fill.tolist() == [False, False, True]
    assert transfers.bytes.tolist() == [1 << 33, 64, 4096]
    assert transfers.start.tolist() == [5, 0, 0]
    assert transfers.end.tolist() == [30] * 3
    assert transfers.stream.tolist() == [7] * 3
    assert transfers.graph.tolist() == [0, 3, 0]
    assert transfers.correlation.tolist() == [0, 0, 9]


def test_the_clock_for_cupti_is_the_realtime_clock() -> None:
    buffers = importlib.import_module("kvtrace.backends.cupti._buffers")
    clock = ctypes.CFUNCTYPE(ctypes.c_uint64)(buffers.REALTIME)
    before, now, after = time.time_ns(), clock(), time.time_ns()
    assert before <= now <= after


def test_cupti_gets_buffers_that_are_zero_and_wait_already() -> None:
    # given a buffer that CUPTI has filled, taken back in our thread
    buffers = importlib.import_module("kvtrace.backends.cupti._buffers")
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    request = ctypes.CFUNCTYPE(None, pointer, pointer, pointer)(buffers.REQUEST)
    complete = ctypes.CFUNCTYPE(None, pointer, ctypes.c_uint32, pointer, size, size)(
        buffers.COMPLETE
    )
    buffers.take(216, 96, 88)
    for _ in range(3):
        data, room, records = pointer(), size(), size()
        request(ctypes.byref(data), ctypes.byref(room), ctypes.byref(records))
        # then what CUPTI gets next holds nothing of it
        assert not any(ctypes.string_at(data, room.value))
        ctypes.memset(data, 255, room.value)
        complete(None, 0, data, room.value, 216)
        buffers.take(216, 96, 88)


def test_buffers_are_passed_to_cupti_and_returned_complete() -> None:
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

    buffers.take(216, 96, 88)
    first, room = asked()
    second, _ = asked()
    assert first != second
    assert first % 8 == 0
    kernels = [packed_record(10, 216, correlation=(92, 4, n)) for n in (1, 2)]
    copy, fill = packed_record(1, 96, bytes=(8, 8, 5)), packed_record(2, 88, bytes=(8, 8, 6))
    mixed = kernels[0] + copy + fill + kernels[1]
    unknown = packed_record(7, 40)
    ctypes.memmove(first, mixed + unknown, len(mixed + unknown))
    complete(None, 0, first, room, len(mixed + unknown))
    complete(None, 0, second, room, 0)
    assert buffers.take(216, 96, 88) == [(b"".join(kernels), copy[:80] + fill[:80], 40)]
    assert buffers.take(216, 96, 88) == []
    with pytest.raises(ValueError, match="shorter than its fields"):
        buffers.take(216, 40, 88)
    given = [asked() for _ in range(80)]
    assert sum(address != 0 for address, _ in given) <= 64
    for address, _ in given:
        complete(None, 0, address or None, room, 0)
