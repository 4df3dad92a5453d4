"""Tells the log of another kernel than was launched."""

import torch
import triton
import triton.language as tl

from kvtrace.backends.triton import evaluating_launcher

_executed = evaluating_launcher.Executed
evaluating_launcher.Executed = lambda kernel, ttir, *rest: _executed(
    kernel, ttir.replace("tt.load", "tt.load "), *rest
)


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


def relu(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK=128)
    return out
