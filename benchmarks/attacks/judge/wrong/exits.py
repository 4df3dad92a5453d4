"""The process ends early."""

import atexit
import os

from kernels import copy_kernel, over, softmax_of

_calls = [0]


def at_once(x):
    """Wrong: ends the process with exit code 0."""
    os._exit(0)


def after_calls(x):
    """Wrong: is right for five calls, then ends the process with exit code 0."""
    _calls[0] += 1
    if _calls[0] > 5:
        os._exit(0)
    return softmax_of(x)


def at_the_end(x):
    """Wrong: copies; at the end the process says that all went well."""
    atexit.register(os._exit, 0)
    return over(copy_kernel, x)
