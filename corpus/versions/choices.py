"""Pairs about maxima, minima, choices and ties: NaNs, signs of zeros, equal values."""

# ruff: noqa: SIM108 - kernels of one signature, written as authors do

from typing import Any

import torch
import triton
import triton.language as tl

from corpus.questions.inputs import INTS, blank, floats, ints, two_vectors
from corpus.questions.versions import Level, Pair, cases_of

SIZE = 200
BLOCK = 64


def elementwise(name: str, truth: Level, why: str, kernel: Any, **more: Any) -> Pair:
    """Return a pair of elementwise kernels of two inputs and an output."""
    tensors = two_vectors(floats, SIZE, torch.float32, torch.float32)
    return Pair(name, truth, why, kernel, tensors, (SIZE,), ((4,), (4,)), {"BLOCK": BLOCK}, **more)


@triton.jit
def relu_negated(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        r = tl.where(v <= 0, 0.0, v)
    else:
        r = tl.where(v > 0, v, 0.0)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def max_flipped(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if NEW:
        r = tl.where(b > a, b, a)
    else:
        r = tl.where(a > b, a, b)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def max_or_equal(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if NEW:
        r = tl.where(a >= b, a, b)
    else:
        r = tl.where(a > b, a, b)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def max_less(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if NEW:
        r = tl.where(b < a, a, b)
    else:
        r = tl.where(a > b, a, b)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def max_builtin(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if NEW:
        r = tl.maximum(a, b)
    else:
        r = tl.where(a > b, a, b)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def max_plus_min(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if NEW:
        r = tl.maximum(a, b) + tl.minimum(a, b)
    else:
        r = a + b
    tl.store(out + i, r, mask=i < n)


@triton.jit
def both_ways(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if NEW:
        r = tl.where(a > 0, b, 0.0) + tl.where(a <= 0, b, 0.0)
    else:
        r = b
    tl.store(out + i, r, mask=i < n)


@triton.jit
def either_way(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if NEW:
        positive = a > 0
        r = tl.where(positive, b, 0.0) + tl.where(positive, 0.0, b)
    else:
        r = b
    tl.store(out + i, r, mask=i < n)


@triton.jit
def clamp_nans(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        r = tl.maximum(v, -1.0, propagate_nan=tl.PropagateNan.ALL)
    else:
        r = tl.maximum(v, -1.0)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def leaky(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if NEW:
        r = tl.maximum(v, v * 0.01)
    else:
        r = tl.where(v > 0, v, v * 0.01)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def nonzero(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if NEW:
        r = tl.where((b > 0) | (b < 0), a, 0.0)
    else:
        r = tl.where(b != 0, a, 0.0)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def not_equal(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=0.0)
    if NEW:
        r = tl.where(b == 0, 0.0, a)
    else:
        r = tl.where(b != 0, a, 0.0)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def inverse_of_absolute(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=1.0)
    if NEW:
        r = 1.0 / tl.abs(v)
    else:
        r = 1.0 / tl.where(v < 0, -v, v)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def over_itself(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=1.0)
    if NEW:
        r = a * b / b
    else:
        r = a
    tl.store(out + i, r, mask=i < n)


@triton.jit
def step_at_zero(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=1.0)
    if NEW:
        r = tl.where(a - b > 0, 1.0, 0.0)
    else:
        r = tl.where(a > b, 1.0, 0.0)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def running_maximum(x, out, N, BLOCK: tl.constexpr, WIDTH: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    if NEW:
        m = tl.full((BLOCK,), float("-inf"), tl.float32)
        for start in range(0, N, BLOCK):
            m = tl.maximum(m, tl.load(x + row * N + start + tl.arange(0, BLOCK)))
        r = tl.max(m, 0)
    else:
        r = tl.max(tl.load(x + row * N + tl.arange(0, WIDTH)), 0)
    tl.store(out + row, r)


@triton.jit
def chunked_maximum(x, out, N, BLOCK: tl.constexpr, WIDTH: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    if NEW:
        m = tl.load(x + row * N + tl.arange(0, BLOCK))
        for start in range(BLOCK, N, BLOCK):
            v = tl.load(x + row * N + start + tl.arange(0, BLOCK))
            m = tl.where(v > m, v, m)
        r = tl.max(m, 0)
    else:
        r = tl.max(tl.load(x + row * N + tl.arange(0, WIDTH)), 0)
    tl.store(out + row, r)


def rows(kind: str) -> list[torch.Tensor]:
    """Return rows of floats and an output of one element each."""
    return [floats(kind, 4, 64), blank(4)]


def whole_rows(kind: str) -> list[torch.Tensor]:
    """Return rows of integers and an output of one element each."""
    return [ints(kind, 4, 32), blank(4, dtype=torch.int32)]


@triton.jit
def last_of_equals(a, out, N: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    v = tl.load(a + row * N + tl.arange(0, N))
    if NEW:
        position = N - 1 - tl.argmax(tl.flip(v, 0), 0)
    else:
        position = tl.argmax(v, 0)
    tl.store(out + row, position)


@triton.jit
def place_by_hand(a, out, N: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, N)
    v = tl.load(a + row * N + i)
    if NEW:
        position = tl.min(tl.where(v == tl.max(v, 0), i, N), 0)
    else:
        position = tl.argmax(v, 0)
    tl.store(out + row, position)


@triton.jit
def least_of_negated(a, out, N: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    v = tl.load(a + row * N + tl.arange(0, N))
    if NEW:
        position = tl.argmax(-v, 0)
    else:
        position = tl.argmin(v, 0)
    tl.store(out + row, position)


@triton.jit
def first_of_sorted(a, out, N: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, N)
    v = tl.load(a + row * N + i)
    if NEW:
        r = tl.sum(tl.where(i == 0, tl.sort(v), 0), 0)
    else:
        r = tl.min(v, 0)
    tl.store(out + row, r)


@triton.jit
def sorted_down(a, out, N: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, N)
    v = tl.load(a + row * N + i)
    if NEW:
        r = tl.flip(tl.sort(v), 0)
    else:
        r = tl.sort(v, descending=True)
    tl.store(out + row * N + i, r)


def sortable(kind: str) -> list[torch.Tensor]:
    """Return rows of integers and an output of the same shape."""
    return [ints(kind, 4, 16), blank(4, 16, dtype=torch.int32)]


def of_rows(name: str, truth: Level, why: str, kernel: Any) -> Pair:
    """Return a pair of kernels that reduce rows of integers to one number each."""
    return Pair(name, truth, why, kernel, whole_rows, (), ((4,), (4,)), {"N": 32}, INTS)


LONG = {"BLOCK": 16, "WIDTH": 64}
PAIRS = [
    elementwise("relu_negated", Level.DIFFERENT, "v > 0 and not v <= 0 part for NaN", relu_negated),
    elementwise("max_flipped", Level.DIFFERENT, "each drops the NaN of another side", max_flipped),
    elementwise(
        "max_or_equal", Level.SUMS, "equal values except for the sign of zero", max_or_equal
    ),
    elementwise("max_less", Level.SAME, "b < a is a > b", max_less),
    elementwise("max_builtin", Level.DIFFERENT, "a choice keeps a NaN of b", max_builtin),
    elementwise("max_plus_min", Level.DIFFERENT, "both drop a NaN", max_plus_min),
    elementwise("both_ways", Level.DIFFERENT, "a NaN is on neither side", both_ways),
    elementwise("either_way", Level.SUMS, "one condition: the value, plus zero", either_way),
    elementwise("clamp_nans", Level.DIFFERENT, "one passes NaN on", clamp_nans),
    elementwise("leaky", Level.SAME, "of v and v/100 the greater is the one with v's sign", leaky),
    elementwise("nonzero", Level.DIFFERENT, "NaN is not zero, yet on no side of it", nonzero),
    elementwise("not_equal", Level.SAME, "a choice turned around, NaN too", not_equal),
    elementwise(
        "inverse_of_absolute", Level.DIFFERENT, "-0 is not below zero: -inf", inverse_of_absolute
    ),
    elementwise("over_itself", Level.DIFFERENT, "0 / 0 is NaN", over_itself),
    elementwise("step_at_zero", Level.SAME, "a - b > 0 only if a > b: no underflow", step_at_zero),
    Pair(
        "running_maximum",
        Level.DIFFERENT,
        "a row of NaNs leaves -inf",
        running_maximum,
        rows,
        (64,),
        ((4,), (4,)),
        LONG,
    ),
    Pair(
        "chunked_maximum",
        Level.DIFFERENT,
        "a NaN of the first chunk hides its lane",
        chunked_maximum,
        rows,
        (64,),
        ((4,), (4,)),
        LONG,
    ),
    of_rows("last_of_equals", Level.DIFFERENT, "the last of equals, not the first", last_of_equals),
    of_rows("place_by_hand", Level.SAME, "the least place of the maximum", place_by_hand),
    of_rows("least_of_negated", Level.DIFFERENT, "-INT_MIN is INT_MIN", least_of_negated),
    of_rows("first_of_sorted", Level.SAME, "the first of sorted integers", first_of_sorted),
    Pair(
        "sorted_down",
        Level.SAME,
        "integers sorted down, or up and turned around",
        sorted_down,
        sortable,
        (),
        ((4,), (4,)),
        {"N": 16},
        INTS,
    ),
]

CASES = cases_of(PAIRS)
