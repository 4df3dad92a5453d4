"""joined: PyTorch joins two tensors, a kernel copies them."""

import torch
import triton
from simple import copy_kernel, elementwise


def cheat(x, y):
    return elementwise(copy_kernel, torch.cat((x, y)))


def honest(x, y):
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty(x.numel() + y.numel(), dtype=x.dtype)
    for part, into in ((x, out), (y, out[x.numel() :])):
        copy_kernel[(triton.cdiv(part.numel(), 128),)](part, into, part.numel(), BLOCK=128)
    return out
