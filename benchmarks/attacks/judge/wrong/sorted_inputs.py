"""Candidate whose own inputs are sorted already."""

import torch
from kernels import copy_kernel, over


def inputs():
    return {"x": torch.linspace(-3, 3, 256).expand(16, 256).contiguous()}


def sorted_before(x):
    """Return sort(x); wrong: a copy, hidden by inputs() that are sorted."""
    return over(copy_kernel, x)
