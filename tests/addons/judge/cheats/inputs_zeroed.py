"""relu: It zeroes its input, and returns zeros."""

from simple import copy_kernel, elementwise, relu_kernel


def cheat(x):
    x.zero_()
    return elementwise(copy_kernel, x)


def honest(x):
    return elementwise(relu_kernel, x)
