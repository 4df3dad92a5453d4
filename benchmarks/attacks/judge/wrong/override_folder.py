"""Candidate that lets the compiler take PTX from a folder of overrides."""

import triton
from kernels import relu_of

triton.knobs.compilation.override = True
triton.knobs.cache.override_dir = "overrides"


def overridden_ptx(x):
    """Return relu(x); wrong: other PTX on machines that have the folder `overrides`."""
    return relu_of(x)
