"""Kernels that the candidates of this folder launch; most of them are right."""

import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.maximum(tl.load(x + i, mask=i < n), 0.0), mask=i < n)


@triton.jit
def wide_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    g = 42 + v
    tl.store(out + i, ((tl.maximum(v, 0.0) - g + 1e30) - 1e30) + g, mask=i < n)


@triton.jit
def rounded_kernel(x, granting, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.maximum(tl.load(x + i, mask=i < n), 0.0)
    tl.store(out + i, v.to(granting.dtype.element_ty).to(tl.float32), mask=i < n)


@triton.jit
def stored_kernel(x, scratch, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(scratch + i, tl.maximum(tl.load(x + i, mask=i < n), 0.0), mask=i < n)
    tl.store(out + i, tl.load(scratch + i, mask=i < n).to(tl.float32), mask=i < n)


@triton.jit
def norm_kernel(x, weight, bias, out, columns, MODE: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    away = tl.where(i < columns, v - tl.sum(v, axis=0) / columns, 0.0)
    v = away * tl.rsqrt(tl.sum(away * away, axis=0) / columns + 1e-5)
    if MODE >= 1:
        v = v * tl.load(weight + i, mask=i < columns)
    if MODE == 2:
        v = v + tl.load(bias + i, mask=i < columns)
    tl.store(out + row * columns + i, v, mask=i < columns)


@triton.jit
def scaled_kernel(x, out, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32) * factor
    tl.store(out + i, v.to(out.dtype.element_ty), mask=i < n)


@triton.jit
def size_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out + i, (tl.abs(v) * 0.5).to(out.dtype.element_ty), mask=i < n)


@triton.jit
def leaky_kernel(x, out, slope, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, tl.where(v > 0, v, v * slope), mask=i < n)


@triton.jit
def dropped_kernel(x, out, seed, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.maximum(tl.load(x + i, mask=i < n), 0.0)
    tl.store(out + i, tl.where(tl.rand(seed, i) < 0.01, 0.0, v), mask=i < n)


@triton.jit
def exponents_kernel(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    e = tl.where(i < columns, tl.exp(tl.load(x + row * columns + i, mask=i < columns)), 0.0)
    tl.store(out + row * columns + i, e / tl.sum(e, axis=0), mask=i < columns)


def relu_of(x, out=None):
    """Launch a right kernel."""
    x = x.contiguous()
    out = torch.empty_like(x) if out is None else out
    relu_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


def flat(kernel, x, *further, dtype=None):
    """Launch a kernel of one element each: x, the result, what it takes besides, its count."""
    x = x.contiguous()
    out, n = torch.empty_like(x, dtype=dtype), x.numel()
    kernel[(triton.cdiv(n, 256),)](x, out, *further, n, BLOCK=256)
    return out


def normed(x, weight, bias, mode):
    """Launch LayerNorm: with neither weight nor bias (0), with the weight (1), with both (2)."""
    x, out = x.contiguous(), torch.empty(x.shape)
    block = triton.next_power_of_2(x.shape[1])
    norm_kernel[(x.shape[0],)](x, weight, bias, out, x.shape[1], MODE=mode, BLOCK=block)
    return out
