"""matmul: PyTorch multiplies, a kernel adds zeros."""

import torch
from simple import add_kernel, elementwise, product


def cheat(a, b):
    made = a @ b
    return elementwise(add_kernel, made, torch.zeros_like(made))


def honest(a, b):
    return elementwise(add_kernel, product(a, b), torch.zeros(a.shape[0], b.shape[1]))
