"""Shapes, types and predicates that are answered while tracing, and whole-tensor comparisons."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import axis_of
from kvtrace.addons.graphs.hlo.builders import REFUSED, REFUSED_METHODS, implements, name_of
from kvtrace.addons.graphs.hlo.errors import DataDependent
from kvtrace.addons.graphs.hlo.primitives import Operand, lift

#: Functions whose results have a number of elements that depends on the data.
_DATA_DEPENDENT = (
    *(np.argwhere, np.compress, np.extract, np.flatnonzero, np.nonzero, np.trim_zeros, np.unique),
    *(np.intersect1d, np.setdiff1d, np.union1d),
)


def _refusing_function(function: Any) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise DataDependent.here(
            f"the size of the result of {name_of(function)} depends on data; "
            "use np.where or a mask, which keep the shape"
        )

    return refuse


for _function in _DATA_DEPENDENT:
    REFUSED[_function] = _refusing_function(_function)
REFUSED_METHODS.update(
    nonzero=_refusing_function(np.nonzero), compress=_refusing_function(np.compress)
)


@implements(np.shape)
def shape(a: Operand) -> tuple[int, ...]:
    """Return the operand's extents as Python integers."""
    return lift(a).shape


@implements(np.ndim)
def ndim(a: Operand) -> int:
    """Return the operand's number of axes."""
    return len(lift(a).shape)


@implements(np.size)
def size(a: Operand, axis: int | None = None) -> int:
    """Return the number of all elements, or of those along an axis."""
    x = lift(a)
    return x.size if axis is None else x.shape[axis_of(axis, len(x.shape))]
