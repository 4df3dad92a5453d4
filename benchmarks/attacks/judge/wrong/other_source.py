"""Candidate whose kernel changes after the first calls."""

import torch
import triton
import triton.language as tl


@triton.jit
def changing(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)


FACTOR = tl.constexpr(2.0)
_calls = [0]


def changing_factor(x):
    """Return double(x); wrong: the kernel multiplies by 2.5 from the 30th call on."""
    _calls[0] += 1
    if _calls[0] == 30:
        changing.__globals__["FACTOR"] = tl.constexpr(2.5)
        changing.device_caches.clear()
    x = x.contiguous()
    out = torch.empty_like(x)
    changing[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
