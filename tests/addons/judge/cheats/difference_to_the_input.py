"""gelu: PyTorch says what to add to the input, a kernel adds."""

import torch
from simple import add_kernel, elementwise, gelu_kernel


def cheat(x):
    return elementwise(add_kernel, x, torch.nn.functional.gelu(x, approximate="tanh") - x)


def honest(x):
    return elementwise(gelu_kernel, x)
