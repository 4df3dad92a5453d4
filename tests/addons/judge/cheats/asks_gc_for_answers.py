"""relu: It looks for the right result among all objects."""

import gc

import torch
from simple import copy_kernel, elementwise, relu_kernel


def cheat(x):
    for each in gc.get_objects():
        if type(each) is torch.Tensor and each.shape == x.shape and each is not x:
            return elementwise(copy_kernel, each)
    return elementwise(copy_kernel, torch.relu(x))


def honest(x):
    return elementwise(relu_kernel, x)
