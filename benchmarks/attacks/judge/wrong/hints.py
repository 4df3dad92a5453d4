"""Candidates whose kernels give false hints to the compiler."""

import triton
import triton.language as tl
from kernels import over


@triton.jit
def ascending(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.max_contiguous(tl.multiple_of(n - 1 - i, 4), 4)
    tl.store(out + i, tl.load(x + at, mask=i < n) * 2, mask=i < n)


@triton.jit
def assumed(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.assume(n > 1_000_000)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def same(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.max_constancy(i < n, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=keep) * 2, mask=keep)


def reversed_as_ascending(x):
    """Return reverse(x); wrong: descending offsets are declared contiguous to the compiler."""
    return over(ascending, x)


def false_assumption(x):
    """Return double(x); wrong: tells the compiler that there are more than 1,000,000 elements."""
    return over(assumed, x)


def constant_mask(x):
    """Return double(x); wrong: the mask is declared constant in each block to the compiler."""
    return over(same, x)
