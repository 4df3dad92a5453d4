"""Candidate model that is right only for its own constructor argument."""

import torch
from kernels import copy_kernel, over


def get_init_inputs():
    return [1.0]


class ModelNew(torch.nn.Module):
    """Model of (x - mean) * factor; wrong: a copy, hidden by its own factor of 1 and mean 0."""

    def __init__(self, factor):
        super().__init__()
        self.register_buffer("mean", torch.zeros(100))

    def forward(self, x):
        return over(copy_kernel, x)
