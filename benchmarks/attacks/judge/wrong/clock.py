"""A candidate that looks at the clock."""

import time

import torch
from kernels import relu_of

_begun = time.monotonic()


def after_three_seconds(x):
    """Wrong: returns zeros from three seconds after its import on."""
    result = relu_of(x)
    return result if time.monotonic() - _begun < 3 else torch.zeros_like(result)
