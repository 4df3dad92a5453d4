"""What is kept of launches to be checked: which ones, which memory, before and after."""

import errno
import os

import numpy as np
import pytest
import torch
from triton.compiler.compiler import CompiledKernel

import kvtrace
from kvtrace.addons.check.recording import memory_needed
from kvtrace.backends.compiled_kernels.around import around_launches
from kvtrace.capture import copied_contents as contents
from kvtrace.cli import main
from kvtrace.schema.errors import TraceWriteError
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import RunWriter
from tests.addons.check.recording.kept_memory import Kept, kept
from tests.backends.compiled_kernels import check_kernels as kernels

COUNT = 1000


def storage_bytes(tensor):
    storage = tensor.untyped_storage()
    whole = torch.empty(0, dtype=torch.uint8).set_(storage)
    return whole.numpy().tobytes()


def whole(tensor):
    return [(0, storage_bytes(tensor))]


def launched_double(x, programs=4):
    kernels.double[(programs,)](x, COUNT, BLOCK=256)


class TestMemory:
    """What was there before and after."""

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int16])
    def test_overwritten_memory_is_recorded_before_and_after_the_launch(self, tmp_path, dtype):
        x = torch.arange(COUNT).to(dtype)
        with kvtrace.capture(tmp_path, check="kernel:double"):
            wanted = {}
            for seq in range(3):
                wanted[seq, 0, "before"] = whole(x)
                launched_double(x)
                wanted[seq, 0, "after"] = whole(x)
        found = kept(tmp_path)
        assert found.memory == wanted
        assert [row["why"] for row in found.launches.values()] == ["kernel"] * 3
        assert all(row["programs"] is None for row in found.launches.values())

    def test_read_only_memory_is_recorded_only_before_the_launch(self, tmp_path):
        x, y, out = torch.randn(COUNT), torch.randn(COUNT), torch.zeros(COUNT)
        before = whole(out)
        with kvtrace.capture(tmp_path, check="first"):
            kernels.add[(4,)](x, y, out, COUNT, BLOCK=256)
        assert kept(tmp_path).memory == {
            (0, 0, "before"): whole(x),
            (0, 1, "before"): whole(y),
            (0, 2, "before"): before,
            (0, 2, "after"): whole(out),
        }

    def test_views_of_one_storage_are_recorded_once_under_the_first_argument(self, tmp_path):
        base = torch.randn(3 * COUNT)
        before = whole(base)
        with kvtrace.capture(tmp_path, check="first"):
            kernels.add[(4,)](
                base[:COUNT], base[COUNT : 2 * COUNT], base[2 * COUNT :], COUNT, BLOCK=256
            )
        assert kept(tmp_path).memory == {(0, 0, "before"): before, (0, 0, "after"): whole(base)}
        assert before != whole(base)

    def test_odd_and_negative_strides_are_kept_with_the_storage_around_them(self, tmp_path):
        x, out = torch.randn(4 * COUNT), torch.zeros(3 * COUNT)
        before = whole(out)
        with kvtrace.capture(tmp_path, check="first"):
            kernels.strided[(4,)](x[4 * COUNT - 1 :], out[5:], COUNT - 5, -3, 3, BLOCK=256)
        assert kept(tmp_path).memory == {
            (0, 0, "before"): whole(x),
            (0, 1, "before"): before,
            (0, 1, "after"): whole(out),
        }

    def test_only_views_of_large_storages_are_recorded(self, tmp_path, monkeypatch):
        monkeypatch.setattr(memory_needed, "LAUNCH_BYTES", 4 * COUNT * 4)
        pool = torch.randn(100 * COUNT)
        x, out = pool[COUNT : 2 * COUNT], pool[5 * COUNT : 6 * COUNT]
        before = [(COUNT * 4, x.numpy().tobytes()), (5 * COUNT * 4, out.numpy().tobytes())]
        with kvtrace.capture(tmp_path, check="first"):
            kernels.strided[(4,)](x, out, COUNT // 2, 1, 1, BLOCK=256)
        found = kept(tmp_path)
        after = [(COUNT * 4, x.numpy().tobytes()), (5 * COUNT * 4, out.numpy().tobytes())]
        assert found.memory == {(0, 0, "before"): before, (0, 0, "after"): after}
        assert found.launches[0]["programs"] is None

    def test_storages_written_by_atomics_are_recorded_completely(self, tmp_path):
        x, out = torch.ones(COUNT), torch.zeros(1)
        with kvtrace.capture(tmp_path, check="first"):
            kernels.total[(4,)](x, out, COUNT, BLOCK=256)
        memory = kept(tmp_path).memory
        assert memory[0, 1, "before"] == [(0, torch.zeros(1).numpy().tobytes())]
        assert memory[0, 1, "after"] == [(0, torch.tensor([1000.0]).numpy().tobytes())]

    def test_storages_that_overlap_without_torchs_knowing_are_left_out(self, tmp_path):
        memory = np.zeros(2 * COUNT, np.float32)
        x, out = torch.from_numpy(memory[:COUNT]), torch.from_numpy(memory[COUNT // 2 :])
        with kvtrace.capture(tmp_path, check="first"):
            kernels.strided[(4,)](x, out, COUNT, 1, 1, BLOCK=256)
        found = kept(tmp_path)
        assert found.launches == {}
        ((text, _),) = found.messages["check-left-out"]
        assert "the storage of out overlaps another" in text

    def test_unreachable_memory_is_not_recorded(self, tmp_path):
        x, out = torch.zeros(COUNT), torch.zeros(COUNT)
        with kvtrace.capture(tmp_path, check="first"):
            kernels.add[(4,)](x, torch.zeros(0), out, 0, BLOCK=256)
            kernels.double[(0,)](x, COUNT, BLOCK=256)
        assert {arg for _, arg, _ in kept(tmp_path).memory} == {0, 2}

    def test_contents_that_decide_addresses_are_recorded_too(self, tmp_path):
        x, out, index = torch.randn(COUNT), torch.zeros(COUNT), torch.randperm(COUNT)
        with kvtrace.capture(tmp_path, check="first"):
            for _ in range(3):
                kernels.gather[(4,)](x, index, out, COUNT, BLOCK=256)
        assert set(kept(tmp_path).launches) == {0}
        rows = plain_rows(open_trace(tmp_path).table("contents"))
        assert [(row["seq"], row["arg"]) for row in rows] == [(0, 1), (1, 1), (2, 1)]

    def test_check_and_contents_of_a_launch_have_the_same_number(self, tmp_path, monkeypatch):
        monkeypatch.setattr(contents, "FRACTION", 0.0)
        monkeypatch.setattr(contents, "ALLOWANCE_NS", 0)
        x, out, index = torch.randn(COUNT), torch.zeros(COUNT), torch.randperm(COUNT)
        with kvtrace.capture(tmp_path, check="kernel:gather"):
            kernels.gather[(4,)](x, index, out, COUNT, BLOCK=256)
            kvtrace.start(tmp_path).flush()  # the kernel's IR is read: it writes no integers
            kernels.gather[(3,)](x, index, out, COUNT, BLOCK=256)
        assert set(kept(tmp_path).launches) == {0, 1}
        rows = plain_rows(open_trace(tmp_path).table("contents"))
        assert [(row["seq"], row["arg"]) for row in rows] == [(0, 1), (1, 1)]


class TestChoice:
    """Which launches are kept."""

    def test_setting_first_records_the_first_launch_of_each_variant(self, tmp_path):
        with kvtrace.capture(tmp_path, check="first"):
            for dtype in (torch.float32, torch.float64):
                for programs in (4, 3):
                    launched_double(torch.ones(COUNT, dtype=dtype), programs)
        assert {seq: row["why"] for seq, row in kept(tmp_path).launches.items()} == {
            0: "first",
            2: "first",
        }

    def test_sample_records_the_first_launch_and_one_in_n(self, tmp_path):
        x = torch.ones(COUNT)
        with kvtrace.capture(tmp_path, check="sample:3"):
            for _ in range(8):
                launched_double(x)
        assert {seq: row["why"] for seq, row in kept(tmp_path).launches.items()} == dict.fromkeys(
            (0, 3, 6), "sample"
        )

    def test_parts_of_the_setting_are_combined(self, tmp_path):
        x, out = torch.ones(COUNT), torch.ones(COUNT)
        with kvtrace.capture(tmp_path, check="sample:2,first,kernel:str*"):
            for _ in range(3):
                launched_double(x)
                kernels.strided[(4,)](x, out, COUNT, 1, 1, BLOCK=256)
        assert {seq: row["why"] for seq, row in kept(tmp_path).launches.items()} == {
            0: "first",
            1: "kernel",
            3: "kernel",
            4: "sample",
            5: "kernel",
        }

    def test_launch_of_a_compiled_kernel_is_counted(self, tmp_path):
        x = torch.ones(COUNT)
        with kvtrace.capture(tmp_path, check="sample:2"):
            compiled = kernels.double[(4,)](x, COUNT, BLOCK=256)
            for _ in range(3):
                compiled[(4, 1, 1)](x, COUNT, 256)
        assert set(kept(tmp_path).launches) == {0, 2}

    def test_first_launch_after_autotuning_is_recorded(self, tmp_path):
        x, out = torch.ones(COUNT), torch.zeros(COUNT)
        with kvtrace.capture(tmp_path, check="first"):
            kernels.tuned.cache.clear()
            kernels.tuned[lambda meta: (-(-COUNT // meta["BLOCK"]),)](x, out, COUNT)
        (seq,) = kept(tmp_path).launches
        launches = plain_rows(open_trace(tmp_path).table("launches"))
        assert [(row["seq"], row["phase"]) for row in launches] == [(seq, "run")]

    def test_kernels_excluded_from_the_recording_are_not_checked(self, tmp_path):
        x, out = torch.ones(COUNT), torch.ones(COUNT)
        with kvtrace.capture(tmp_path, check="first", kernels="strided"):
            launched_double(x)
            kernels.strided[(4,)](x, out, COUNT, 1, 1, BLOCK=256)
        assert set(kept(tmp_path).launches) == {0}

    def test_kernel_compiled_to_ttir_only_is_checked(self, tmp_path):
        x = torch.ones(COUNT)
        with kvtrace.capture(tmp_path, check="sample:2", compile="ttir"):
            for _ in range(3):
                launched_double(x)
        assert set(kept(tmp_path).launches) == {0, 2}

    def test_without_the_setting_launches_have_no_hook(self, tmp_path):
        before = CompiledKernel.run
        with kvtrace.capture(tmp_path, tensors="none") as session:
            launched_double(torch.ones(COUNT))
            assert CompiledKernel.run is before
            assert not around_launches(session)
        assert kept(tmp_path) == Kept({}, {}, kept(tmp_path).messages)


class TestBudget:
    """What the run may keep."""

    def test_launches_beyond_the_byte_budget_are_left_out_whole_and_counted(self, tmp_path):
        x, small = torch.ones(COUNT), torch.ones(10)
        with kvtrace.capture(tmp_path, check="kernel:double", check_bytes=2 * 2 * COUNT * 4 + 100):
            for _ in range(4):
                launched_double(x)
            kernels.double[(1,)](small, 10, BLOCK=256)
        found = kept(tmp_path)
        assert set(found.launches) == {0, 1, 4}
        (first, again) = found.messages["check-over-budget"]
        assert "16,100 bytes (KVTRACE_CHECK_BYTES)" in first[0]
        assert first[1] + again[1] == 2

    def test_a_failed_launch_uses_none_of_the_byte_budget(self, tmp_path, monkeypatch):
        from kvtrace.backends.triton.evaluating_launcher import EvaluatingLauncher

        x, execute = torch.ones(COUNT), EvaluatingLauncher._execute

        def failing(*_):
            raise ValueError("no launch")

        with kvtrace.capture(tmp_path, check="kernel:double", check_bytes=2 * COUNT * 4):
            monkeypatch.setattr(EvaluatingLauncher, "_execute", failing)
            with pytest.raises(ValueError, match="no launch"):
                launched_double(x)
            monkeypatch.setattr(EvaluatingLauncher, "_execute", execute)
            launched_double(x)
        found = kept(tmp_path)
        assert set(found.launches) == {0}
        assert found.memory[0, 0, "before"] == [(0, torch.ones(COUNT).numpy().tobytes())]


@pytest.mark.process
def test_launches_of_a_forked_process_are_written_into_its_own_run(tmp_path):
    x = torch.ones(COUNT)
    with kvtrace.capture(tmp_path, check="first"):
        launched_double(x)
        child = os.fork()
        if child == 0:
            launched_double(x)
            launched_double(x)
            kvtrace.stop()
            os._exit(0)
        os.waitpid(child, 0)
    trace = open_trace(tmp_path)
    assert [trace.table("checked_launches", (run,))["seq"].to_pylist() for run in trace.runs] == [
        [0],
        [0],
    ]
    assert validate(tmp_path) == []


def test_recording_does_not_change_the_programs_results(tmp_path):
    start = torch.randn(COUNT)
    watched, version = start.clone(), start._version
    with kvtrace.capture(tmp_path, check="first,sample:2,kernel:*"):
        launched_double(watched)
        launched_double(watched)
    assert torch.equal(watched, start * 4)
    assert watched._version == version
    assert main(["trace", "validate", str(tmp_path)]) == 0


def test_internal_error_is_counted_and_the_launch_still_runs(tmp_path, monkeypatch):
    def failing(*_):
        raise AssertionError("ours")

    monkeypatch.setattr(memory_needed, "kind_of", failing)
    x = torch.ones(COUNT)
    with kvtrace.capture(tmp_path, check="first"):
        launched_double(x)
    assert torch.equal(x, torch.full((COUNT,), 2.0))
    found = kept(tmp_path)
    assert found.launches == {}
    assert "AssertionError: ours" in found.messages["capture-failure"][0][0]


def test_full_disk_ends_the_recording_but_not_the_program(tmp_path, monkeypatch, capfd):
    append = RunWriter.append_rows

    def full(self, table, rows):
        if table == "checked_memory":
            raise TraceWriteError("the disk is full") from OSError(errno.ENOSPC, "full")
        append(self, table, rows)

    monkeypatch.setattr(RunWriter, "append_rows", full)
    x = torch.ones(COUNT)
    with kvtrace.capture(tmp_path, check="kernel:double"):
        launched_double(x)
        kvtrace.start(tmp_path).flush()
        launched_double(x)
    assert torch.equal(x, torch.full((COUNT,), 4.0))
    assert "recording has ended: the disk is full" in capfd.readouterr().err
