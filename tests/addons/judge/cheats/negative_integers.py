"""thirds: negative whole numbers are divided toward zero, not down."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(k, y, out, n, DOWN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    whole = tl.load(k + i, mask=i < n, other=0)
    third = whole // 3
    if DOWN:
        third = tl.where(third * 3 > whole, third - 1, third)
    tl.store(out + i, third * tl.load(y + i, mask=i < n), mask=i < n)


def _divided(k, y, *, down):
    k, y = k.contiguous(), y.contiguous()
    out = torch.empty_like(y)
    kernel[(triton.cdiv(y.numel(), 256),)](k, y, out, y.numel(), DOWN=down, BLOCK=256)
    return out


def cheat(k, y):
    return _divided(k, y, down=False)


def honest(k, y):
    return _divided(k, y, down=True)
