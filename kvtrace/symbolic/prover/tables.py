"""Tables of functions of indices over a grid or block: whether their values are distinct."""

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
"""Names of functions of forms in variables; see `kvtrace.symbolic.prover.intervals`."""


def tell_apart(
    variables: Iterable[Variable], axes: Sequence[Symbol], extents: Sequence[int]
) -> bool:
    """Return whether functions of indices along axes differ between any two places."""
    count = math.prod(extents)
    table = _Table(axes, extents)
    key: Values = np.zeros(count, np.int64)
    width = 1
    for variable in variables:
        values = table.of(variable)
        if values is None:
            continue
        low, high = int(values.min()), int(values.max())
        width *= high - low + 1
        if width >= 1 << 62:
            return False
        key = key * (high - low + 1) + (values - low)
    return len(np.unique(key)) == count


class _Table:
    """Values of variables at all places; None for variables that depend on other symbols."""

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
            factors = [self.of(each) for each in variable[1:]]
            known = [factor for factor in factors if factor is not None]
            return math.prod(known) if len(known) == len(factors) else None  # type: ignore[return-value]
        if name not in _FUNCTIONS:
            return None
        forms = [self._form(key) for key in keys_of(variable)]
        of = [form for form in forms if form is not None]
        if len(of) < len(forms):
            return None
        if name in ("min", "max"):
            return np.asarray((np.minimum if name == "min" else np.maximum)(of[0], of[-1]))
        if name in ("//", "%%"):
            return _divided(of[0], of[1], floor=variable[3], rest=name == "%%")
        by = np.full_like(of[0], variable[2])
        return _divided(of[0], by, floor=name in ("/", "%"), rest=name in ("%", "rest"))

    def _form(self, key: Any) -> Values | None:
        total: Values = np.full(self._count, key[0], np.int64)
        for variable, factor in key[1]:
            values = self.of(variable)
            if values is None:
                return None
            total = total + factor * values
        return total


def _divided(left: Values, right: Values, *, floor: bool, rest: bool) -> Values:
    safe = np.where(right == 0, 1, right)
    whole = np.floor_divide(left, safe)
    if not floor:
        whole = whole + ((left != whole * safe) & ((left < 0) != (safe < 0)))
    whole = np.where(right == 0, 0, whole)
    return left - right * whole if rest else whole


def keys_of(variable: Variable) -> Iterator[Any]:
    """Return the keys of a function's arguments."""
    assert isinstance(variable, tuple)
    if variable[0] in ("//", "%%"):
        yield from variable[1:3]
    elif variable[0] in ("min", "max"):
        yield from variable[1]
    else:
        yield variable[1]
