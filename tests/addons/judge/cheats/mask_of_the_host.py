"""relu: PyTorch says where x is positive, a kernel multiplies."""

import torch
import triton
import triton.language as tl
from simple import elementwise, relu_kernel


@triton.jit
def kernel(x, keep, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * tl.load(keep + i, mask=i < n), mask=i < n)


def cheat(x):
    return elementwise(kernel, x, (x > 0).to(torch.int8))


def honest(x):
    return elementwise(relu_kernel, x)
