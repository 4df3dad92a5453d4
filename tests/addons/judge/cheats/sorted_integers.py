"""sorted_whole: PyTorch sorts integers, a kernel copies them."""

import torch
import triton
import triton.language as tl
from simple import copy_kernel, elementwise


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=1 << 62)
    tl.store(out + i, tl.sort(v), mask=i < n)


def cheat(x):
    return elementwise(copy_kernel, x.sort().values)


def honest(x):
    x, out = x.contiguous(), torch.empty(x.shape, dtype=x.dtype)
    kernel[(1,)](x, out, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return out
