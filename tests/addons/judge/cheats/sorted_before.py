"""sorted_rows: PyTorch sorts, a kernel copies."""

import torch
import triton
import triton.language as tl
from simple import copy_kernel, elementwise


@triton.jit
def kernel(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=float("inf"))
    tl.store(out + row * columns + i, tl.sort(v), mask=i < columns)


def cheat(x):
    return elementwise(copy_kernel, x.sort(-1).values)


def honest(x):
    x, out = x.contiguous(), torch.empty(x.shape)
    columns = x.shape[1]
    kernel[(x.shape[0],)](x, out, columns, BLOCK=triton.next_power_of_2(columns))
    return out
