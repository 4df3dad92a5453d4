"""transpose: A kernel copies, PyTorch transposes what it wrote."""

from simple import copy_kernel, elementwise, transposed


def cheat(x):
    return elementwise(copy_kernel, x).t().contiguous()


def honest(x):
    return transposed(x)
