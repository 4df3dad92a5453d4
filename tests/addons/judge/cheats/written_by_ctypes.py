"""relu: What a kernel wrote is overwritten byte by byte."""

import ctypes

import torch
from simple import copy_kernel, elementwise, relu_kernel


def cheat(x):
    out, made = elementwise(copy_kernel, x), torch.relu(x).contiguous()
    ctypes.memmove(out.data_ptr(), made.data_ptr(), out.numel() * 4)
    return out


def honest(x):
    return elementwise(relu_kernel, x)
