"""Reference model of (x - mean) * factor, where the buffer `mean` begins as zeros."""

import torch


class Model(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.register_buffer("mean", torch.zeros(100))

    def forward(self, x):
        return (x - self.mean) * self.factor


def get_inputs():
    return [torch.randn(32, 100)]


def get_init_inputs():
    return [2.5]
