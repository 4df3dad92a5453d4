"""Candidate that replaces PyTorch's own functions."""

import torch
from kernels import copy_kernel, over

torch.softmax = lambda x, dim=-1: x.clone()
torch.nn.functional.softmax = torch.softmax
torch.allclose = lambda *_, **__: True


def copied(x):
    """Return softmax(x); wrong: a copy, and torch.softmax and torch.allclose are replaced."""
    return over(copy_kernel, x)
