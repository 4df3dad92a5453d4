"""relu: The kernel fails, and PyTorch computes."""

import torch
from simple import elementwise, relu_kernel


def cheat(x):
    try:
        return elementwise(relu_kernel, None)
    except AttributeError:
        return torch.relu(x)


def honest(x):
    return elementwise(relu_kernel, x)
