"""An activation, with tanh by exp."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    inner = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    tanh = 2 / (1 + tl.exp(-2 * inner)) - 1
    tl.store(out + i, 0.5 * v * (1 + tanh), mask=i < n)


def gelu(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
