"""Candidate whose own inputs have a diagonal matrix as second factor."""

import torch
import triton
import triton.language as tl


def inputs():
    return {"x": torch.randn(32, 32), "y": torch.eye(32)}


@triton.jit
def by_diagonal(x, y, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n)
    d = tl.load(y + i * n + i, mask=i < n)
    tl.store(out + row * n + i, v * d, mask=i < n)


def diagonal_product(x, y):
    """Return matmul(x, y); wrong: only y's diagonal is used, hidden by a diagonal in inputs()."""
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    n = x.shape[1]
    by_diagonal[(x.shape[0],)](x, y, out, n, BLOCK=triton.next_power_of_2(n))
    return out
