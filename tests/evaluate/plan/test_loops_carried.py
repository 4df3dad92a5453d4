"""Shapes of carried registers, which grow from those of the initial values."""

import pytest
import torch
import triton
import triton.language as tl

from tests.evaluate.plan.both_ways import assert_same


@triton.jit
def over_everything(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + row * n + start + tl.arange(0, BLOCK))
    tl.store(out + row, tl.sum(total, 0))


@triton.jit
def over_one_axis(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + row * n + start + tl.arange(0, BLOCK))
    place = (tl.program_id(1) * tl.num_programs(0) + row) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + place, total)


@triton.jit
def over_nothing(x, out, n, BLOCK: tl.constexpr):
    factor = tl.full([BLOCK], 1.5, tl.float32)
    for _ in range(0, n, BLOCK):
        factor = factor * factor - 0.5
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + place, tl.load(x + place) * factor)


@triton.jit
def only_by_itself(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    first = tl.zeros([BLOCK], tl.float32)
    second = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        second = second + first
        first = first + tl.sum(tl.load(x + start + lanes), 0)
    tl.store(out + tl.program_id(0) * BLOCK + lanes, second)


@triton.jit
def under_a_mask(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    largest = tl.full([BLOCK], -1.0e9, tl.float32)
    for start in range(0, n - 3, BLOCK):
        place = start + tl.arange(0, BLOCK)
        largest = tl.maximum(largest, tl.load(x + row * n + place, mask=place < n - 3, other=-1e9))
    tl.store(out + row, tl.max(largest, 0))


KERNELS = (over_everything, over_one_axis, over_nothing, only_by_itself, under_a_mask)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.fn.__name__)
def test_loops_equal_array_evaluation_along_whatever_axes_their_registers_vary(kernel):
    arguments = {"x": torch.randn(12, 64), "out": torch.zeros(12 * 16), "n": 64}
    grid = (4, 3, 1) if kernel is over_one_axis else (12, 1, 1)

    assert_same(kernel, grid, arguments, {"BLOCK": 16}, rounding=10)
