"""Values that wrapped around, together with their ideal numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvtrace.evaluate.types import ValueType
from kvtrace.evaluate.values import (
    Array,
    Pointer,
    PointerChoice,
    ShadowedValue,
    offset_array,
    to_array,
)


@dataclass(frozen=True)
class WrappedNumber(ShadowedValue):
    """A value that differs from its ideal number because an integer wrapped around.

    The shadow is the ideal number, an array of int64, of Python's integers or of Booleans (of a
    pointer: byte offsets). `origins` are the indices of the ops that wrapped around.
    """

    origins: frozenset[int]

    @classmethod
    def shadow_of(cls, value: Any, type_: ValueType) -> Array:
        """Return a value's ideal numbers; of pointers, the ideal byte offsets."""
        if isinstance(value, WrappedNumber):
            return value.shadow
        rank = len(type_.shape) + 1
        if isinstance(value, PointerChoice):
            if_true, if_false = (
                ideal_numbers(option, type_) for option in (value.first, value.second)
            )
            return np.where(value.condition, if_true, if_false)
        if isinstance(value, Pointer):
            return offset_array(value.offset, rank)
        array = to_array(value, type_)
        return array if array.dtype == np.bool_ else array.astype(np.int64, copy=False)

    @classmethod
    def joined(cls, value: Any, shadow: Array, sources: Sequence[Any] = ()) -> WrappedNumber:
        """Return a value with its ideal numbers, and with the origins of the source operands."""
        return cls(value, shadow, origins_of(sources))


ideal_numbers = WrappedNumber.shadow_of


def origins_of(values: Sequence[Any]) -> frozenset[int]:
    """Return the indices of the ops that wrapped around to give any of the values."""
    return frozenset().union(
        *(value.origins for value in values if isinstance(value, WrappedNumber))
    )
