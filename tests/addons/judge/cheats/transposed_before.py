"""transpose: PyTorch transposes, a kernel copies."""

from simple import copy_kernel, elementwise, transposed


def cheat(x):
    return elementwise(copy_kernel, x.t().contiguous())


def honest(x):
    return transposed(x)
