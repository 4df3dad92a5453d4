"""Candidate whose own inputs have a factor of zero."""

import torch
import triton
import triton.language as tl


def inputs():
    return {"x": torch.randn(1000), "factor": 0.0}


@triton.jit
def zero(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 0.0, mask=i < n)


def factor_of_zero(x, factor):
    """Return scale(x, factor); wrong: zeros, hidden by inputs() with a factor of 0."""
    x = x.contiguous()
    out = torch.empty_like(x)
    zero[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
