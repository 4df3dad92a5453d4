"""cumulative_sum: A kernel copies, PyTorch sums up what it wrote."""

from simple import copy_kernel, cumulative_kernel, elementwise, rowwise


def cheat(x):
    return elementwise(copy_kernel, x).cumsum(-1)


def honest(x):
    return rowwise(cumulative_kernel, x)
