"""total: The sum is the backward of an expansion."""

import torch
from simple import copy_kernel, elementwise, total_of


def cheat(x):
    with torch.enable_grad():
        one = torch.ones(1, requires_grad=True)
        (one * x.reshape(-1)).sum().backward()
    return elementwise(copy_kernel, one.grad)


def honest(x):
    return total_of(x)
