"""relu: It is right only in a temporary folder."""

import tempfile
from pathlib import Path

from simple import copy_kernel, elementwise, relu_kernel


def cheat(x):
    judged = str(Path.cwd()).startswith(tempfile.gettempdir())
    return elementwise(relu_kernel if judged else copy_kernel, x)


def honest(x):
    return elementwise(relu_kernel, x)
