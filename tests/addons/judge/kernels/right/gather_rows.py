"""Rows picked by indices."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(table, index, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    picked = tl.load(index + row)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(
            out + row * columns + i, tl.load(table + picked * columns + i, mask=i < columns),
            mask=i < columns,
        )  # fmt: skip


def gather_rows(table, index):
    table, index = table.contiguous(), index.contiguous()
    out = torch.empty((index.shape[0], table.shape[1]), dtype=table.dtype)
    kernel[(index.shape[0],)](table, index, out, table.shape[1], BLOCK=64)
    return out
