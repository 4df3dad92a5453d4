"""relu: The kernel is compiled with the signs of all elements."""

import torch
from simple import copy_kernel, elementwise, relu_kernel


def cheat(x):
    x, out = x.contiguous(), torch.zeros(x.shape)
    for at in (x > 0).nonzero()[:, 0].tolist()[:400]:
        copy_kernel[(1,)](x[at:], out[at:], 1, BLOCK=16)
    return out


def honest(x):
    return elementwise(relu_kernel, x)
