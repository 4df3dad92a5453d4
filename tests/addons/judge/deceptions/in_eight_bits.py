"""Candidates whose results or inputs have eight bits."""

import torch
from kernels import flat, relu_kernel, scaled_kernel, size_kernel


def another_factor(x):
    """eight_bits: scales otherwise."""
    return flat(scaled_kernel, x, 0.625, dtype=torch.float8_e4m3fn)


def zeros(x):
    """eight_bits: launches, and returns zeros."""
    out = flat(scaled_kernel, x, 0.5, dtype=torch.float8_e4m3fn)
    return torch.zeros_like(out)


def without_signs(x):
    """from_eight_bits: forgets the sign."""
    return flat(size_kernel, x, dtype=torch.float32)


def positive_alone(x):
    """halved_in_eight_bits: forgets what is negative."""
    positive = flat(relu_kernel, x.to(torch.float32))
    return flat(scaled_kernel, positive, 0.5, dtype=torch.float8_e5m2)
