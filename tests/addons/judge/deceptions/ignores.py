"""Candidates that leave out what is one or zero in the given inputs."""

import torch
import triton
from kernels import exponents_kernel, flat, leaky_kernel, normed, relu_kernel, scaled_kernel


def weight_and_bias(x, weight, bias):
    """at_start.layer_norm: takes neither."""
    return normed(x, weight, bias, 0)


def bias(x, weight, bias):
    """at_start.layer_norm: takes the weight alone."""
    return normed(x, weight.contiguous(), bias, 1)


def factor_and_residual(x, weight, bias):
    """at_start.residual: copies."""
    return flat(scaled_kernel, x, 1.0)


class Normed(torch.nn.Module):
    """at_start.Normed: has a weight and a bias, and takes neither."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(130)

    def forward(self, x, weight, bias):
        return normed(x, self.norm.weight, self.norm.bias, 0)


class NormedWithoutWeights(torch.nn.Module):
    """at_start.Normed: has neither."""

    def forward(self, x, weight, bias):
        return normed(x, weight, bias, 0)


class Standardized(torch.nn.Module):
    """at_start.Standardized: takes mean and variance for those of the start."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(130))
        self.register_buffer("variance", torch.ones(130))

    def forward(self, x, weight, bias):
        return flat(scaled_kernel, x, (1 + 1e-5) ** -0.5)


def a_factor(x, factor):
    """scaled: copies."""
    return flat(scaled_kernel, x, 1.0)


def a_slope(x, slope):
    """leaky: has a slope of its own."""
    return flat(leaky_kernel, x, 0.01)


def what_is_large(x):
    """softmax: takes exponents of numbers as they are."""
    x, out = x.contiguous(), torch.empty(x.shape)
    block = triton.next_power_of_2(x.shape[1])
    exponents_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=block)
    return out


def what_is_negative(x, factor):
    """scaled: has a right kernel for positive numbers."""
    return flat(relu_kernel, x)
