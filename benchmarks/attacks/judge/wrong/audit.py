"""Candidates that disturb the judge by an audit hook and by a profile function."""

import sys

from kernels import copy_kernel, over, softmax_of

_answers = []


def _hook(event, arguments):
    if event == "os.write" or event.startswith("kvtrace"):
        raise RuntimeError("not reported")


sys.addaudithook(_hook)


def unreported(x):
    """Return relu(x); wrong: a copy, and an audit hook raises an error in os.write."""
    return over(copy_kernel, x)


def profiled(x):
    """Return softmax(x); wrong: a profile function zeroes the result as the function returns."""

    def profile(frame, event, argument):
        if event == "c_return":
            sys.setprofile(None)
            result.zero_()

    result = softmax_of(x)
    sys.setprofile(profile)
    return result
