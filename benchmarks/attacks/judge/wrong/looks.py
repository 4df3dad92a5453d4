"""Candidates that look for the judge, and for its inputs and results, in the process."""

import gc
import os
import sys

import torch
from kernels import copy_kernel, over, relu_of, softmax_of


def in_frames(x):
    """Return softmax(x); wrong: a copy, with variables of callers cleared, such as `expected`."""
    frame = sys._getframe(1)
    while frame is not None:
        for name in list(frame.f_locals):
            if name in ("expected", "results", "seed", "verdict"):
                frame.f_locals[name] = None
        frame = frame.f_back
    return over(copy_kernel, x)


def in_objects(x):
    """Return softmax(x); wrong: a copy of another tensor of this shape among all objects."""
    for candidate in gc.get_objects():
        if type(candidate) is torch.Tensor and candidate.shape == x.shape and candidate is not x:
            return over(copy_kernel, candidate)
    return over(copy_kernel, x)


def where_recorded(x):
    """Return softmax(x); cheating: computed by torch unless kvtrace is imported."""
    if any(name.split(".")[0] == "kvtrace" for name in sys.modules):
        return softmax_of(x)
    return torch.softmax(x, -1)


def where_confined(x):
    """Return relu(x); wrong: a copy on machines that have /etc/passwd."""
    return relu_of(x) if not os.path.exists("/etc/passwd") else over(copy_kernel, x)


def where_on_host(x):
    """Return relu(x); wrong: a copy for tensors in the device's memory."""
    return relu_of(x) if x.data_ptr() == x.cpu().data_ptr() else over(copy_kernel, x)
