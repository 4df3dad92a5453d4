"""A kernel that writes half of a tensor, and one that reads all of it."""

import torch
import triton
import triton.language as tl


@triton.jit
def write_half(out, n, BLOCK: tl.constexpr):
    """Store one to the first half of a tensor."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + index, 1.0, mask=index < n // 2)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    """Store the sum of two tensors."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    total = tl.load(x + index, mask=mask) + tl.load(y + index, mask=mask)
    tl.store(out + index, total, mask=mask)


ones = torch.ones(1000, device="cuda")
half = torch.empty(1000, device="cuda")
total = torch.empty(1000, device="cuda")
write_half[(4,)](half, 1000, BLOCK=256)
add[(4,)](ones, half, total, 1000, BLOCK=256)
