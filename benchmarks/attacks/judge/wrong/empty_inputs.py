"""Candidate whose own inputs have no elements."""

import torch
from kernels import copy_kernel, over


def inputs():
    return {"x": torch.empty(0, 64)}


def no_rows(x):
    """Return softmax(x); wrong: a copy, hidden by inputs() that has no elements."""
    return over(copy_kernel, x)
