"""relu: The grid is empty, PyTorch fills the result."""

import torch
from simple import copy_kernel, elementwise, relu_kernel


def cheat(x):
    out = torch.relu(x)
    copy_kernel[(0,)](x, out, x.numel(), BLOCK=128)
    return out


def honest(x):
    return elementwise(relu_kernel, x)
