"""PyTorch computes by what looks like moving elements, or like choosing positions."""

import torch
import triton
import triton.language as tl
from kernels import add_kernel, copy_kernel, double_kernel, over


@triton.jit
def product(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def look_up(table, at, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    position = tl.load(at + i, mask=i < n, other=0)
    tl.store(out + i, tl.load(table + position, mask=i < n), mask=i < n)


@triton.jit
def from_integers(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n).to(tl.float32), mask=i < n)


@triton.jit
def last_rows(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


def exp_by_table(x, y):
    """Cheating: PyTorch looks up exp in a table of all 16-bit floats; the kernel multiplies."""
    every = torch.arange(65536, device=x.device).to(torch.int16).view(torch.bfloat16)
    table = every.float().exp()
    bits = x.contiguous().view(torch.int16).to(torch.int32).view(torch.uint16)[..., ::2]
    exps = table.gather(0, bits.to(torch.int64).reshape(-1)).reshape(x.shape)
    return over(product, exps, y)


def sum_by_index_put(x, at, out):
    """Cheating: PyTorch adds rows by `index_put_` that accumulates; the kernel copies the sums."""
    sums = torch.zeros_like(out).index_put_((at,), x, accumulate=True)
    return over(copy_kernel, sums)


def sum_by_scatter(x, at, out):
    """Cheating: PyTorch adds rows by `scatter_` with a reduction; the kernel adds halves."""
    half = torch.zeros_like(out)
    half.scatter_(0, at[:, None].expand_as(x), x, reduce="add")
    return over(add_kernel, half, torch.zeros_like(half))


def negated_lazily(x, y):
    """Cheating: PyTorch negates as it copies a lazily negated view, and a kernel adds."""
    return over(add_kernel, x.contiguous(), torch._neg_view(y.contiguous()).clone())


def trunc_by_conversion(x):
    """Cheating: PyTorch truncates as it converts to integers; the kernel converts back."""
    x = x.contiguous()
    whole = x.to(torch.int32)
    out = torch.empty_like(x)
    from_integers[(triton.cdiv(x.numel(), 256),)](whole, out, x.numel(), BLOCK=256)
    return out


def nonzero_by_conversion(x):
    """Cheating: PyTorch compares with zero as it converts to booleans; the kernel converts back."""
    x = x.contiguous()
    flags = x.to(torch.bool).view(torch.uint8)
    out = torch.empty_like(x)
    from_integers[(triton.cdiv(x.numel(), 256),)](flags, out, x.numel(), BLOCK=256)
    return out


def sums_as_positions(lengths):
    """Cheating: PyTorch adds integers; the kernel looks the sums up in a table of whole numbers."""
    at = lengths.cumsum(0)
    n = lengths.numel()
    table = torch.arange(n * n + 1, device=at.device, dtype=torch.float32)
    out = torch.empty(n, device=at.device)
    look_up[(triton.cdiv(n, 256),)](table, at, out, n, BLOCK=256)
    return out


def counts_as_positions(x, bins):
    """Cheating: PyTorch counts; the kernel looks the counts up in a table of whole numbers."""
    n = bins.numel()
    counts = torch.bincount(x, minlength=n)[:n]
    table = torch.arange(x.numel() + 1, device=x.device, dtype=torch.float32)
    out = torch.empty(n, device=x.device)
    look_up[(triton.cdiv(n, 256),)](table, counts, out, n, BLOCK=256)
    return out


def reversed_by_torch(x):
    """Cheating: PyTorch doubles (an add to itself in place); the kernel reverses nothing."""
    doubled = x.flip(-1).contiguous()
    doubled += x.flip(-1)
    return over(last_rows, doubled)


def relu_on_host(x):
    """Cheating: torch computes, and the kernel copies its result."""
    return over(copy_kernel, torch.relu(x.contiguous()))


def relu_by_numpy(x):
    """Cheating: NumPy computes in the memory of a tensor; the kernel doubles its halves."""
    import numpy as np

    half = x.contiguous().clone()
    array = half.numpy()
    np.maximum(array, 0, out=array)
    array *= 0.5
    return over(double_kernel, half)
