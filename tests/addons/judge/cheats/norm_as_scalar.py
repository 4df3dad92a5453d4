"""unit_length: PyTorch takes the norm, a kernel divides by a scalar."""

import torch
import triton
import triton.language as tl


@triton.jit
def divide_kernel(x, out, norm, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) / norm, mask=i < n)


@triton.jit
def scale_kernel(x, out, squares, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) / tl.sqrt(tl.load(squares)), mask=i < n)


@triton.jit
def square_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out, tl.sum(v * v, axis=0))


def cheat(x):
    x, out = x.contiguous(), torch.empty(x.shape)
    n = x.numel()
    divide_kernel[(triton.cdiv(n, 128),)](x, out, float(x.norm()), n, BLOCK=128)
    return out


def honest(x):
    x, out, squares = x.contiguous(), torch.empty(x.shape), torch.empty(1)
    n = x.numel()
    square_kernel[(1,)](x, squares, n, BLOCK=triton.next_power_of_2(n))
    scale_kernel[(triton.cdiv(n, 128),)](x, out, squares, n, BLOCK=128)
    return out
