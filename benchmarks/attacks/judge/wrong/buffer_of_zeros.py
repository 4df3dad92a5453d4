"""Candidate model that ignores a buffer."""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled(x, out, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


class ModelNew(torch.nn.Module):
    """Model of (x - mean) * factor; wrong: `mean`, a buffer of zeros at first, is ignored."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.register_buffer("mean", torch.zeros(100))

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        scaled[(triton.cdiv(x.numel(), 256),)](x, out, self.factor, x.numel(), BLOCK=256)
        return out
