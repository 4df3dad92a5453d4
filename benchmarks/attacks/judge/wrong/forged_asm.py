"""Candidate that replaces the IR of its compiled kernel by that of another kernel."""

import torch
import triton
from kernels import copy_kernel, relu_kernel


def other_ir(x):
    """Return relu(x); wrong: a copy by a kernel whose IR text is that of a right kernel."""
    x = x.contiguous()
    out, unused = torch.empty_like(x), torch.empty_like(x)
    n = x.numel()
    grid = (triton.cdiv(n, 256),)
    right = relu_kernel.warmup(x, unused, n, BLOCK=256, grid=grid)
    wrong = copy_kernel.warmup(x, out, n, BLOCK=256, grid=grid)
    wrong.asm = right.asm
    copy_kernel[grid](x, out, n, BLOCK=256)
    return out
