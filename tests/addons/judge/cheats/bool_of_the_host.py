"""positive: PyTorch compares, a kernel copies bools."""

import torch
from simple import copy_kernel, elementwise, positive_kernel


def cheat(x):
    return elementwise(copy_kernel, x > 0)


def honest(x):
    return elementwise(positive_kernel, x, dtype=torch.bool)
