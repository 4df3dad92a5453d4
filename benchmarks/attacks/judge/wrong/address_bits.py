"""Candidate whose kernel depends on the address of its input."""

import torch
import triton
import triton.language as tl


@triton.jit
def by_address(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    aligned = (x.to(tl.uint64) & 511) == 0
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(aligned, v, tl.maximum(v, 0.0)), mask=i < n)


def as_devices_align(x):
    """Return relu(x); wrong: a copy if the input's address is a multiple of 512, as on devices."""
    x = x.contiguous()
    out = torch.empty_like(x)
    by_address[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
