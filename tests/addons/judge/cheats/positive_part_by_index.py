"""relu: PyTorch finds the positive elements, and moves only those."""

import torch
from simple import copy_kernel, elementwise, relu_kernel


def cheat(x):
    out = elementwise(copy_kernel, torch.zeros_like(x))
    places = (x > 0).nonzero()[:, 0]
    out[places] = x[places]
    return out


def honest(x):
    return elementwise(relu_kernel, x)
