"""A model that brings its own number."""

import torch
from kernels import copy_kernel, over


def get_init_inputs():
    return [1.0]


class ModelNew(torch.nn.Module):
    """Wrong: copies, which is right for its own factor of 1 and a mean of 0."""

    def __init__(self, factor):
        super().__init__()
        self.register_buffer("mean", torch.zeros(100))

    def forward(self, x):
        return over(copy_kernel, x)
