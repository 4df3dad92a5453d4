"""PyTorch moves elements before a launch, between two and after them, and computes nothing."""

import torch
import triton
import triton.language as tl
from torch.nn import functional


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def double(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


def moved(x, y, index, twice=double):
    both = torch.stack((torch.cat((x, y)), torch.cat((y, x)).flip(0)))
    padded = functional.pad(both, (1, 2), value=1.5).half().float()
    rolled = padded.roll(3, -1).tril(40).repeat(1, 1, 2)
    buffer = torch.full((x.shape[0] + 1, rolled.shape[-1]), 0.25)
    buffer[:-1] = rolled[0, : x.shape[0]]
    buffer[-1:].zero_()
    buffer[-1, :2].fill_(3)
    first = twice(buffer)
    picked = first[index].index_select(0, index.flip(0))
    picked[index] = x[:, :1].expand(-1, picked.shape[1])
    second = twice(torch.gather(picked, 1, index[:, None]))
    return second.t().contiguous(), functional.embedding(index, first), twice(picked).to(torch.half)


def reference(x: "f32[M, N]", y: "f32[M, N]", index: "i64[M]"):  # noqa: F821
    return moved(x, y, index, lambda tensor: tensor * 2)
