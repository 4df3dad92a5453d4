"""FLOPs of scaled products: 2 · M · N · K, also if several numbers share a byte."""

import pytest
import torch

from kvtrace.evaluate import Observer, evaluate
from tests.kernels import blocks
from tests.kernels.launching import bind, compile_for

M = N = 32
K = 64


class Products(Observer):
    """An observer that counts the operations of matrix products."""

    def __init__(self):
        self.flops = 0

    def op(self, op, executions, elements, flops):
        if op.name == "tt.dot_scaled":
            self.flops += flops


def flops(kernel, constants, **tensors):
    arguments = {name: torch.zeros(shape, dtype=torch.uint8) for name, shape in tensors.items()}
    arguments["out"] = torch.zeros(M * N)
    observer = Products()
    evaluate(
        compile_for(kernel, arguments, constants),
        bind(kernel, arguments),
        (1,),
        observers=[observer],
    )
    return observer.flops


@pytest.mark.parametrize(("kind", "depth"), [("e2m1", K // 2), ("e4m3", K)])
def test_flops_count_4_bit_factors_packed_along_the_depth_one_by_one(kind, depth):
    constants = {"A": kind, "B": "e4m3", "A_DEPTH": depth, "B_DEPTH": K}
    sizes = {"WITH_A": True, "WITH_B": True, "M": M, "N": N, "K": K}
    scales = M * K // 32
    result = flops(
        blocks.scaled_product, constants | sizes,
        a=M * depth, a_scale=scales, b=K * N, b_scale=scales,
    )  # fmt: skip
    assert result == 2 * M * N * K


def test_flops_count_4_bit_factors_packed_along_rows_one_by_one():
    result = flops(
        blocks.scaled_product_packed_along_rows, {"M": M, "N": N, "K": K},
        a=M // 2 * K, b=K * N // 2,
    )  # fmt: skip
    assert result == 2 * M * N * K
