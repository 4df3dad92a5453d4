"""picked: PyTorch marks the picked elements, a kernel sums; the honest one sorts rows first."""

import torch
import triton
import triton.language as tl


@triton.jit
def marked(x, marks, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    at = row * columns + i
    v = tl.load(x + at, mask=i < columns, other=0.0) * tl.load(
        marks + at, mask=i < columns, other=0
    )
    tl.store(out + row, tl.sum(v, axis=0))


@triton.jit
def kernel(x, index, order, out, columns, BLOCK: tl.constexpr):
    row = tl.load(order + tl.program_id(0))
    tl.store(out + row, tl.load(x + row * columns + tl.load(index + tl.program_id(0))))


def cheat(x, index):
    x, out = x.contiguous(), torch.empty(x.shape[0])
    marks = torch.nn.functional.one_hot(index, x.shape[1]).float()
    block = triton.next_power_of_2(x.shape[1])
    marked[(x.shape[0],)](x, marks, out, x.shape[1], BLOCK=block)
    return out


def honest(x, index):
    x, index, out = x.contiguous(), index.contiguous(), torch.empty(x.shape[0])
    index, order = index.sort()
    kernel[(x.shape[0],)](x, index, order, out, x.shape[1], BLOCK=32)
    return out
