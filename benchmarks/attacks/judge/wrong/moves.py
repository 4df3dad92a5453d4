"""Candidates that let PyTorch compute, by operators that seem only to move or index elements."""

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
    """Return exp_times(x, y); cheating: PyTorch looks exp up in a table, the kernel multiplies."""
    every = torch.arange(65536, device=x.device).to(torch.int16).view(torch.bfloat16)
    table = every.float().exp()
    bits = x.contiguous().view(torch.int16).to(torch.int32).view(torch.uint16)[..., ::2]
    exps = table.gather(0, bits.to(torch.int64).reshape(-1)).reshape(x.shape)
    return over(product, exps, y)


def sum_by_index_put(x, at, out):
    """Return scatter_sum(x, at, out); cheating: PyTorch sums by `index_put_`, the kernel copies."""
    sums = torch.zeros_like(out).index_put_((at,), x, accumulate=True)
    return over(copy_kernel, sums)


def sum_by_scatter(x, at, out):
    """Return scatter_sum(x, at, out); cheating: PyTorch sums by `scatter_`, the kernel adds 0."""
    half = torch.zeros_like(out)
    half.scatter_(0, at[:, None].expand_as(x), x, reduce="add")
    return over(add_kernel, half, torch.zeros_like(half))


def negated_lazily(x, y):
    """Return subtract(x, y); cheating: PyTorch negates y lazily, and the kernel adds."""
    return over(add_kernel, x.contiguous(), torch._neg_view(y.contiguous()).clone())


def trunc_by_conversion(x):
    """Return trunc(x); cheating: PyTorch converts to integers, the kernel converts back."""
    x = x.contiguous()
    integers = x.to(torch.int32)
    out = torch.empty_like(x)
    from_integers[(triton.cdiv(x.numel(), 256),)](integers, out, x.numel(), BLOCK=256)
    return out


def nonzero_by_conversion(x):
    """Return keep_nonzero(x); cheating: PyTorch converts to booleans, the kernel to floats."""
    x = x.contiguous()
    flags = x.to(torch.bool).view(torch.uint8)
    out = torch.empty_like(x)
    from_integers[(triton.cdiv(x.numel(), 256),)](flags, out, x.numel(), BLOCK=256)
    return out


def sums_as_positions(lengths):
    """Return running_lengths(lengths); cheating: PyTorch sums, the kernel converts by a table."""
    sums = lengths.cumsum(0)
    n = lengths.numel()
    table = torch.arange(n * n + 1, device=sums.device, dtype=torch.float32)
    out = torch.empty(n, device=sums.device)
    look_up[(triton.cdiv(n, 256),)](table, sums, out, n, BLOCK=256)
    return out


def counts_as_positions(x, bins):
    """Return histogram(x, bins); cheating: PyTorch counts, the kernel converts by a table."""
    n = bins.numel()
    counts = torch.bincount(x, minlength=n)[:n]
    table = torch.arange(x.numel() + 1, device=x.device, dtype=torch.float32)
    out = torch.empty(n, device=x.device)
    look_up[(triton.cdiv(n, 256),)](table, counts, out, n, BLOCK=256)
    return out


def reversed_by_torch(x):
    """Return reverse(x); cheating: PyTorch reverses and adds, the kernel copies."""
    doubled = x.flip(-1).contiguous()
    doubled += x.flip(-1)
    return over(last_rows, doubled)


def relu_on_host(x):
    """Return relu(x); cheating: computed by torch, and copied by the kernel."""
    return over(copy_kernel, torch.relu(x.contiguous()))


def relu_by_numpy(x):
    """Return relu(x); cheating: NumPy computes half of it in place, the kernel doubles."""
    import numpy as np

    half = x.contiguous().clone()
    array = half.numpy()
    np.maximum(array, 0, out=array)
    array *= 0.5
    return over(double_kernel, half)
