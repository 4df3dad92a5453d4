"""FLOPs of scaled products: 2 · M · N · K, also if several numbers share a byte."""

import numpy as np
import pytest
import torch

from corpus.kernels import blocks
from kvtrace.evaluate import Observer, evaluate
from kvtrace.evaluate.dialects.tt_dot import (
    scale_factors,
    scaled_in_16_bits,
    split_product,
    unpacked,
)
from tests.kernels.launching import bind, compile_for
from tests.support.replacing import replace

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


@pytest.mark.parametrize(
    ("narrow", "right"),
    [
        ("bf16", [0.0, 2.0**-126, 1.0, 2.0**23, 2.0**127]),
        ("f16", [0.0, 0.0, 1.0, np.inf, np.inf]),
    ],
)
def test_scales_are_numbers_of_the_narrow_type(narrow, right):
    scales = scale_factors(np.array([0, 1, 127, 150, 254], np.uint8).view(np.int8))

    scaled = scaled_in_16_bits(np.ones(5, np.float32), scales, narrow, is_e5m2=False)

    assert scaled.tolist() == right


def test_infinity_of_e5m2_is_a_number_in_bf16_alone():
    array = unpacked(np.array([0x7C, 0xFC, 0x7D], np.uint8).view(np.int8), "e5m2", 0)
    ones = scale_factors(np.full(3, 127, np.uint8).view(np.int8))

    assert scaled_in_16_bits(array, ones, "bf16", is_e5m2=True).tolist() == [
        65536.0,
        -65536.0,
        81920.0,
    ]
    assert scaled_in_16_bits(array, ones, "f16", is_e5m2=True)[:2].tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize(
    ("target", "with_scale", "right"),
    [("cuda:100", False, np.nan), ("cuda:100", True, 2.0**15), ("hip:gfx950", False, 2.0**15)],
)
def test_tensor_cores_of_sm_100_take_scales_of_both_factors(target, with_scale, right):
    """Beside an fp16 factor, which has none, scales become fp16: 2^16 is infinite there."""
    constants = {"A": "e2m1", "B": "e2m1" if with_scale else "fp16", "A_DEPTH": K // 2}
    constants |= {"WITH_A": True, "WITH_B": with_scale, "M": M, "N": N, "K": K}
    constants["B_DEPTH"] = K // 2 if with_scale else K
    left = torch.zeros(M * K // 2, dtype=torch.uint8)
    left[0] = 1
    one = torch.full((K * N // 2,), 0x22, dtype=torch.uint8) if with_scale else torch.ones(K * N)
    arguments = {
        "a": left, "a_scale": torch.full((M * K // 32,), 127 + 16, dtype=torch.uint8),
        "b": one if with_scale else one.half(),
        "b_scale": torch.full((N * K // 32,), 127, dtype=torch.uint8), "out": torch.zeros(M * N),
    }  # fmt: skip
    module = compile_for(blocks.scaled_product, arguments, constants)

    evaluate(replace(module, target=target), bind(blocks.scaled_product, arguments), (1,))

    np.testing.assert_equal(arguments["out"][0].item(), right)


@pytest.mark.parametrize("precision", ["tf32x3", "bf16x3", "bf16x6"])
def test_split_factors_keep_infinity_and_lose_the_largest_number(precision):
    left = np.array([[np.inf, 0], [np.finfo(np.float32).max, 0], [1 + 2.0**-9, 0]], np.float32)
    right = np.array([[1], [0]], np.float32)

    with np.errstate(all="ignore"):
        result = split_product(left, right, precision)[:, 0]

    assert result[0] == np.inf
    assert not np.isfinite(result[1])  # its largest part rounds to infinity
    assert result[2] == 1 + 2.0**-9
