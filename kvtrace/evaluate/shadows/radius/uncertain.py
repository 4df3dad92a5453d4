"""Numbers that a device may compute otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvtrace.evaluate.types import ValueType
from kvtrace.evaluate.values import Array, Shadowed, actual


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
        return radius_of(value, type_)

    @classmethod
    def joined(cls, value: Any, shadow: Array, given: Sequence[Any]) -> Any:
        """Put a radius beside a value, unless there is none."""
        del given
        return with_radius(value, shadow)


def radius_of(value: Any, type_: ValueType) -> Array:
    """Return how far a device's number may be from a value."""
    if isinstance(value, Uncertain):
        return value.shadow
    return np.zeros((1,) * (len(type_.shape) + 1))


def with_radius(value: Any, radius: Array | None) -> Any:
    """Put a radius beside a value, unless there is none."""
    if radius is None or not np.any(radius):
        return value
    return Uncertain(actual(value), radius)


def any_uncertain(values: Sequence[Any]) -> bool:
    """Whether a device may compute any of some values otherwise."""
    return any(isinstance(value, Uncertain) for value in values)


def radius_or_none(value: Any) -> Array | None:
    """Return the radius of a value, None where it is certain."""
    return value.shadow if isinstance(value, Uncertain) else None
