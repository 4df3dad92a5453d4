"""Outputs on a device: our kernels' text is run, by a driver of ours in place of CUDA's."""

import time

import numpy as np
import pytest
import torch

import kvtrace
from kvtrace.addons.check.recording import device_kernels, looking
from kvtrace.addons.check.recording.host_kernels import digest
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.addons.check.recording.device_driver import Driver
from tests.backends.compiled_kernels import output_kernels as kernels
from tests.backends.compiled_kernels.output_kernels import launched

COUNT = 500
INF, NAN = float("inf"), float("nan")


@pytest.fixture
def driver(monkeypatch):
    """The driver that looks at tensors, as if they were a GPU's."""
    made = Driver()
    storages_of = looking.storages_of
    monkeypatch.setattr(device_kernels, "_driver", made)
    monkeypatch.setattr(device_kernels, "RESERVE_BYTES", 1 << 16)
    monkeypatch.setattr(device_kernels, "FINITE_SLOTS", 64)
    monkeypatch.setattr(device_kernels, "DIGEST_SLOTS", 8)
    monkeypatch.setattr(looking, "storages_of", lambda *given: (storages_of(*given)[0], "cuda"))
    return made


def numbers(*first):
    x = torch.ones(COUNT)
    x[: len(first)] = torch.tensor(first)
    return x


def rows(out, table):
    trace = open_trace(out)
    for row in plain_rows(trace.table("messages")):
        assert row["code"] != "capture-failure", row["text"]
    return plain_rows(trace.table(table))


def flags(out):
    return {
        (row["seq"], row["arg"], row["when"]): (row["nan"], row["infinity"])
        for row in rows(out, "non_finite")
    }


def kept(out):
    trace = open_trace(out)
    return {
        (row["seq"], row["arg"]): np.frombuffer(trace.artifact(row["artifact"]), np.float32)
        for row in plain_rows(trace.table("checked_memory"))
        if row["when"] == "before"
    }


def codes(out):
    return {row["code"] for row in rows(out, "messages")}


@pytest.mark.costly("the first of many recordings; other flags stay by day")
def test_a_new_nan_is_flagged_and_its_launch_recorded(tmp_path, driver):
    out = torch.zeros(COUNT)
    with kvtrace.capture(tmp_path, check="finite"):
        launched(kernels.doubled, numbers(), out)
        launched(kernels.doubled, numbers(NAN, INF), out)
        launched(kernels.logarithms, numbers(3.0, -1.0), out)
        launched(kernels.doubled, out, numbers())
    assert flags(tmp_path) == {
        (1, 1, "after"): (True, True),
        (2, 1, "after"): (True, False),
        (3, 1, "after"): (True, False),
    }
    assert [row["seq"] for row in rows(tmp_path, "checked_launches")] == [2]
    ((launch, held),) = kept(tmp_path).items()
    assert launch == (2, 0)
    assert held[:3].tolist() == [3.0, -1.0, 1.0]


def test_tensor_changed_in_place_was_copied_on_the_device(tmp_path, driver):
    x = numbers(4.0, 0.0)
    with kvtrace.capture(tmp_path, check="finite"):
        launched(kernels.inverted, x)
    assert kept(tmp_path)[0, 0][:3].tolist() == [4.0, 0.0, 1.0]
    assert x[1].isnan()


def test_no_copies_are_made_for_a_kernel_with_a_recorded_launch(tmp_path, driver, monkeypatch):
    copied = []
    monkeypatch.setattr(
        device_kernels.DeviceKernels, "aside", lambda _, pieces, stream: copied.append(pieces)
    )
    monkeypatch.setattr("kvtrace.addons.check.recording.outputs.MOST_KEPT", 0)
    with kvtrace.capture(tmp_path, check="finite"):
        launched(kernels.inverted, numbers(4.0, 0.0))
    assert copied == []
    assert flags(tmp_path) == {(0, 0, "after"): (True, False)}
    assert rows(tmp_path, "checked_launches") == []


def test_unaligned_views_are_examined_on_the_device(tmp_path, driver):
    whole = torch.full((COUNT,), -1.0)
    whole[3:7] = 2.0
    out = torch.full((COUNT,), NAN)
    with kvtrace.capture(tmp_path, check="finite,digest"):
        launched(kernels.logarithms, whole[3:6], out[5:8])
        launched(kernels.logarithms, whole[4:8], out[9:13])
    assert flags(tmp_path) == {(1, 1, "after"): (True, False)}
    assert kept(tmp_path)[1, 0].tolist() == [2.0, 2.0, 2.0, -1.0]
    (memory,) = (row for row in rows(tmp_path, "checked_memory") if row["arg"] == 0)
    assert memory["spans"] == [{"offset_bytes": 16, "size_bytes": 16}]
    found = {(row["seq"], row["arg"]): row["digest"] for row in rows(tmp_path, "digests")}
    held = whole[3:6].clone().numpy().view(np.uint8)
    assert found[0, 0] % (1 << 64) == digest(held, 1, whole.data_ptr() + 12)


def test_device_digests_equal_those_of_the_cpu(tmp_path, driver):
    x, out = torch.randn(COUNT), torch.zeros(COUNT)
    with kvtrace.capture(tmp_path, check="digest"):
        launched(kernels.doubled, x, out)
    found = {row["arg"]: row["digest"] % (1 << 64) for row in rows(tmp_path, "digests")}
    wanted = {
        place: digest(tensor.numpy().view(np.uint8), 1, tensor.data_ptr())
        for place, tensor in enumerate((x, out))
    }
    assert found == wanted


def test_late_answers_are_written_at_the_end_of_the_recording(tmp_path, driver):
    driver.slow = True
    x, out = numbers(-1.0), torch.zeros(COUNT)
    with kvtrace.capture(tmp_path, check="finite,digest"):
        for _ in range(3):
            launched(kernels.logarithms, x, out)
        driver.arrive()
    assert len(flags(tmp_path)) == 3
    assert len(rows(tmp_path, "digests")) == 6


def test_answers_that_never_arrive_are_dropped_after_a_wait(tmp_path, driver):
    driver.slow = driver.lost = True
    with kvtrace.capture(tmp_path, check="finite"):
        launched(kernels.logarithms, numbers(-1.0), torch.zeros(COUNT))
    assert flags(tmp_path) == {}
    assert len(rows(tmp_path, "launches")) == 1
    assert "copy-lost" in codes(tmp_path)


def test_unread_reserve_of_an_earlier_recording_is_reused(tmp_path, driver):
    out = torch.zeros(COUNT)
    driver.capturing = True
    with kvtrace.capture(tmp_path / "0", check="finite"):
        launched(kernels.logarithms, numbers(-1.0), out)
    driver.capturing = False
    driver.replay()  # keeps its launch, and nobody reads that
    for number in ("1", "2"):
        with kvtrace.capture(tmp_path / number, check="finite"):
            launched(kernels.logarithms, numbers(-1.0), out)
        assert [row["seq"] for row in rows(tmp_path / number, "checked_launches")] == [0]


def test_outputs_of_launches_in_a_graph_are_examined_at_replays(tmp_path, driver):
    x, out, other = numbers(), torch.zeros(COUNT), torch.zeros(COUNT)
    with kvtrace.capture(tmp_path, check="finite,digest"):
        driver.capturing = True
        launched(kernels.logarithms, x, out)
        launched(kernels.doubled, out, other)
        driver.capturing = False
        driver.replay()
        assert len(driver.nodes) == 2
        x[0] = -1.0
        out[0] = NAN  # what the graph's own kernel would make of it
        driver.replay()
    assert flags(tmp_path) == {(0, 1, "after"): (True, False)}
    assert [row["seq"] for row in rows(tmp_path, "checked_launches")] == [0]
    assert kept(tmp_path)[0, 0][:2].tolist() == [-1.0, 1.0]
    assert rows(tmp_path, "digests") == []
    assert "check-in-graph" in codes(tmp_path)


@pytest.mark.costly("fills all slots; lighter launches stay")
def test_more_launches_than_slots_are_left_out_and_the_program_goes_on(tmp_path, driver):
    driver.slow = True
    out = torch.zeros(COUNT)
    with kvtrace.capture(tmp_path, check="digest"):
        for _ in range(20):
            launched(kernels.doubled, numbers(), out)
        driver.arrive()
    assert len(rows(tmp_path, "launches")) == 20
    found = {row["seq"] for row in rows(tmp_path, "digests")}
    assert found == set(range(8))
    assert "check-busy" in codes(tmp_path)


def test_slots_of_failed_launches_are_freed(tmp_path, driver, monkeypatch):
    from kvtrace.backends.triton.evaluating_launcher import EvaluatingLauncher

    def broken(*_):
        raise ValueError("the program's own")

    x = numbers(2.0)
    with kvtrace.capture(tmp_path, check="digest"):
        launched(kernels.inverted, x)
        with monkeypatch.context() as patch:
            patch.setattr(EvaluatingLauncher, "_execute", broken)
            for _ in range(6):
                with pytest.raises(ValueError, match="own"):
                    launched(kernels.inverted, x)
        time.sleep(1.2)  # until the journal has had a round
        assert len(device_kernels._by_context[id(driver)]._sums.free) == 8
        launched(kernels.inverted, x)
    assert len(rows(tmp_path, "digests")) == 4


def test_a_failing_driver_call_ends_examinations_with_a_message(tmp_path, driver):
    out = torch.zeros(COUNT)
    with kvtrace.capture(tmp_path, check="finite"):
        driver.failing = True
        launched(kernels.doubled, numbers(2.0), out)
        launched(kernels.doubled, numbers(3.0), out)
    assert out[0] == 6.0
    assert "check-failed" in codes(tmp_path)
    assert len(rows(tmp_path, "launches")) == 2


@pytest.mark.costly("fills all slots; lighter launches stay")
def test_memory_is_allocated_by_the_first_launch_only(tmp_path, driver):
    out = torch.zeros(COUNT)
    with kvtrace.capture(tmp_path, check="finite,digest"):
        launched(kernels.doubled, numbers(), out)
        taken = len(driver.held)
        for _ in range(5):
            launched(kernels.doubled, numbers(), out)
        assert len(driver.held) == taken
