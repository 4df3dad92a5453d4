"""Checks of launches that go into a graph: our kernels' text is run as its nodes."""

import ctypes
from collections import deque

import pytest
import torch

import kvtrace
from kvtrace.addons.check.recording import device_kernels, graph_copies, memory_needed
from kvtrace.capture import launch_copies
from kvtrace.capture.device_copies import DeviceCopies
from kvtrace.forks import Lock
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from tests.addons.check.recording.device_driver import Driver
from tests.backends.compiled_kernels import check_kernels as kernels

COUNT = 1000


@pytest.fixture
def driver(monkeypatch):
    """The driver that copies, as if tensors were a GPU's."""
    made, memory = Driver(), ctypes.create_string_buffer(1 << 16)
    copies = DeviceCopies.__new__(DeviceCopies)
    copies._driver, copies._lock = made, Lock()
    copies._number = copies._head = copies._tail = 0
    copies._ends, copies._released = deque(), set()
    copies._size, copies._base = 1 << 16, ctypes.addressof(memory)
    copies._write = made.cuStreamWriteValue32_v2
    made.memory = memory
    monkeypatch.setattr(device_kernels, "_driver", made)
    monkeypatch.setattr(device_kernels, "FINITE_SLOTS", 64)
    monkeypatch.setattr(launch_copies, "device_copies", lambda _size: copies)
    monkeypatch.setattr(memory_needed, "kind_of", lambda _values: "cuda")
    return made


def captured(driver, x):
    """Launch into a graph: the interpreter runs it at once, which a capture would not."""
    driver.capturing = True
    kernels.double[(4,)](x, x.numel(), BLOCK=256)
    driver.capturing = False
    x /= 2


def replay(driver, x, nodes):
    """Replay the launch that has these nodes before and behind it."""
    before, after = nodes
    before()
    x *= 2
    after()


def kept(out):
    """What was kept of argument 0, by launch and when; messages by code."""
    assert validate(out) == []
    trace = open_trace(out)
    found = {}
    for row in plain_rows(trace.table("checked_memory")):
        content = trace.artifact(row["artifact"])
        found[row["seq"], row["when"]] = torch.frombuffer(bytearray(content), dtype=torch.float32)
    return found, {row["code"]: row for row in plain_rows(trace.table("messages"))}


def test_inputs_and_outputs_of_the_first_replay_are_recorded(tmp_path, driver):
    x = torch.arange(COUNT, dtype=torch.float32)
    with kvtrace.capture(tmp_path, check="first") as session:
        captured(driver, x)
        session.flush()
        assert kept(tmp_path)[0] == {}
        x += 1
        for _ in range(3):
            replay(driver, x, driver.nodes)
        session.flush()
        found, codes = kept(tmp_path)
        assert set(found) == {(0, "before"), (0, "after")}
        kernels.double[(4,)](x, COUNT, BLOCK=256)
    wanted = torch.arange(COUNT, dtype=torch.float32) + 1
    assert torch.equal(found[0, "before"], wanted)
    assert torch.equal(found[0, "after"], wanted * 2)
    assert "check-in-graph" not in codes
    assert set(kept(tmp_path)[0]) == set(found)  # the first launch was checked


def test_pieces_of_any_alignment_are_copied(tmp_path, driver):
    whole = torch.arange(3 * COUNT, dtype=torch.float32)
    views = [whole[1:400], whole[1001:1003], whole[2002:2999]]
    with kvtrace.capture(tmp_path, check="kernel:double"):
        for view in views:
            captured(driver, view)
        for place, view in enumerate(views):
            replay(driver, view, driver.nodes[2 * place : 2 * place + 2])
    found, _ = kept(tmp_path)
    assert len(found) == 2 * len(views)
    for place in range(len(views)):
        before, after = found[place, "before"], found[place, "after"]
        assert before.shape == after.shape == whole.shape  # the storage, which is small
    assert torch.equal(found[2, "after"], whole)


def test_memory_of_read_copies_is_reused_and_not_written_by_later_replays(
    tmp_path, driver, monkeypatch
):
    monkeypatch.setattr(graph_copies, "GRAPH_BYTES", 9000)  # for one launch of 4,000 bytes
    one, two = torch.ones(COUNT), torch.full((COUNT,), 5.0)
    with kvtrace.capture(tmp_path, check="kernel:double") as session:
        captured(driver, one)
        captured(driver, two)  # no room
        first = driver.nodes[:]
        assert len(first) == 2
        replay(driver, one, first)
        session.flush()
        captured(driver, two)
        second = driver.nodes[2:]
        replay(driver, one, first)
        replay(driver, two, second)
        replay(driver, one, first)
    found, codes = kept(tmp_path)
    assert {place: float(held[0]) for place, held in found.items()} == {
        (0, "before"): 1.0, (0, "after"): 2.0, (2, "before"): 5.0, (2, "after"): 10.0
    }  # fmt: skip
    assert "first replay" in codes["check-in-graph"]["text"]


def test_graph_without_a_replay_is_reported_as_not_checked(tmp_path, driver):
    x = torch.ones(COUNT)
    with kvtrace.capture(tmp_path, check="kernel:double"):
        for _ in range(3):
            captured(driver, x)
    found, codes = kept(tmp_path)
    assert found == {}
    assert "were never replayed" in codes["check-in-graph"]["text"]
    assert codes["check-in-graph"]["count"] == 3


@pytest.mark.sweep
def test_many_pieces_are_copied_by_one_graph_node(tmp_path, driver, monkeypatch):
    count = 20_000
    for name, value in (("LAUNCH_BYTES", 40_000), ("GAP", 0), ("PROGRAMS", 2)):
        monkeypatch.setattr(memory_needed, name, value)
    monkeypatch.setattr(graph_copies, "_ROWS", 7)
    x, out = torch.randn(5 * count), torch.zeros(3 * count)
    with kvtrace.capture(tmp_path, check="kernel:strided"):
        driver.capturing = True
        kernels.strided[(-(-count // 128),)](x, out, count, 5, 3, BLOCK=128)
        driver.capturing = False
        assert len(driver.nodes) == 2
        for node in driver.nodes:
            node()
    rows = plain_rows(open_trace(tmp_path).table("checked_memory"))
    trace = open_trace(tmp_path)
    assert len(rows) == 3
    for row in rows:
        data = x if row["arg"] == 0 else out
        places = [span["offset_bytes"] // 4 for span in row["spans"]]
        assert len(places) > 100
        assert trace.artifact(row["artifact"]) == data[places].numpy().tobytes()


def test_driver_error_disables_checks_and_not_the_recording(tmp_path, driver):
    x = torch.ones(COUNT)
    with kvtrace.capture(tmp_path, check="kernel:double"):
        driver.failing = True
        captured(driver, x)
        driver.failing = False
        captured(driver, x)
    found, codes = kept(tmp_path)
    assert found == {}
    assert "error 719" in codes["check-failed"]["text"]
    assert x[0] == 1.0
