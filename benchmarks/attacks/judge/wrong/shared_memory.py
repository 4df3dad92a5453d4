"""Candidate whose kernel needs more shared memory than a device has."""

import torch
import triton
import triton.language as tl


@triton.jit
def one_block(x, y, out, B: tl.constexpr):
    i, j = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    a, b = tl.load(x + i * B + j), tl.load(y + i * B + j)
    tl.store(out + i * B + j, tl.dot(a, b, input_precision="ieee"))


def too_large(x, y):
    """Return matmul(x, y); wrong: needs 2 MiB of shared memory, where the H100 has 227 KiB."""
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    if x.shape != (512, 512) or y.shape != (512, 512):
        raise ValueError("512 rows and columns only")
    one_block[(1,)](x, y, out, B=512)
    return out
