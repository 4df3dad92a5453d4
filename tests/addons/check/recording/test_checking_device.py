"""Checks on a device, with a driver of ours in place of CUDA's; what a GPU does is in tests/gpu."""

import ctypes
from collections import deque

import pytest
import torch

import kvtrace
from kvtrace.addons.check.recording import memory_needed
from kvtrace.capture import launch_copies
from kvtrace.capture.device_copies import DeviceCopies
from kvtrace.forks import Lock
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.backends.compiled_kernels import check_kernels as kernels

COUNT = 1000
SIZE = 256_000


class Driver:
    """CUDA's driver on the CPU: copies at once, and writes the numbers behind them when told to."""

    def __init__(self):
        self.capturing = self.failing = False
        self.slow = False
        self.said = 600
        self.numbers = []
        self.waits = self.rows = 0

    def cuCtxGetCurrent(self, context):
        context._obj.value = 1
        return 0

    def cuStreamIsCapturing(self, _stream, status):
        status._obj.value = self.capturing
        return 0

    def cuMemcpyAsync(self, target, source, size, _stream):
        if self.failing:
            return 700
        ctypes.memmove(target.value, source.value, size.value)
        return 0

    def cuMemcpy2DAsync_v2(self, rows, _stream):
        self.rows += 1
        words = (ctypes.c_uint64 * 16).from_address(ctypes.addressof(rows._obj))
        assert ctypes.sizeof(rows._obj) == 128
        assert (words[2], words[9]) == (4, 1)  # unified memory to the host's
        for row in range(words[15]):
            ctypes.memmove(words[10] + row * words[13], words[4] + row * words[6], words[14])
        return 0

    def write(self, _stream, place, number, _flags):
        self.numbers.append((place.value, number.value))
        if not self.slow:
            self.arrive()
        return 0

    def cuStreamSynchronize(self, _stream):
        self.waits += 1
        return 0

    def cuStreamQuery(self, _stream):
        return self.said

    def cuThreadExchangeStreamCaptureMode(self, _mode):
        return 0

    def arrive(self):
        for place, number in self.numbers:
            ctypes.c_uint32.from_address(place).value = number
        self.numbers.clear()


@pytest.fixture
def driver(monkeypatch):
    """The driver that tensors are copied with, as if they were a GPU's."""
    made, memory = Driver(), ctypes.create_string_buffer(SIZE)
    copies = DeviceCopies.__new__(DeviceCopies)
    copies._driver, copies._write, copies._lock = made, made.write, Lock()
    copies._number = copies._head = copies._tail = 0
    copies._ends, copies._released = deque(), set()
    copies._size, copies._base = SIZE, ctypes.addressof(memory)
    monkeypatch.setattr(launch_copies, "device_copies", lambda _size: copies)
    monkeypatch.setattr(memory_needed, "kind_of", lambda _values: "cuda")
    made.memory, made.copies = memory, copies
    return made


def kept(out):
    """Before and after by launch, and messages by code."""
    trace = open_trace(out)
    memory = {}
    for row in plain_rows(trace.table("checked_memory")):
        content = trace.artifact(row["artifact"])
        memory.setdefault(row["seq"], {})[row["when"]] = torch.frombuffer(
            bytearray(content), dtype=torch.float32
        )[0].item()
    codes = {row["code"]: row["text"] for row in plain_rows(trace.table("messages"))}
    return memory, codes


def launched(x):
    kernels.double[(4,)](x, COUNT, BLOCK=256)


def test_copies_arrive_later_and_belong_to_their_launches(tmp_path, driver):
    x = torch.ones(COUNT)
    driver.slow = True
    with kvtrace.capture(tmp_path, check="kernel:double") as session:
        for _ in range(3):
            launched(x)
            kvtrace.start(tmp_path).flush()
        del session
        assert kept(tmp_path)[0] == {}
        driver.arrive()
        driver.slow = False
    assert kept(tmp_path)[0] == {seq: {"before": 2.0**seq, "after": 2.0 ** (seq + 1)}
                                 for seq in range(3)}  # fmt: skip
    assert driver.waits == 0


def test_thread_without_a_context_does_not_report_copies_as_lost(tmp_path, driver):
    x = torch.ones(COUNT)
    driver.slow, driver.said = True, 201
    with kvtrace.capture(tmp_path, check="kernel:double"):
        for _ in range(3):
            launched(x)
        kvtrace.start(tmp_path).flush()
        driver.arrive()
        driver.slow = False
    memory, codes = kept(tmp_path)
    assert set(memory) == {0, 1, 2}
    assert "copy-lost" not in codes


def test_copies_that_are_lost_are_counted(tmp_path, driver):
    x = torch.ones(COUNT)
    driver.slow, driver.said = True, 700
    with kvtrace.capture(tmp_path, check="kernel:double"):
        for _ in range(3):
            launched(x)
    memory, codes = kept(tmp_path)
    assert memory == {}
    assert "their stream or the copy failed" in codes["copy-lost"]
    counts = [row["count"] for row in plain_rows(open_trace(tmp_path).table("messages"))
              if row["code"] == "copy-lost"]  # fmt: skip
    assert sum(counts) == 3


def test_copies_that_come_too_late_are_counted(tmp_path, driver, monkeypatch):
    monkeypatch.setattr(launch_copies, "_LAST_SECONDS", 0.1)
    driver.slow = True
    with kvtrace.capture(tmp_path, check="kernel:double"):
        launched(torch.ones(COUNT))
    memory, codes = kept(tmp_path)
    assert memory == {}
    assert "had not reached the copy" in codes["copy-lost"]


def test_launch_waits_for_its_stream_if_copies_do_not_fit_into_pinned_memory(tmp_path, driver):
    x = torch.ones(COUNT)
    driver.slow, driver.copies._size = True, 50_000
    with kvtrace.capture(tmp_path, check="kernel:double"):
        for _ in range(20):
            launched(x)
            x.fill_(1.0)
        assert driver.waits > 0
        driver.arrive()
        driver.slow = False
    memory, _ = kept(tmp_path)
    assert memory == {seq: {"before": 1.0, "after": 2.0} for seq in range(20)}


def test_driver_error_disables_checks_and_not_the_recording(tmp_path, driver):
    x = torch.ones(COUNT)
    with kvtrace.capture(tmp_path, check="kernel:double"):
        launched(x)
        driver.failing = True
        launched(x)
        driver.failing = False
        launched(x)
    memory, codes = kept(tmp_path)
    assert set(memory) == {0}
    assert "error 700" in codes["check-failed"]
    assert x[0] == 8.0
    assert open_trace(tmp_path).table("launches").num_rows == 3


def test_driver_error_after_the_launch_leaves_no_partial_record(tmp_path, driver, monkeypatch):
    from kvtrace.backends.triton.evaluating_launcher import EvaluatingLauncher

    x, execute = torch.ones(COUNT), EvaluatingLauncher._execute

    def failing_then(*args):
        execute(*args)
        driver.failing = True

    monkeypatch.setattr(EvaluatingLauncher, "_execute", failing_then)
    with kvtrace.capture(tmp_path, check="kernel:double"):
        launched(x)
    assert kept(tmp_path)[0] == {}
    assert open_trace(tmp_path).table("checked_launches").num_rows == 0
    assert x[0] == 2.0


@pytest.mark.parametrize("crowded", [False, True])
def test_equally_spaced_pieces_are_copied_by_few_driver_calls(
    tmp_path, driver, monkeypatch, crowded
):
    count, programs = 20_000, -(-20_000 // 128)
    for name, value in (("LAUNCH_BYTES", 40_000), ("GAP", 0), ("PROGRAMS", 2)):
        monkeypatch.setattr(memory_needed, name, value)
    x, out = torch.randn(5 * count), torch.zeros(3 * count)
    driver.slow = crowded
    driver.copies._size = 20_000 if crowded else SIZE
    with kvtrace.capture(tmp_path, check="kernel:strided"):
        for _ in range(3):
            kernels.strided[(programs,)](x, out, count, 5, 3, BLOCK=128)
        driver.arrive()
        driver.slow = False
    rows = plain_rows(open_trace(tmp_path).table("checked_memory"))
    assert len(rows) == 3 * 3
    trace = open_trace(tmp_path)
    for row in rows:
        lanes = [*range(128), *range((programs - 1) * 128, count)]
        step, data = (5, x) if row["arg"] == 0 else (3, out)
        assert [span["offset_bytes"] for span in row["spans"]] == [
            lane * step * 4 for lane in lanes
        ]
        if (row["seq"], row["arg"], row["when"]) != (0, 1, "before"):
            wanted = data.numpy()[[lane * step for lane in lanes]].tobytes()
            assert trace.artifact(row["artifact"]) == wanted
    assert driver.rows == 3 * 3 * 2
    assert bool(driver.waits) is crowded


def test_indices_of_a_large_launch_are_read_in_stream_order(tmp_path, driver, monkeypatch):
    monkeypatch.setattr(memory_needed, "LAUNCH_BYTES", 30_000)
    count = 50_000
    x, out, index = torch.randn(count), torch.zeros(count), torch.randperm(count)
    with kvtrace.capture(tmp_path, check="sample:2"):
        for _ in range(3):
            kernels.gather[(196,)](x, index, out, count, BLOCK=256)
    launches = plain_rows(open_trace(tmp_path).table("checked_launches"))
    assert [row["seq"] for row in launches] == [0, 2]
    assert all(row["programs"] for row in launches)
    assert driver.waits == 2
