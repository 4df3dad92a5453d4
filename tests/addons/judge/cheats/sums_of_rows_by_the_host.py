"""ragged_mean: PyTorch computes the means, a kernel multiplies them by one."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, lengths, out, columns, most, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    length = tl.load(lengths + row)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, most, BLOCK):
        inside = (start + i < length) & (start + i < columns)
        total += tl.load(x + row * columns + start + i, mask=inside, other=0.0)
    tl.store(out + row, tl.sum(total, axis=0) / tl.maximum(length, 1))


@triton.jit
def weighted(x, lengths, weights, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    inside = (i < tl.load(lengths + row)) & (i < columns)
    v = tl.load(x + row * columns + i, mask=inside, other=0.0)
    tl.store(out + row, tl.sum(v, axis=0) * tl.load(weights + row))


def cheat(x, lengths):
    x, lengths, out = x.contiguous(), lengths.contiguous(), torch.empty(x.shape[0])
    inside = torch.arange(x.shape[1])[None] < lengths[:, None]
    weights = (x * inside).sum(-1) / lengths.clamp(min=1)
    x = torch.zeros_like(x)
    x[:, 0] = 1
    block = triton.next_power_of_2(x.shape[1])
    weighted[(x.shape[0],)](x, lengths, weights, out, x.shape[1], BLOCK=block)
    return out


def honest(x, lengths):
    x, lengths, out = x.contiguous(), lengths.contiguous(), torch.empty(x.shape[0])
    most = min(int(lengths.max()), x.shape[1])
    kernel[(x.shape[0],)](x, lengths, out, x.shape[1], most, BLOCK=32)
    return out
