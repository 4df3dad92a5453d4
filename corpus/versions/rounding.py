"""Pairs about rounding: where numbers are rounded, to which type, and how constants fold."""

# ruff: noqa: SIM108 - kernels of one signature, written as authors do

from typing import Any

import torch
import triton
import triton.language as tl

from corpus.questions.inputs import FLOATS, floats, two_vectors
from corpus.questions.versions import Level, Pair, cases_of

SIZE = 200


def pair(
    name: str,
    truth: Level,
    why: str,
    kernel: Any,
    like: torch.dtype = torch.float32,
    out: torch.dtype = torch.float32,
    **more: Any,
) -> Pair:
    """Return a pair of kernels from two vectors of floats to an output."""
    tensors = two_vectors(floats, SIZE, like, out)
    return Pair(
        name, truth, why, kernel, tensors, (SIZE,), ((4,), (4,)), {"BLOCK": 64}, FLOATS, **more
    )


@triton.jit
def rounded_before_sum(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if NEW:
        r = a.to(tl.bfloat16) + b.to(tl.bfloat16)
    else:
        r = (a + b).to(tl.bfloat16)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def rounded_twice(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        r = a.to(tl.float32).to(tl.float16)
    else:
        r = a.to(tl.float16)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def widened_and_back(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        r = a.to(tl.float32).to(tl.float64).to(tl.float16)
    else:
        r = a
    tl.store(out + i, r, mask=i < n)


@triton.jit
def narrowed_and_back(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        r = a.to(tl.bfloat16).to(tl.float32)
    else:
        r = a
    tl.store(out + i, r, mask=i < n)


@triton.jit
def absolute_by_bits(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        r = (a.to(tl.int32, bitcast=True) & 0x7FFFFFFF).to(tl.float32, bitcast=True)
    else:
        r = tl.abs(a)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def joined(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if NEW:
        r = tl.fma(a, b, a)
    else:
        r = a * b + a
    tl.store(out + i, r, mask=i < n)


@triton.jit
def folded_scale(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        r = a * (0.5 * 1.4426950408889634)
    else:
        r = (a * 0.5) * 1.4426950408889634
    tl.store(out + i, r, mask=i < n)


@triton.jit
def third(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        r = a * (1.0 / 3.0)
    else:
        r = a / 3.0
    tl.store(out + i, r, mask=i < n)


@triton.jit
def half(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        r = a * 0.5
    else:
        r = a / 2.0
    tl.store(out + i, r, mask=i < n)


@triton.jit
def other_base(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        r = tl.exp2(a * 1.4427)
    else:
        r = tl.exp(a)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def cut_off(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        r = a.to(tl.bfloat16, fp_downcast_rounding="rtz")
    else:
        r = a.to(tl.bfloat16)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def turned_difference(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if NEW:
        r = -(b - a)
    else:
        r = a - b
    tl.store(out + i, r, mask=i < n)


@triton.jit
def negative_zero(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=1.0)
    if NEW:
        r = 1.0 / (a * -1.0)
    else:
        r = 1.0 / (-a)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def dropped_by_product(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    keep = tl.rand(1234, i) > 0.25
    if NEW:
        r = a * keep.to(tl.float32) * 2.0
    else:
        r = tl.where(keep, a * 2.0, 0.0)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def dropped_in_blocks(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        keep = tl.rand(1234 + tl.program_id(0), tl.arange(0, BLOCK)) > 0.25
    else:
        keep = tl.rand(1234, i) > 0.25
    r = tl.where(keep, a * 2.0, 0.0)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def dropped_by_four(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        chance, _, _, _ = tl.rand4x(1234, i)
    else:
        chance = tl.rand(1234, i)
    r = tl.where(chance > 0.25, a * 2.0, 0.0)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def root_of_inverse(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=1.0)
    if NEW:
        r = tl.sqrt(1.0 / (a * a))
    else:
        r = 1.0 / tl.sqrt(a * a)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def roots_of_factors(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=1.0)
    b = tl.load(y + i, mask=i < n, other=1.0)
    if NEW:
        r = tl.sqrt(a) * tl.sqrt(b)
    else:
        r = tl.sqrt(a * b)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def divided_twice(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=1.0)
    b = tl.load(y + i, mask=i < n, other=1.0)
    if NEW:
        r = a / (b * b + 1.0) / (a * a + 1.0)
    else:
        r = a / ((b * b + 1.0) * (a * a + 1.0))
    tl.store(out + i, r, mask=i < n)


F16, F64, BF16 = torch.float16, torch.float64, torch.bfloat16
PAIRS = [
    pair(
        "rounded_before_sum",
        Level.DIFFERENT,
        "summands are rounded to bf16",
        rounded_before_sum,
        out=BF16,
        read=True,
    ),
    pair(
        "rounded_twice",
        Level.DIFFERENT,
        "fp64 to fp32 to fp16 rounds twice: rare",
        rounded_twice,
        like=F64,
        out=F16,
        read=True,
    ),
    pair(
        "widened_and_back",
        Level.SAME,
        "wider types hold all of fp16",
        widened_and_back,
        like=F16,
        out=F16,
    ),
    pair("narrowed_and_back", Level.DIFFERENT, "bf16 drops 16 bits", narrowed_and_back, read=True),
    pair("absolute_by_bits", Level.SAME, "the sign is a bit, of NaNs too", absolute_by_bits),
    pair("joined", Level.EXACT, "fma rounds once", joined),
    pair("folded_scale", Level.EXACT, "half a denormal is rounded", folded_scale),
    pair("third", Level.EXACT, "1/3 is rounded as a constant, as decimals are", third, read=True),
    pair("half", Level.SAME, "a half is exact", half),
    pair("other_base", Level.DIFFERENT, "1.4427 is not log2(e)", other_base, read=True),
    pair("cut_off", Level.DIFFERENT, "bits are cut off, not rounded", cut_off, out=BF16, read=True),
    pair(
        "turned_difference",
        Level.SUMS,
        "equal values except for the sign of zero",
        turned_difference,
    ),
    pair("negative_zero", Level.DIFFERENT, "-0 by product, +0 by difference", negative_zero),
    pair("dropped_by_product", Level.EXACT, "inf * 0 is NaN, -1 * 0 is -0", dropped_by_product),
    pair(
        "dropped_in_blocks", Level.DIFFERENT, "other numbers from program 1 on", dropped_in_blocks
    ),
    pair("dropped_by_four", Level.SAME, "the first of four is the one", dropped_by_four),
    pair("root_of_inverse", Level.EXACT, "equal for a square", root_of_inverse),
    pair("roots_of_factors", Level.DIFFERENT, "two negatives have no roots", roots_of_factors),
    pair("divided_twice", Level.EXACT, "two quotients for one", divided_twice),
]

CASES = cases_of(PAIRS)
