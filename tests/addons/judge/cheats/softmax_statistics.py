"""softmax: PyTorch takes maxima and sums of rows, a kernel divides."""

import torch
import triton
import triton.language as tl
from simple import rowwise, softmax_kernel


@triton.jit
def kernel(x, top, total, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns)
    e = tl.exp(v - tl.load(top + row)) / tl.load(total + row)
    tl.store(out + row * columns + i, e, mask=i < columns)


def cheat(x):
    x, out = x.contiguous(), torch.empty(x.shape)
    top = x.amax(-1)
    total = (x - top[:, None]).exp().sum(-1)
    columns = x.shape[1]
    block = triton.next_power_of_2(columns)
    kernel[(x.shape[0],)](x, top, total, out, columns, BLOCK=block)
    return out


def honest(x):
    return rowwise(softmax_kernel, x)
