"""total: PyTorch sums, a kernel stores the number."""

import torch
import triton
import triton.language as tl
from simple import total_of


@triton.jit
def fill_kernel(out, value, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, 1), value)


def cheat(x):
    out = torch.empty(1)
    fill_kernel[(1,)](out, x.sum().item(), BLOCK=1)
    return out


def honest(x):
    return total_of(x)
