"""Pairs about integers: signs, shifts, widths, overflow, wraparound."""

# ruff: noqa: SIM108 - kernels of one signature, written as authors do

from typing import Any

import torch
import triton
import triton.language as tl

from corpus.questions.inputs import INTS, blank, ints, two_vectors
from corpus.questions.versions import Level, Pair, cases_of

SIZE = 150


def pair(
    name: str,
    truth: Level,
    why: str,
    kernel: Any,
    out: torch.dtype = torch.int32,
    like: torch.dtype = torch.int32,
) -> Pair:
    """Return a pair of kernels from two vectors of integers to an output."""
    tensors = two_vectors(ints, SIZE, like, out)
    return Pair(name, truth, why, kernel, tensors, (SIZE,), ((3,), (3,)), {"BLOCK": 64}, INTS)


@triton.jit
def half_by_shift(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        r = v >> 1
    else:
        r = v // 2
    tl.store(out + i, r, mask=i < n)


@triton.jit
def half_of_unsigned(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0).to(tl.uint32)
    if NEW:
        r = v >> 3
    else:
        r = v // 8
    tl.store(out + i, r.to(tl.int32), mask=i < n)


@triton.jit
def remainder_by_mask(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        r = v & 7
    else:
        r = v % 8
    tl.store(out + i, r, mask=i < n)


@triton.jit
def floored(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        q = v // 7
        r = tl.where((v % 7 != 0) & (v < 0), q - 1, q)
    else:
        r = tl.where(v < 0, tl.where(v % 7 != 0, v // 7 - 1, v // 7), v // 7)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def compared_unsigned(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    w = tl.load(b + i, mask=i < n, other=0)
    if NEW:
        r = tl.where(v.to(tl.uint32) < w.to(tl.uint32), v, w)
    else:
        r = tl.where(v < w, v, w)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def within_bounds(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        r = tl.where(v.to(tl.uint32) < 50, v, -1)
    else:
        r = tl.where((v >= 0) & (v < 50), v, -1)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def widened_late(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    w = tl.load(b + i, mask=i < n, other=0)
    if NEW:
        r = (v * w).to(tl.int64)
    else:
        r = v.to(tl.int64) * w
    tl.store(out + i, r, mask=i < n)


@triton.jit
def bytes_widened_late(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    w = tl.load(b + i, mask=i < n, other=0)
    if NEW:
        r = (v + w).to(tl.int32)
    else:
        r = v.to(tl.int32) + w.to(tl.int32)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def sign_of_a_byte(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        r = v.to(tl.int8).to(tl.int32)
    else:
        r = (v << 24) >> 24
    tl.store(out + i, r, mask=i < n)


@triton.jit
def low_byte(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        r = v.to(tl.int8).to(tl.int32)
    else:
        r = v & 255
    tl.store(out + i, r, mask=i < n)


@triton.jit
def unsigned_as_float(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        r = v.to(tl.uint32).to(tl.float32)
    else:
        r = v.to(tl.float32)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def sum_as_float(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    w = tl.load(b + i, mask=i < n, other=0)
    if NEW:
        r = v.to(tl.float32) + w.to(tl.float32)
    else:
        r = (v + w).to(tl.float32)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def divided_in_steps(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        r = v // 12
    else:
        r = v // 3 // 4
    tl.store(out + i, r, mask=i < n)


@triton.jit
def canceled_factor(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        r = v * 2
    else:
        r = v * 6 // 3
    tl.store(out + i, r, mask=i < n)


@triton.jit
def distance(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    w = tl.load(b + i, mask=i < n, other=0)
    if NEW:
        r = tl.abs(v - w)
    else:
        r = tl.where(v > w, v - w, w - v)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def high_half(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0).to(tl.uint32)
    w = tl.load(b + i, mask=i < n, other=0).to(tl.uint32)
    if NEW:
        r = ((v.to(tl.uint64) * w.to(tl.uint64)) >> 32).to(tl.uint32)
    else:
        r = tl.umulhi(v, w)
    tl.store(out + i, r.to(tl.int32), mask=i < n)


@triton.jit
def one_hash(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        r = tl.where((v * 40503 + 12345) == 2130661530, 0, v)
    else:
        r = v
    tl.store(out + i, r, mask=i < n)


@triton.jit
def xor_twice(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    w = tl.load(b + i, mask=i < n, other=0)
    if NEW:
        r = v
    else:
        r = v ^ w ^ w
    tl.store(out + i, r, mask=i < n)


@triton.jit
def negated_quotient(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        r = -(v // 7)
    else:
        r = (-v) // 7
    tl.store(out + i, r, mask=i < n)


@triton.jit
def shifted_out(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        r = v
    else:
        r = (v * 65536) // 65536
    tl.store(out + i, r, mask=i < n)


@triton.jit
def xor_for_sum(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    i = start + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0) & 1
    if NEW:
        r = tl.xor_sum(v, 0)
    else:
        r = tl.sum(v, 0)
    tl.store(out + i, tl.zeros((BLOCK,), tl.int32) + r, mask=i < n)


@triton.jit
def index_ignored(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    label = tl.load(a + i, mask=i < n, other=0)
    w = tl.load(b + i, mask=i < n, other=0)
    if NEW:
        r = tl.where(label < 0, 0, w)
    else:
        r = tl.where(label == -100, 0, w)
    tl.store(out + i, r, mask=i < n)


PAIRS = [
    pair("half_by_shift", Level.DIFFERENT, "-1 // 2 is 0, -1 >> 1 is -1", half_by_shift),
    pair("half_of_unsigned", Level.SAME, "unsigned: no sign to round", half_of_unsigned),
    pair("remainder_by_mask", Level.DIFFERENT, "-1 % 8 is -1, -1 & 7 is 7", remainder_by_mask),
    pair("floored", Level.SAME, "one floor division, its conditions nested or joined", floored),
    pair("compared_unsigned", Level.DIFFERENT, "a negative is large", compared_unsigned),
    pair("within_bounds", Level.SAME, "a negative is large, as it should be here", within_bounds),
    pair(
        "widened_late", Level.DIFFERENT, "the product overflows 32 bits", widened_late, torch.int64
    ),
    pair(
        "bytes_widened_late",
        Level.DIFFERENT,
        "the sum overflows 8 bits",
        bytes_widened_late,
        like=torch.int8,
    ),
    pair("sign_of_a_byte", Level.SAME, "both extend the sign of the low byte", sign_of_a_byte),
    pair("low_byte", Level.DIFFERENT, "128 to 255 are negative as int8", low_byte),
    pair(
        "unsigned_as_float", Level.DIFFERENT, "-1 is 4294967295", unsigned_as_float, torch.float32
    ),
    pair(
        "sum_as_float",
        Level.DIFFERENT,
        "the sum of integers overflows",
        sum_as_float,
        torch.float32,
    ),
    pair(
        "divided_in_steps",
        Level.SAME,
        "both round to zero, so a // 3 // 4 is a // 12",
        divided_in_steps,
    ),
    pair("canceled_factor", Level.DIFFERENT, "a * 6 overflows first", canceled_factor),
    pair("distance", Level.DIFFERENT, "INT_MIN - 1 wraps to a positive", distance),
    pair("high_half", Level.SAME, "the upper 32 of 64 bits", high_half),
    pair("xor_twice", Level.SAME, "b twice is nothing", xor_twice),
    pair("negated_quotient", Level.DIFFERENT, "-INT_MIN is INT_MIN", negated_quotient),
    pair("shifted_out", Level.DIFFERENT, "the upper 16 bits are lost", shifted_out),
    pair("xor_for_sum", Level.DIFFERENT, "a parity is not a count", xor_for_sum),
    pair("index_ignored", Level.DIFFERENT, "a label of -1 is not -100", index_ignored),
    Pair(
        "one_hash",
        Level.DIFFERENT,
        "one value of 2**32 is replaced",
        one_hash,
        lambda kind: [
            ints(kind, SIZE).fill_(
                (2130661530 - 12345) * pow(40503, -1, 2**32) % 2**32
                - (2**32 if (2130661530 - 12345) * pow(40503, -1, 2**32) % 2**32 >= 2**31 else 0)
            )
            if kind == "equal"
            else ints(kind, SIZE),
            ints(kind, SIZE, seed=1),
            blank(SIZE, dtype=torch.int32),
        ],
        (SIZE,),
        ((3,), (3,)),
        {"BLOCK": 64},
        INTS,
    ),
]

CASES = cases_of(PAIRS)
