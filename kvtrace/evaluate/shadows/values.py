"""The values that have shadows, by what their shadow is."""

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
    Shadowed,
    actual,
    offset_array,
    to_array,
)


@dataclass(frozen=True)
class Wrapped(Shadowed):
    """An integer, Boolean or pointer that would be another number if nothing had wrapped around.

    The shadow is that number, an array of int64, of Python's integers or of Booleans (of a pointer:
    byte offsets). `origins` are the indices of the ops that wrapped around.
    """

    origins: frozenset[int]

    @classmethod
    def shadow_of(cls, value: Any, type_: ValueType) -> Array:
        """Return what a value would be if nothing had wrapped around; a pointer's byte offsets."""
        if isinstance(value, Wrapped):
            return value.shadow
        rank = len(type_.shape) + 1
        if isinstance(value, PointerChoice):
            first, second = (ideal_numbers(part, type_) for part in (value.first, value.second))
            return np.where(value.condition, first, second)
        if isinstance(value, Pointer):
            return offset_array(value.offset, rank)
        array = to_array(value, type_)
        return array if array.dtype == np.bool_ else array.astype(np.int64, copy=False)

    @classmethod
    def joined(cls, value: Any, shadow: Array, given: Sequence[Any] = ()) -> Wrapped:
        """Put a number beside a value that was made of some."""
        return cls(value, shadow, origins_of(given))


ideal_numbers = Wrapped.shadow_of


def origins_of(given: Sequence[Any]) -> frozenset[int]:
    """Return the indices of the ops that wrapped around on the way to any of some values."""
    return frozenset().union(*(each.origins for each in given if isinstance(each, Wrapped)))


@dataclass(frozen=True)
class Uncertain(Shadowed):
    """A number that a device may compute otherwise, or what was made of one.

    The shadow is a radius: the device's number is at most so far away (float64, never negative;
    infinity: it may be anything). Of Booleans and pointers any radius above 0 says that another one
    may be there.
    """

    @classmethod
    def shadow_of(cls, value: Any, type_: ValueType) -> Array:
        """Return how far a device's number may be from a value."""
        if isinstance(value, Uncertain):
            return value.shadow
        return np.zeros((1,) * (len(type_.shape) + 1))

    @classmethod
    def joined(cls, value: Any, shadow: Array | None, given: Sequence[Any] = ()) -> Any:
        """Put a radius beside a value, unless there is none."""
        del given
        if shadow is None or not np.any(shadow):
            return value
        return Uncertain(actual(value), shadow)


radius_of, with_radius = Uncertain.shadow_of, Uncertain.joined


def radius_or_none(value: Any) -> Array | None:
    """Return the radius of a value, None where it is certain."""
    return value.shadow if isinstance(value, Uncertain) else None
