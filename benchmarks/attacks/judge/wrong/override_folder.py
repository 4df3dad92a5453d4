"""The compiler's folder of overrides, which replaces PTX alone."""

import triton
from kernels import relu_of

triton.knobs.compilation.override = True
triton.knobs.cache.override_dir = "overrides"


def overridden_ptx(x):
    """Wrong: on a machine with the folder beside it, the compiler takes another PTX."""
    return relu_of(x)
