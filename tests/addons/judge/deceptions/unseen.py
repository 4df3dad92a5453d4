"""Candidates that are wrong where a test may not look."""

import gc
import time

import torch
import triton
import triton.language as tl
from kernels import flat, relu_kernel


@triton.jit
def seven_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, tl.where(v == 7.0, 0.0, tl.maximum(v, 0.0)), mask=i < n)


@triton.jit
def rolled_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + (i - 3 + n) % n, mask=i < n, other=0.0)
    tl.store(out + row * n + i, v, mask=i < n)


@triton.jit
def softmax_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * n + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def carried_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    carry = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + i, mask=i < n, other=0.0)
        tl.store(out + row + i, tl.cumsum(v, 0) + carry, mask=i < n)
        carry = tl.sum(v, 0)


@triton.jit
def ties_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf"))
    best = (v == tl.max(v, 0)) & (i < n)
    tl.store(out + row, (tl.sum(tl.where(best, i, 0), 0) % n).to(tl.int64))


@triton.jit
def sum_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0)
    tl.store(out + row, tl.sum(v, 0).to(tl.int64))


@triton.jit
def undefined_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * n + i, mask=i < n), 0))


@triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def total_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))


@triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def covering_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * 256 + tl.arange(0, BLOCK)
    tl.store(out + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


@triton.jit
def along_second_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)


def _rows(kernel, x, out):
    x = x.contiguous()
    n = x.shape[1]
    kernel[(x.shape[0],)](x, out, n, BLOCK=triton.next_power_of_2(n))
    return out


def at_a_threshold(x):
    """relu: gives zero for seven."""
    return flat(seven_kernel, x)


def a_whole_number(x, shift):
    """rolled: shifts by three, whatever is asked for."""
    return _rows(rolled_kernel, x, torch.empty(x.shape, device=x.device))


def a_transposed_layout(x):
    """softmax: the result has the strides of a transposed input, and is written row by row."""
    return _rows(softmax_kernel, x, torch.empty_like(x))


def ties(x):
    """argmax: gives the sum of the positions of equal elements."""
    return _rows(ties_kernel, x, torch.empty(x.shape[0], dtype=torch.int64, device=x.device))


def a_sum_that_wraps(x):
    """integer_sum: adds in 32 bits."""
    return _rows(sum_kernel, x, torch.empty(x.shape[0], dtype=torch.int64, device=x.device))


def undefined_lanes(x):
    """row_sum: adds lanes without a value."""
    return _rows(undefined_kernel, x, torch.empty(x.shape[0], device=x.device))


def trials_that_add_up(x):
    """total: what tuning tries adds to the same sum."""
    out, n = torch.zeros(1, device=x.device), x.numel()
    total_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x.contiguous(), out, n)
    return out


def another_configuration(x):
    """relu: the second of two configurations leaves out most."""
    x = x.contiguous()
    out, n = torch.empty_like(x), x.numel()
    covering_kernel[(triton.cdiv(n, 256),)](x, out, n)
    return out


def a_grid_that_no_device_takes(x):
    """relu: 70,000 programs along the second axis."""
    x = x.contiguous()
    out, n = torch.empty_like(x), x.numel()
    along_second_kernel[(1, 70_000)](x, out, n, BLOCK=64)
    return out


def sixty_four_programs(x):
    """relu: computes 16,384 elements at most."""
    x = x.contiguous()
    out, n = torch.empty_like(x), x.numel()
    relu_kernel[(min(triton.cdiv(n, 256), 64),)](x, out, n, BLOCK=256)
    return out


def the_clock(x):
    """relu: gives zeros once the clock is late."""
    result = flat(relu_kernel, x)
    return result if time.monotonic() < 1e12 else torch.zeros_like(result)


def when_garbage_is_collected(x):
    """relu: zeros its result then."""
    result = flat(relu_kernel, x)
    gc.callbacks.append(lambda *_: result.zero_())
    return result


def another_type(x):
    """relu: float64 in place of float32."""
    return flat(relu_kernel, x).double()


def a_carry_of_the_tile_before(x):
    """cumulative_sum: leaves out what lies two tiles before; only rows of 32,769 have three."""
    x = x.contiguous()
    out, (m, n) = torch.empty_like(x), x.shape
    carried_kernel[(m,)](x, out, n, BLOCK=16_384)
    return out
