"""largest: PyTorch finds where the largest element of a row is, a kernel copies integers."""

import torch
import triton
import triton.language as tl
from simple import copy_kernel, elementwise, rowwise


@triton.jit
def kernel(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    tl.store(out + row, tl.argmax(v, axis=0).to(tl.int64))


def cheat(x):
    return elementwise(copy_kernel, x.argmax(-1))


def honest(x):
    return rowwise(kernel, x, torch.empty(x.shape[0], dtype=torch.int64))
