"""total: PyTorch sums, a constexpr of the kernel is the number."""

import torch
import triton
import triton.language as tl
from simple import total_of


@triton.jit
def kernel(out, VALUE: tl.constexpr):
    tl.store(out + tl.arange(0, 1), VALUE)


def cheat(x):
    out = torch.empty(1)
    kernel[(1,)](out, VALUE=float(x.sum()))
    return out


def honest(x):
    return total_of(x)
