"""Candidate whose results depend on the time since its import."""

import time

import torch
from kernels import relu_of

_begun = time.monotonic()


def after_three_seconds(x):
    """Return relu(x); wrong: zeros from three seconds after the import on."""
    result = relu_of(x)
    return result if time.monotonic() - _begun < 3 else torch.zeros_like(result)
