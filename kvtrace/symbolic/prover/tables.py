"""Tables of functions over a grid or block, to check that their values are distinct."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.symbolic.prover.linear import Variable
from kvtrace.symbolic.terms import Symbol

Values = NDArray[np.int64]

_FUNCTIONS: Final = frozenset({"/", "%", "trunc", "rest", "//", "%%", "min", "max"})
"""Names of the functions in variables; see `kvtrace.symbolic.prover.intervals`."""


def are_distinct(
    variables: Iterable[Variable], axes: Sequence[Symbol], extents: Sequence[int]
) -> bool:
    """Return whether any two places along axes differ in the value of some variable."""
    count = math.prod(extents)
    table = _Table(axes, extents)
    key: Values = np.zeros(count, np.int64)
    key_count = 1
    for variable in variables:
        values = table.of(variable)
        if values is None:
            continue
        low, high = int(values.min()), int(values.max())
        key_count *= high - low + 1
        if key_count >= 1 << 62:
            return False
        key = key * (high - low + 1) + (values - low)
    return len(np.unique(key)) == count


class _Table:
    """Values of variables at all places, as flat arrays; None if they need other symbols."""

    def __init__(self, axes: Sequence[Symbol], extents: Sequence[int]) -> None:
        grids = np.meshgrid(*(np.arange(extent) for extent in extents), indexing="ij")
        self._known: dict[Variable, Values | None] = {
            axis: grid.reshape(-1) for axis, grid in zip(axes, grids, strict=True)
        }
        self._count = math.prod(extents)

    def of(self, variable: Variable) -> Values | None:
        if variable not in self._known:
            self._known[variable] = self._computed(variable)
        return self._known[variable]

    def _computed(self, variable: Variable) -> Values | None:
        if not isinstance(variable, tuple):
            return None
        name = variable[0]
        if name == "*":
            factors = [self.of(factor_variable) for factor_variable in variable[1:]]
            known_factors = [factor for factor in factors if factor is not None]
            return math.prod(known_factors) if len(known_factors) == len(factors) else None  # type: ignore[return-value]
        if name not in _FUNCTIONS:
            return None
        forms = [self._form(key) for key in argument_keys(variable)]
        arguments = [form for form in forms if form is not None]
        if len(arguments) < len(forms):
            return None
        if name in ("min", "max"):
            return np.asarray(
                (np.minimum if name == "min" else np.maximum)(arguments[0], arguments[-1])
            )
        if name in ("//", "%%"):
            return _divided(arguments[0], arguments[1], floor=variable[3], rest=name == "%%")
        divisor = np.full_like(arguments[0], variable[2])
        return _divided(arguments[0], divisor, floor=name in ("/", "%"), rest=name in ("%", "rest"))

    def _form(self, key: Any) -> Values | None:
        total: Values = np.full(self._count, key[0], np.int64)
        for variable, factor in key[1]:
            values = self.of(variable)
            if values is None:
                return None
            total = total + factor * values
        return total


def _divided(left: Values, right: Values, *, floor: bool, rest: bool) -> Values:
    nonzero_divisors = np.where(right == 0, 1, right)
    quotients = np.floor_divide(left, nonzero_divisors)
    if not floor:
        quotients = quotients + (
            (left != quotients * nonzero_divisors) & ((left < 0) != (nonzero_divisors < 0))
        )
    quotients = np.where(right == 0, 0, quotients)
    return left - right * quotients if rest else quotients


def argument_keys(variable: Variable) -> Iterator[Any]:
    """Yield the keys of a function's arguments."""
    assert isinstance(variable, tuple)
    if variable[0] in ("//", "%%"):
        yield from variable[1:3]
    elif variable[0] in ("min", "max"):
        yield from variable[1]
    else:
        yield variable[1]
