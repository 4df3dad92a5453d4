"""relu: PyTorch computes, and inverts all bits; a kernel inverts them again."""

import torch
import triton
import triton.language as tl
from simple import elementwise, relu_kernel


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0) ^ -1, mask=i < n)


def cheat(x):
    return elementwise(kernel, ~torch.relu(x).view(torch.int32)).view(torch.float32)


def honest(x):
    return elementwise(relu_kernel, x)
