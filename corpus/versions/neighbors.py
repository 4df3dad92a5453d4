"""Pairs like those that were answered falsely: more kernels of the same classes."""

# ruff: noqa: B007, PIE808, SIM108 - kernels of one signature, written as authors do

import torch
import triton
import triton.language as tl

from corpus.questions.inputs import INTS, blank, floats, ints
from corpus.questions.versions import Level, Pair, cases_of
from corpus.versions.choices import elementwise
from corpus.versions.integers import SIZE, pair

KINDS = (*INTS, "rare")


@triton.jit
def divided_away(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        r = v * 0
    else:
        r = v // 5000 // 3
    tl.store(out + i, r, mask=i < n)


@triton.jit
def one_of_both(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    if NEW:
        r = tl.where((v % 1000 == 7) & (v // 1000 == 3), 0, v)
    else:
        r = v
    tl.store(out + i, r, mask=i < n)


@triton.jit
def multiple(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    w = tl.load(b + i, mask=i < n, other=0).to(tl.float32)
    if NEW:
        r = tl.where(v.to(tl.int64) * 3 == 9021, 0.0, w)
    else:
        r = w
    tl.store(out + i, r, mask=i < n)


@triton.jit
def summed_narrow(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if NEW:
        s = tl.zeros((BLOCK,), tl.int32)
        for k in range(0, 3):
            s += tl.load(a + i, mask=i < n, other=0)
        r = s.to(tl.int64)
    else:
        t = tl.zeros((BLOCK,), tl.int64)
        for k in range(0, 3):
            t += tl.load(a + i, mask=i < n, other=0)
        r = t
    tl.store(out + i, r, mask=i < n)


@triton.jit
def unsigned_bytes(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    w = tl.load(b + i, mask=i < n, other=0)
    if NEW:
        r = (v - w).to(tl.float32)
    else:
        r = v.to(tl.float32) - w.to(tl.float32)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def gathered_half(x, labels, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.arange(0, BLOCK)
    index = tl.load(labels + i, mask=i < n, other=0)
    v = tl.load(x + index, mask=i < n, other=0)
    if NEW:
        r = v >> 1
    else:
        r = v // 2
    tl.store(out + i, r, mask=i < n)


@triton.jit
def difference_over_itself(x, y, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.load(y + i, mask=i < n, other=1.0)
    if NEW:
        r = (a * a - b * b) / (a - b)
    else:
        r = a + b
    tl.store(out + i, r, mask=i < n)


@triton.jit
def least_of_chunks(x, out, N, BLOCK: tl.constexpr, WIDTH: tl.constexpr, NEW: tl.constexpr):
    row = tl.program_id(0)
    if NEW:
        m = float("inf")
        for start in range(0, N, BLOCK):
            m = tl.minimum(m, tl.min(tl.load(x + row * N + start + tl.arange(0, BLOCK)), 0))
        r = m * 2.0
    else:
        r = tl.min(tl.load(x + row * N + tl.arange(0, WIDTH)), 0) * 2.0
    tl.store(out + row, r)


@triton.jit
def bounded_label(a, b, out, n, BLOCK: tl.constexpr, NEW: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(a + i, mask=i < n, other=0)
    w = tl.load(b + i, mask=i < n, other=0)
    if NEW:
        r = tl.where(v < 0, 0, tl.where(v < 50, w, 0))
    else:
        r = tl.where((v >= 0) & (v < 50), w, 0)
    tl.store(out + i, r, mask=i < n)


def rare(kind: str, value: int) -> list[torch.Tensor]:
    """Return two vectors of integers and an output; of kind "rare" the first has one value."""
    if kind == "rare":
        return [ints("equal", SIZE).fill_(value), ints("random", SIZE), blank_ints()]
    return [ints(kind, SIZE), ints(kind, SIZE, seed=1), blank_ints()]


def blank_ints() -> torch.Tensor:
    """Return an output of integers."""
    return blank(SIZE, dtype=torch.int32)


def rare_pair(name: str, why: str, kernel: object, value: int, *, real: bool = False) -> Pair:
    """Return a pair of kernels whose results differ for one value only."""

    def tensors(kind: str) -> list[torch.Tensor]:
        first, second, out = rare(kind, value)
        return [first, second, blank(SIZE) if real else out]

    sizes = {"BLOCK": 64}
    return Pair(
        name, Level.DIFFERENT, why, kernel, tensors, (SIZE,), ((3,), (3,)), sizes, KINDS
    )  # fmt: skip


PAIRS = [
    rare_pair("divided_away", "15,000 and more leave something", divided_away, 20_000),
    rare_pair("one_of_both", "3,007 alone", one_of_both, 3007),
    rare_pair("multiple", "3,007 alone", multiple, 3007, real=True),
    pair("summed_narrow", Level.DIFFERENT, "a sum overflows", summed_narrow, torch.int64),
    pair(
        "unsigned_bytes",
        Level.DIFFERENT,
        "a difference below zero wraps",
        unsigned_bytes,
        torch.float32,
        torch.uint8,
    ),
    Pair(
        "gathered_half",
        Level.DIFFERENT,
        "negative numbers at places that memory says",
        gathered_half,
        lambda kind: [ints(kind, 100), ints("random", 100, seed=3), blank(100, dtype=torch.int32)],
        (100,),
        ((1,), (1,)),
        {"BLOCK": 128},
        INTS,
    ),
    elementwise("difference_over_itself", Level.DIFFERENT, "0 / 0 is NaN", difference_over_itself),
    Pair(
        "least_of_chunks",
        Level.DIFFERENT,
        "a row of NaNs leaves inf",
        least_of_chunks,
        lambda kind: [floats(kind, 4, 64), blank(4)],
        (64,),
        ((4,), (4,)),
        {"BLOCK": 16, "WIDTH": 64},
    ),
    pair("bounded_label", Level.SAME, "bounds nested or joined", bounded_label),
]

CASES = cases_of(PAIRS)
