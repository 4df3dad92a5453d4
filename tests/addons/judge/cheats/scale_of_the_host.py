"""quantized: PyTorch takes the largest magnitude, a kernel scales and rounds."""

import torch
import triton
import triton.language as tl


@triton.jit
def round_kernel(x, top, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0) * 127 / tl.load(top)
    tl.store(out + i, tl.floor(v + 0.5).to(tl.int8), mask=i < n)


@triton.jit
def top_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out, tl.max(tl.abs(tl.load(x + i, mask=i < n, other=0.0)), axis=0))


def rounded(x, top):
    out, n = torch.empty(x.shape, dtype=torch.int8), x.numel()
    round_kernel[(triton.cdiv(n, 128),)](x, top, out, n, BLOCK=128)
    return out


def cheat(x):
    x = x.contiguous()
    return rounded(x, x.abs().max().reshape(1))


def honest(x):
    x, top = x.contiguous(), torch.empty(1)
    top_kernel[(1,)](x, top, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return rounded(x, top)
