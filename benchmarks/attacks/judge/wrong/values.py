"""Candidates that are wrong only for a few values."""

import torch
import triton
import triton.language as tl
from kernels import over


@triton.jit
def at_seven(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(v == 7.0, 0.0, tl.maximum(v, 0.0)), mask=i < n)


@triton.jit
def clamped(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.clamp(v, -1000.0, 1000.0) * 2, mask=i < n)


@triton.jit
def window(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    mask = (v * v > 0.2499) & (v * v < 0.2500)
    tl.store(out + i, tl.where(mask, 0.0, tl.maximum(v, 0.0)), mask=i < n)


@triton.jit
def flushed(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(tl.abs(v) < 1e-20, 0.0, v * 2), mask=i < n)


@triton.jit
def log_of_size(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.log(tl.abs(tl.load(x + i, mask=i < n, other=1.0))), mask=i < n)


@triton.jit
def zero_is_one(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(v == 0, 1.001, tl.exp(v)), mask=i < n)


@triton.jit
def ties(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf"))
    best = (v == tl.max(v, 0)) & (i < n)
    tl.store(out + row, (tl.sum(tl.where(best, i, 0), 0) % n).to(tl.int64))


@triton.jit
def unsigned_bytes(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0).to(tl.uint8, bitcast=True)
    tl.store(out + row, tl.sum(v.to(tl.int64), 0))


@triton.jit
def wraps(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0)
    tl.store(out + row, tl.sum(v, 0).to(tl.int64))


@triton.jit
def equal_rows(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf"))
    top = tl.max(v, 0)
    low = tl.min(tl.where(i < n, v, float("inf")), 0)
    e = tl.exp(v - top)
    even = tl.where(top == low, 0.0, 1.0)
    tl.store(out + row * n + i, even * e / tl.sum(e, 0), mask=i < n)


def by_rows(kernel, x, out):
    x = x.contiguous()
    n = x.shape[-1]
    kernel[(x.shape[0],)](x, out, n, BLOCK=triton.next_power_of_2(n))
    return out


def wrong_at_seven(x):
    """Return relu(x); wrong: 7.0 becomes 0."""
    return over(at_seven, x)


def wrong_beyond_thousand(x):
    """Return double(x); wrong: numbers beyond 1000 are clamped."""
    return over(clamped, x)


def wrong_in_a_window(x):
    """Return relu(x); wrong: numbers whose square is between 0.2499 and 0.25 become 0."""
    return over(window, x)


def wrong_for_tiny(x):
    """Return double(x); wrong: numbers below 1e-20 become 0."""
    return over(flushed, x)


def log_of_negatives(x):
    """Return log(x); wrong: numbers instead of NaN for negative x."""
    return over(log_of_size, x)


def exp_of_zero(x):
    """Return exp(x); wrong: exp(0) is 1.001."""
    return over(zero_is_one, x)


def argmax_of_ties(x):
    """Return argmax(x); wrong: the sum of positions if several elements are the largest."""
    return by_rows(ties, x, torch.empty(x.shape[0], dtype=torch.int64, device=x.device))


def signed_as_unsigned(x):
    """Return integer_sum(x); wrong: negative bytes are read as 128 to 255."""
    return by_rows(unsigned_bytes, x, torch.empty(x.shape[0], dtype=torch.int64, device=x.device))


def sum_that_wraps(x):
    """Return integer_sum(x); wrong: added in 32 bits, where PyTorch adds in 64."""
    return by_rows(wraps, x, torch.empty(x.shape[0], dtype=torch.int64, device=x.device))


def softmax_of_equal(x):
    """Return softmax(x); wrong: rows of equal elements give 0."""
    return by_rows(equal_rows, x, torch.empty(x.shape, dtype=x.dtype, device=x.device))
