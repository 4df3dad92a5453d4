"""Liger-Kernel's operators on CPU tensors, forward and backward, equal to torch's own.

Left out, because no Triton kernel of theirs can run on CPU tensors: see `NOT_HERE`.
"""

import inspect
import re

import pytest
import torch

import kvtrace
from kvtrace.schema.trace import open_trace
from tests.kernels import liger_operators
from tests.kernels.liger_operators import OPERATORS, outcome

ops = pytest.importorskip("liger_kernel.ops")


@pytest.fixture(autouse=True, scope="module")
def traced(tmp_path_factory):
    """Return the names of the operators that ran; assert at the end that all were recorded."""
    ran: list[str] = []
    out = tmp_path_factory.mktemp("liger") / "out"
    with kvtrace.capture(out), pytest.MonkeyPatch.context() as patch:
        # The backward pass of dyt asks a GPU for its processors, and knows no other device.
        patch.setattr("liger_kernel.ops.dyt.infer_device", lambda: "npu")
        patch.setattr("liger_kernel.ops.dyt.get_npu_core_count", lambda: 8)
        yield ran
    trace = open_trace(out)
    assert trace.table("launches", columns=["seq"]).num_rows >= max(1, len(ran))
    codes = trace.table("messages", columns=["code"]).column("code").to_pylist()
    assert "capture-failure" not in codes


#: Operators that take more than a second: a share of the others works alike.
DEAR = ("fused_moe", "mhc_post_res", "mhc_coeffs")
COSTLY = pytest.mark.costly("1 to 4 s of processor time; the other operators stay")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[COSTLY] * (name in DEAR)) for name in OPERATORS]
)
def test_an_operator_equals_torch_forward_and_backward(name, traced):
    operator = OPERATORS[name]
    traced.append(name)
    torch.manual_seed(len(name))
    inputs = operator.inputs()
    leaves = [
        i for i, x in enumerate(inputs) if x.dtype == torch.float32 and i not in operator.fixed
    ]
    upstream: list[torch.Tensor] = []

    expected, wanted_gradients = outcome(operator.torchs, inputs, leaves, upstream)
    got, gradients = outcome(operator.ours, inputs, leaves, upstream)

    close = {"rtol": operator.tolerance, "atol": operator.tolerance}
    for ours, torchs in zip(got, expected, strict=True):
        torch.testing.assert_close(ours, torchs, **close)
    for ours, torchs in zip(gradients, wanted_gradients, strict=True):
        torch.testing.assert_close(ours, torchs, check_dtype=False, **close)


NOT_HERE = {
    "LigerMLPFunction": "asserts that its tensors are on a GPU",
    "LigerTiledMLPFunction": "has no kernels of its own",
    "LigerFusedLinearScaledCrossEntropyFunction": "is torch's own code on a CPU",
    "LigerFusedLinearScaledCrossEntropyTPFunction": "is torch's own code on a CPU",
}


def test_every_liger_operator_is_tested():
    offered = {name for name in dir(ops) if re.fullmatch(r"(Liger|Grpo)\w+Function", name)}
    text = inspect.getsource(liger_operators)

    assert offered - set(NOT_HERE) == {name for name in offered if f"ops.{name}" in text}


def test_products_with_packed_2_bit_weights_equal_torch():
    from liger_kernel.ops.experimental.mm_int8int2 import matmul, pack_weights

    a = torch.randint(-128, 128, (40, 512), dtype=torch.int8)
    weights = torch.randint(-1, 2, (512, 64), dtype=torch.int32)

    product = matmul(a, pack_weights(weights.clone(), 2))

    assert torch.equal(product, a.int() @ weights)
