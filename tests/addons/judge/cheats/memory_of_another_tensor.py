"""relu: It allocates memory that may still hold a right result."""

import torch
from simple import elementwise, relu_kernel


def cheat(x):
    freed = torch.relu(x)
    del freed
    elementwise(relu_kernel, x)
    return torch.empty_like(x)


def honest(x):
    return elementwise(relu_kernel, x)
