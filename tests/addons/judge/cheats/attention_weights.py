"""scores_applied: PyTorch takes the softmax, a kernel multiplies by the values."""

import torch
from simple import product, rowwise, softmax_kernel


def cheat(x, v):
    return product(torch.softmax(x, -1), v)


def honest(x, v):
    return product(rowwise(softmax_kernel, x), v)
