"""Builders of graph ops for NumPy functions, registered where they are defined.

A builder is a function with the NumPy function's signature that takes tensors, arrays and scalars,
appends ops through `kvtrace.hlo.primitives`, and returns tensors. To add one, write it in a file
under `families/`:

    @implements(np.square, methods=())
    def square(x: Any) -> Tensor:
        x = lift(x)
        return multiply(x, x)

`@operation` is for functions that NumPy lacks (`kvtrace.hlo.ops`). Nothing else is needed.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np

Builder = Callable[..., Any]
_B = TypeVar("_B", bound=Builder)

#: NumPy function or ufunc → builder.
FUNCTIONS: Final[dict[Any, Builder]] = {}

#: NumPy function, or name of a method → function that raises an error, with the reason.
REFUSED: Final[dict[Any, Builder]] = {}
REFUSED_METHODS: Final[dict[str, Builder]] = {}

#: Ufunc → builder of its `at`, of (tensor, index, value).
AT: Final[dict[Any, Builder]] = {}

#: Name of a tensor's method → builder whose first argument is the tensor.
METHODS: Final[dict[str, Builder]] = {}

#: Name in `kvtrace.hlo.ops` → builder.
OPERATIONS: Final[dict[str, Builder]] = {}


def implements(*functions: Any, methods: Sequence[str] = ()) -> Callable[[_B], _B]:
    """Return a decorator that registers a builder of NumPy functions and of tensors' methods.

    Methods have the same arguments as the functions. A function that only some versions of NumPy
    have is named as text, as `concat`.
    """

    def register(builder: _B) -> _B:
        for function_or_name in functions:
            function = (
                getattr(np, function_or_name, None)
                if isinstance(function_or_name, str)
                else function_or_name
            )
            if function is not None:
                FUNCTIONS[function] = builder
        for method in methods:
            METHODS[method] = builder
        return builder

    return register


def implements_each(functions: Mapping[Any, Any], builder: Builder) -> None:
    """Register a builder of several functions, which gets each one's value before the operands."""
    for function, value in functions.items():
        FUNCTIONS[function] = partial(builder, value)


def operation(*names: str) -> Callable[[_B], _B]:
    """Return a decorator that registers a builder in `kvtrace.hlo.ops`, by default by its name."""

    def register(builder: _B) -> _B:
        for name in names or (builder.__name__,):
            OPERATIONS[name] = builder
        return builder

    return register


def name_of(function: Any) -> str:
    """Return a function's full name, as `numpy.linalg.svd`."""
    if hasattr(function, "nin"):  # a ufunc, which has no module
        return f"numpy.{function.__name__}"
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", getattr(function, "__name__", repr(function)))
    return f"{module}.{name}" if module else str(name)
