"""total: PyTorch sums into a tensor of one element, a kernel copies it."""

from simple import copy_kernel, elementwise, total_of


def cheat(x):
    return elementwise(copy_kernel, x.sum().reshape(1))


def honest(x):
    return total_of(x)
