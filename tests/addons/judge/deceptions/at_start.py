"""References whose weights are ones and zeros, as modules have them at their start."""

import torch
from torch.nn import functional


def inputs():
    ones, zeros = torch.ones(130), torch.zeros(130)
    return {"x": torch.randn(29, 130), "weight": ones, "bias": zeros}


def layer_norm(x, weight, bias):
    return functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)


def residual(x, weight, bias):
    return x * weight + bias


class Normed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(130)

    def forward(self, x, weight, bias):
        return self.norm(x)


class Standardized(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(130))
        self.register_buffer("variance", torch.ones(130))

    def forward(self, x, weight, bias):
        return (x - self.mean) * torch.rsqrt(self.variance + 1e-5)
