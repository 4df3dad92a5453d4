"""Shapes, types and predicates that are answered while tracing, and whole-tensor comparisons."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import axis_of
from kvtrace.addons.graphs.hlo.builders import REFUSED, REFUSED_METHODS, implements, name_of
from kvtrace.addons.graphs.hlo.dtypes import BOOL
from kvtrace.addons.graphs.hlo.errors import DataDependent
from kvtrace.addons.graphs.hlo.families.comparisons import isclose
from kvtrace.addons.graphs.hlo.families.reductions import all_
from kvtrace.addons.graphs.hlo.primitives import Operand, compare, full, lift, together
from kvtrace.addons.graphs.hlo.wrapper import Tensor

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


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """Return the common type of operands, by the promotion table."""
    tensors = [
        full(0, (), np.dtype(value)) if isinstance(value, type | np.dtype) else value
        for value in arrays_and_dtypes
    ]
    return together(*tensors)[0].dtype


@implements(np.iscomplexobj)
def iscomplexobj(x: Operand) -> bool:
    """Return False, as graphs have no complex numbers."""
    return lift(x).dtype.kind == "c"


@implements(np.isrealobj)
def isrealobj(x: Operand) -> bool:
    """Return True, as graphs have no complex numbers."""
    return not iscomplexobj(x)


@implements(np.array_equal)
def array_equal(a1: Operand, a2: Operand, equal_nan: bool = False) -> Tensor:
    """Return a bool tensor: whether shapes and all elements are equal."""
    x, y = together(a1, a2)
    if x.shape != y.shape:
        return full(False, (), BOOL)
    same = isclose(x, y, 0.0, 0.0, equal_nan) if equal_nan else compare("EQ", x, y)
    return all_(same)


@implements(np.allclose)
def allclose(
    a: Operand, b: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Return a bool tensor: whether all elements are close, as `isclose` defines."""
    return all_(isclose(a, b, rtol, atol, equal_nan))
