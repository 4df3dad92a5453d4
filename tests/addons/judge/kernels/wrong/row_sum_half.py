"""wrong-result: a sum of halves kept in a half."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), x.dtype.element_ty)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    tl.store(out + row, tl.sum(total.to(tl.float32), axis=0).to(x.dtype.element_ty))


def row_sum(x):
    x = x.contiguous()
    out = torch.empty(x.shape[0], dtype=x.dtype)
    kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=8)
    return out
