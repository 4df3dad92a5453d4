"""Candidates that look for the judge, its inputs and results."""

import gc
import os
import sys

import torch
from kernels import copy_kernel, over, relu_of, softmax_of


def in_frames(x):
    """Wrong: copies, and clears what the frames above know of results."""
    frame = sys._getframe(1)
    while frame is not None:
        for name in list(frame.f_locals):
            if name in ("expected", "results", "seed", "verdict"):
                frame.f_locals[name] = None
        frame = frame.f_back
    return over(copy_kernel, x)


def in_objects(x):
    """Wrong: looks for tensors of the same shape among all objects."""
    for one in gc.get_objects():
        if type(one) is torch.Tensor and one.shape == x.shape and one is not x:
            return over(copy_kernel, one)
    return over(copy_kernel, x)


def where_recorded(x):
    """Cheating: launches kernels where kvtrace is loaded; elsewhere torch computes."""
    if any(name.split(".")[0] == "kvtrace" for name in sys.modules):
        return softmax_of(x)
    return torch.softmax(x, -1)


def where_confined(x):
    """Wrong: is right where there is no /etc/passwd; copies elsewhere."""
    return relu_of(x) if not os.path.exists("/etc/passwd") else over(copy_kernel, x)


def where_on_host(x):
    """Wrong: is right for tensors in the host's memory; copies elsewhere."""
    return relu_of(x) if x.data_ptr() == x.cpu().data_ptr() else over(copy_kernel, x)
