"""Comparisons and logic."""

from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.builders import implements, implements_each
from kvtrace.addons.graphs.hlo.dtypes import BOOL
from kvtrace.addons.graphs.hlo.primitives import (
    Direction,
    Operand,
    alike,
    binary,
    broadcast,
    compare,
    convert,
    lift,
    select,
    together,
    unary,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor

_DIRECTIONS: dict[Any, Direction] = {
    np.equal: "EQ",
    np.not_equal: "NE",
    np.less: "LT",
    np.less_equal: "LE",
    np.greater: "GT",
    np.greater_equal: "GE",
}

_LOGIC = {np.logical_and: "and", np.logical_or: "or", np.logical_xor: "xor"}


def truth(x: Operand) -> Tensor:
    """Return the operand as bools, true where it is not zero."""
    return convert(lift(x), BOOL)


implements_each(_DIRECTIONS, lambda direction, x1, x2: compare(direction, *alike(x1, x2)))
implements_each(_LOGIC, lambda opcode, x1, x2: binary(opcode, *broadcast(truth(x1), truth(x2))))


@implements(np.logical_not)
def logical_not(x: Operand) -> Tensor:
    """Return bools, true where the operand is zero."""
    return unary("not", truth(x))


@implements(np.where)
def where(condition: Operand, x: Operand = None, y: Operand = None) -> Tensor:
    """Return `x` where the condition holds, else `y`; without both, DataDependent is raised."""
    if x is None or y is None:
        from kvtrace.addons.graphs.hlo.errors import DataDependent

        raise DataDependent.here(
            "np.where with only a condition has a result whose size depends on data; "
            "give the values to choose from as well"
        )
    return select(*broadcast(truth(condition), *together(x, y)))
