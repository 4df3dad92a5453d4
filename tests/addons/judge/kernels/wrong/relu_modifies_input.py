"""input-modified: the result is right, and the input is gone."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.maximum(tl.load(x + i, mask=i < n), 0.0)
    tl.store(x + i, v, mask=i < n)
    tl.store(out + i, v, mask=i < n)


def relu(x):
    x = x if x.is_contiguous() else x.contiguous()
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK=128)
    return out
