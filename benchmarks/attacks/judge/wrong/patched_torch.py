"""PyTorch's own functions are replaced."""

import torch
from kernels import copy_kernel, over

torch.softmax = lambda x, dim=-1: x.clone()
torch.nn.functional.softmax = torch.softmax
torch.allclose = lambda *_, **__: True


def copied(x):
    """Wrong: copies, and replaces torch.softmax and torch.allclose."""
    return over(copy_kernel, x)
