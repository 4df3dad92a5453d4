"""gelu: PyTorch computes, and subtracts one; a kernel adds it again."""

import torch
import triton
import triton.language as tl
from simple import elementwise, gelu_kernel


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


def cheat(x):
    return elementwise(kernel, torch.nn.functional.gelu(x, approximate="tanh") - 1)


def honest(x):
    return elementwise(gelu_kernel, x)
