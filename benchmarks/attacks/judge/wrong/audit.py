"""An audit hook and a profile function."""

import sys

from kernels import copy_kernel, over, softmax_of

_answers = []


def _hook(event, arguments):
    if event == "os.write" or event.startswith("kvtrace"):
        raise RuntimeError("not reported")


sys.addaudithook(_hook)


def unreported(x):
    """Wrong: copies, and an audit hook stops what is reported."""
    return over(copy_kernel, x)


def profiled(x):
    """Wrong: a profile function zeroes the result as the function returns."""

    def profile(frame, event, argument):
        if event == "c_return":
            sys.setprofile(None)
            result.zero_()

    result = softmax_of(x)
    sys.setprofile(profile)
    return result
