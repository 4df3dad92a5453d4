"""Candidate whose own inputs are NaN."""

import torch
from kernels import copy_kernel, over


def inputs():
    return {"x": torch.full((16, 256), float("nan"))}


def all_nan(x):
    """Return softmax(x); wrong: a copy, hidden by inputs() that are NaN."""
    return over(copy_kernel, x)
