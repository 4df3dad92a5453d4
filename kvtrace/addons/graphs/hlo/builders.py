"""What each NumPy function becomes: one dictionary, filled where the builders are written.

A builder is a function with the NumPy function's signature that takes tensors, arrays and scalars,
appends ops through `kvtrace.hlo.primitives`, and returns tensors. To add one, write it in a file
under `families/`:

    @implements(np.square, methods=())
    def square(x: Any) -> Tensor:
        x = lift(x)
        return multiply(x, x)

`@operation` is for what NumPy lacks (`kvtrace.hlo.ops`). Both are complete with that one function.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np

Builder = Callable[..., Any]
_B = TypeVar("_B", bound=Builder)

#: NumPy function or ufunc → builder.
FUNCTIONS: Final[dict[Any, Builder]] = {}

#: NumPy function, or name of a method → what says why a graph cannot have it.
REFUSED: Final[dict[Any, Builder]] = {}
REFUSED_METHODS: Final[dict[str, Builder]] = {}

#: Ufunc → builder of its `reduce`, and of its `accumulate`, each of (array, axis, …).
REDUCTIONS: Final[dict[Any, Builder]] = {}
ACCUMULATIONS: Final[dict[Any, Builder]] = {}

#: Ufunc → builder of its `at`, of (tensor, index, value).
AT: Final[dict[Any, Builder]] = {}

#: Name of a tensor's method → builder whose first argument is the tensor.
METHODS: Final[dict[str, Builder]] = {}

#: Name in `kvtrace.hlo.ops` → builder.
OPERATIONS: Final[dict[str, Builder]] = {}


def implements(
    *functions: Any,
    methods: Sequence[str] = (),
    reduces: Any = None,
    accumulates: Any = None,
) -> Callable[[_B], _B]:
    """Register the builder of NumPy functions, and of tensors' methods with the same arguments.

    A function that not every version of NumPy has is given by its name, as `linalg.vector_norm`.
    """

    def register(builder: _B) -> _B:
        for given in functions:
            function = _named(given) if isinstance(given, str) else given
            if function is not None:
                FUNCTIONS[function] = builder
        for method in methods:
            METHODS[method] = builder
        if reduces is not None:
            REDUCTIONS[reduces] = builder
        if accumulates is not None:
            ACCUMULATIONS[accumulates] = builder
        return builder

    return register


def _named(name: str) -> Any:
    """A function of NumPy's, None where this version has none of that name."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def operation(*names: str) -> Callable[[_B], _B]:
    """Register a builder under names in `kvtrace.hlo.ops`; without, under its own."""

    def register(builder: _B) -> _B:
        for name in names or (builder.__name__,):
            OPERATIONS[name] = builder
        return builder

    return register


def name_of(function: Any) -> str:
    """A function's name for people: `numpy.linalg.svd`."""
    if hasattr(function, "nin"):  # a ufunc, which has no module
        return f"numpy.{function.__name__}"
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", getattr(function, "__name__", repr(function)))
    return f"{module}.{name}" if module else str(name)
