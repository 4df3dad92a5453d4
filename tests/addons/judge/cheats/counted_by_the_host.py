"""counts: PyTorch counts integers, a kernel copies the counts."""

import torch
import triton
import triton.language as tl
from simple import copy_kernel, elementwise


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(out + v, tl.full((BLOCK,), 1, tl.int64), mask=i < n)


def cheat(x):
    return elementwise(copy_kernel, torch.bincount(x, minlength=128))


def honest(x):
    x, out = x.contiguous(), torch.zeros(128, dtype=torch.int64)
    kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK=128)
    return out
