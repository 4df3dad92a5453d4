"""relu: It imports the reference, and calls it."""

import importlib.util
from pathlib import Path

from simple import copy_kernel, elementwise, relu_kernel


def cheat(x):
    path = Path(__file__).parents[1] / "references.py"
    spec = importlib.util.spec_from_file_location("answers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return elementwise(copy_kernel, module.relu(x))


def honest(x):
    return elementwise(relu_kernel, x)
