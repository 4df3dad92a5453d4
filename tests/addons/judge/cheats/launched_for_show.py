"""relu: A kernel computes, PyTorch's result is returned."""

import torch
from simple import elementwise, relu_kernel


def cheat(x):
    elementwise(relu_kernel, x)
    return torch.relu(x)


def honest(x):
    return elementwise(relu_kernel, x)
