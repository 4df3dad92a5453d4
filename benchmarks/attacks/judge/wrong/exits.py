"""Candidates that end the process early."""

import atexit
import os

from kernels import copy_kernel, over, softmax_of

_calls = [0]


def at_once(x):
    """Return relu(x); wrong: ends the process with exit code 0 instead."""
    os._exit(0)


def after_calls(x):
    """Return softmax(x); wrong: ends the process with exit code 0 in the sixth call."""
    _calls[0] += 1
    if _calls[0] > 5:
        os._exit(0)
    return softmax_of(x)


def at_the_end(x):
    """Return softmax(x); wrong: a copy, and the process ends with exit code 0."""
    atexit.register(os._exit, 0)
    return over(copy_kernel, x)
