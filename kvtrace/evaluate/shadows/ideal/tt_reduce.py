"""Ideal results of reductions and scans of integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import attribute
from kvtrace.evaluate.dialects.tt_reduce import along, simple_ufunc
from kvtrace.evaluate.shadows.ideal.arith import Ideal
from kvtrace.evaluate.shadows.ideal.integers import limits, narrowed
from kvtrace.evaluate.shadows.ideal.wrapped import ideal_numbers
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Array
from kvtrace.ir import Op


def combination_of(op: Op) -> Ideal | None:
    """Return a function from operands to ideal results, which may raise TooLarge.

    None unless a single source of integers or Booleans is combined by one op.
    """
    source, *others = op.group("source")
    type_ = value_type(source.type)
    combining = None if others else simple_ufunc(op.regions[0].blocks[0], type_)
    if combining is None or type_.pointer or type_.element.kind not in "ib":
        return None
    extent = type_.shape[attribute(op, "axis", 0)]

    def combined(_op: Op, operands: Sequence[Any]) -> Array:
        numbers = ideal_numbers(operands[0], type_)
        numbers = np.broadcast_to(numbers, (numbers.shape[0], *type_.shape))
        largest = max(map(abs, limits(numbers)))
        large = combining is np.add and largest * extent >= 1 << 62
        if large or combining is np.multiply:
            numbers = numbers.astype(object)
        return narrowed(along(op, combining, numbers))

    return combined
