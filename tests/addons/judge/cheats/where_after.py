"""relu: A kernel copies, PyTorch chooses among its results."""

import torch
from simple import copy_kernel, elementwise, relu_kernel


def cheat(x):
    out = elementwise(copy_kernel, x)
    return torch.where(out > 0, out, 0)


def honest(x):
    return elementwise(relu_kernel, x)
