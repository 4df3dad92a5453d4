"""Launches without a GPU whose kernels go through addresses in memory."""

import gc
import json
import os

import pytest

from tests.support.triton_versions import INSTALLED, ROOT, run_with
from tests.support.warm_python import warm_python
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import kvtrace  # noqa: E402
from kvtrace.evaluate.errors import UnknownAddress  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402

PROGRAM = ROOT / "tests" / "support" / "pointers_program.py"


@triton.jit
def doubled(table, n, BLOCK: tl.constexpr):
    place = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    lanes = tl.arange(0, BLOCK)
    mask = lanes < n
    tl.store(place + lanes, tl.load(place + lanes, mask=mask) * 2, mask=mask)


@triton.jit
def shown(table):
    place = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.int32))
    tl.device_print("found", tl.load(place))


@pytest.mark.usefixtures("young_heap")
def test_what_lies_at_an_address_is_printed_once(tmp_path, capsys):
    targets = [torch.full((4,), number, dtype=torch.int32) for number in (5, 6)]
    table = torch.tensor([target.data_ptr() for target in targets])

    with kvtrace.capture(tmp_path):
        shown[(2,)](table)

    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition("found: ")[2] for line in lines] == ["5", "6"]


@pytest.mark.process
def test_results_are_those_of_tritons_interpreter(tmp_path):
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "TRITON_INTERPRET": "1"}
    done = warm_python().run(PROGRAM, folder=tmp_path, environment=variables)
    assert done.returncode == 0, done.stderr
    ours = run_with(INSTALLED, [str(PROGRAM), str(tmp_path / "out")], tmp_path / "cache")
    assert json.loads(ours.stdout) == json.loads(done.stdout)


@pytest.mark.usefixtures("young_heap")
def test_an_access_outside_of_a_reached_tensor_is_dropped_and_reported(tmp_path):
    whole = torch.ones(3, 16)
    targets = [torch.ones(16), torch.ones(12)]
    table = torch.tensor([target.data_ptr() for target in targets])

    with kvtrace.capture(tmp_path, sanitize="off"):
        doubled[(2,)](table, 16, BLOCK=32)

    assert targets[0].tolist() == [2.0] * 16
    assert targets[1].tolist() == [2.0] * 12
    assert whole.tolist() == torch.ones(3, 16).tolist()
    messages = open_trace(tmp_path).table("messages", columns=["code", "text"])
    texts = [row["text"] for row in messages.to_pylist() if row["code"] == "out-of-bounds"]
    assert len(texts) == 1
    assert "4 bytes past the end of *table[1] of shape (12,) in program (1, 0, 0)" in texts[0]


@pytest.mark.usefixtures("young_heap")
def test_an_address_of_a_tensor_that_is_gone_is_refused(tmp_path):
    targets = [torch.ones(1 << 16) for _ in range(2)]
    table = torch.tensor([target.data_ptr() for target in targets])
    with kvtrace.capture(tmp_path):
        doubled[(2,)](table, 16, BLOCK=32)
        address = table[1].item()
        del targets[1]
        gc.collect()
        with pytest.raises(UnknownAddress, match=rf"{address:#x}.*lies in no tensor on the CPU"):
            doubled[(2,)](table, 16, BLOCK=32)
        doubled[(1,)](table, 16, BLOCK=32)
    assert targets[0][:17].tolist() == [8.0] * 16 + [1.0]


@pytest.mark.usefixtures("young_heap")
def test_a_storage_that_only_a_view_keeps_alive_is_found(tmp_path):
    view, pairs = torch.ones(64)[32:40], torch.full((4,), 1 + 1j)
    table = torch.tensor([view.data_ptr(), pairs.data_ptr()])
    with kvtrace.capture(tmp_path):
        doubled[(2,)](table, 8, BLOCK=8)
    assert view.tolist() == [2.0] * 8
    assert pairs.tolist() == [2 + 2j] * 4


class Wrapper(torch.Tensor):
    """A tensor without memory of its own, whose operations are code of the program's."""

    @staticmethod
    def __new__(cls, like):
        return torch.Tensor._make_wrapper_subclass(cls, like.shape, dtype=like.dtype)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise AssertionError("the program's code was run")

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError("the program's code was run")


@pytest.mark.usefixtures("young_heap")
def test_tensors_that_the_program_froze_are_found_and_stay_frozen(tmp_path):
    target = torch.ones(16)
    table = torch.tensor([target.data_ptr()])
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with kvtrace.capture(tmp_path, sanitize="off"):
            doubled[(1,)](table, 16, BLOCK=16)
        assert gc.get_freeze_count() > frozen // 2  # but for those that have died since
    finally:
        gc.unfreeze()

    assert target.tolist() == [2.0] * 16


def test_tensors_without_memory_are_passed_over(tmp_path):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.empty(1 << 24)
    others = [fake, Wrapper(torch.empty(1 << 24)), torch.empty(1 << 24, device="meta")]
    others += [torch.eye(3).to_sparse(), torch.empty(0), torch.nn.Parameter(torch.ones(3))]
    target = torch.ones(8)
    # the second is no address, but lies in a storage of 64 MiB that begins at address 0
    table = torch.tensor([target.data_ptr(), 5 << 20])
    with kvtrace.capture(tmp_path):
        doubled[(1,)](table, 8, BLOCK=8)
    assert target.tolist() == [2.0] * 8
    assert len(others) == 6
    messages = open_trace(tmp_path).table("messages", columns=["level", "text"]).to_pylist()
    assert [row for row in messages if row["level"] != "info"] == []
