"""Functions of tensors that NumPy lacks: `ops.softmax`, `ops.conv2d`, `ops.rms_norm`.

Inside of a traced function they append ops; outside, with arrays, they are traced and run at once.
The functions are registered with `@operation` in `families/`; NumPy's functions are available by
name as well.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as _np

from kvtrace.addons.graphs.hlo import families as _families
from kvtrace.addons.graphs.hlo.builders import FUNCTIONS as _FUNCTIONS
from kvtrace.addons.graphs.hlo.builders import OPERATIONS as _OPERATIONS
from kvtrace.addons.graphs.hlo.outside import usable_outside as _usable_outside

__all__ = ["_families"]


@cache
def __getattr__(name: str) -> Callable[..., Any]:
    numpy_function = None if name.startswith("__") else getattr(_np, name, None)
    builder = _OPERATIONS.get(name)
    if builder is None and callable(numpy_function):
        builder = _FUNCTIONS.get(numpy_function)
    if builder is None:
        names = ", ".join(sorted(_OPERATIONS))
        raise AttributeError(f"kvtrace.hlo.ops has no {name!r}; it has {names}")
    return _usable_outside(builder)


def __dir__() -> list[str]:
    return sorted(_OPERATIONS)
