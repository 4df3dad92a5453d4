"""A matrix turned, block by block."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, rows, columns, row_step, column_step, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (r[:, None] < rows) & (c[None, :] < columns)
    block = tl.load(x + r[:, None] * row_step + c[None, :] * column_step, mask=inside)
    there = (c[:, None] < columns) & (r[None, :] < rows)
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(block), mask=there)


def transpose(x):
    rows, columns = x.shape
    out = torch.empty((columns, rows), dtype=x.dtype)
    kernel[(triton.cdiv(rows, 32), triton.cdiv(columns, 32))](
        x, out, rows, columns, *x.stride(), BLOCK=32
    )
    return out
