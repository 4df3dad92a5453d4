"""Precision that kernels give away is found in their IR."""

import pytest
import torch
import triton
import triton.language as tl

from kvtrace.evaluate.narrow import foreign_roundings, narrow_sums, uses_tf32
from tests.kernels.launching import compile_for


@triton.jit
def in_a_loop(x, out, TYPE: tl.constexpr, B: tl.constexpr):
    lanes = tl.arange(0, B)
    total = tl.zeros([B], dtype=TYPE)
    for start in range(0, 4 * B, B):
        total = (total.to(tl.float32) * 0.5 + tl.load(x + start + lanes)).to(TYPE)
    tl.store(out + lanes, total)


@triton.jit
def at_once(x, out, TYPE: tl.constexpr, B: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, B)).to(TYPE), axis=0))


@triton.jit
def largest(x, out, TYPE: tl.constexpr, B: tl.constexpr):
    lanes = tl.arange(0, B)
    most = tl.full([B], 0, dtype=TYPE)
    for start in range(0, 4 * B, B):
        most = tl.maximum(most, tl.load(x + start + lanes).to(TYPE))
    tl.store(out + lanes, most)


@triton.jit
def squared(x, out, PRECISION: tl.constexpr, B: tl.constexpr):
    place = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    given = tl.load(x + place)
    tl.store(out + place, tl.dot(given, given, input_precision=PRECISION))


def module_of(kernel, **constants):
    given = {"x": torch.zeros(1024), "out": torch.zeros(1024)}
    return compile_for(kernel, given, {"B": 16, **constants})


@pytest.mark.parametrize(
    ("kernel", "type_", "found"),
    [
        (in_a_loop, tl.float16, 1),
        (in_a_loop, tl.bfloat16, 1),
        (in_a_loop, tl.float32, 0),
        (at_once, tl.float16, 1),
        (at_once, tl.float32, 0),
        (largest, tl.float16, 0),
    ],
)
def test_a_sum_kept_in_16_bits_is_found_through_conversions(kernel, type_, found):
    assert len(list(narrow_sums(module_of(kernel, TYPE=type_)))) == found


def test_rounding_to_a_type_of_no_tensor_is_found():
    assert list(foreign_roundings(module_of(largest, TYPE=tl.float16)))
    assert not list(foreign_roundings(module_of(largest, TYPE=tl.float32)))


@pytest.mark.parametrize(("precision", "cut"), [("tf32", True), ("ieee", False)])
def test_tf32_is_found(precision, cut):
    assert uses_tf32(module_of(squared, PRECISION=precision)) is cut
