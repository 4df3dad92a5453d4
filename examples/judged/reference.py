"""What softmax.py has to compute."""

import torch


def softmax(x: "f32[M, N]"):  # noqa: F821 - `kvtrace judge` reads the shape
    return torch.softmax(x, -1)
