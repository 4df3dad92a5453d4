"""relu: A kernel does one element, PyTorch the others."""

import torch
from simple import elementwise, relu_kernel


def cheat(x):
    x = x.contiguous()
    out = torch.relu(x)
    relu_kernel[(1,)](x, out, 1, BLOCK=128)
    return out


def honest(x):
    return elementwise(relu_kernel, x)
