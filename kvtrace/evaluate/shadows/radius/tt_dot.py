"""How far a device's matrix products may be off.

A tensor core adds some products at a time to what it has so far: all are shifted to the largest
exponent among them, and what falls off below is dropped. So each of them may be off by a unit of
that largest one. How many bits are kept was measured by several groups: at least float32's for
16-bit factors and tf32, 13 behind the point for 8-bit floats on Hopper (which is what Triton's
max_num_imprecise_acc is about). Without tensor cores each product is added by one rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kvtrace.evaluate.compiler import attribute
from kvtrace.evaluate.dialects.tt_dot import dot_form
from kvtrace.evaluate.rounding import rounding_to, truncated_to_tf32
from kvtrace.evaluate.shadows.radius.tt_reduce import LARGEST_EXACT
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import Array, full_array
from kvtrace.ir import Op

#: What splitting float32 into parts leaves out, relative to a product, by input precision.
_SPLIT: Final = {
    1: 3 * 2.0**-20, "tf32x3": 3 * 2.0**-20, 3: 3 * 2.0**-14, "bf16x3": 3 * 2.0**-14,
    4: 3 * 2.0**-20, "bf16x6": 3 * 2.0**-20,
}  # fmt: skip

TF32_STEP: Final = 2.0**-10
_LARGEST: Final = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Adder:
    """So many products are added at a time, each of which, and the sum, may be off by `unit`."""

    at_once: int
    unit: float


def adder_of(op: Op) -> Adder:
    """Return how the products of a `dot` are added up."""
    element = value_type(op.operand("left").type).element
    if element.bits == 64:
        return Adder(1, 2.0**-53)
    if element.bits == 8:
        return Adder(32, 2.0**-13)
    if element.bits == 16:
        return Adder(16, 2.0**-23)
    precise = attribute(op, "inputPrecision", 2) in (2, "ieee")
    return Adder(1, 2.0**-24) if precise else Adder(8, 2.0**-23)


def split_of(op: Op) -> float:
    """Return what splitting float32 factors into parts leaves out, relative to a product."""
    if value_type(op.operand("left").type).element.name != "f32":
        return 0.0
    return _SPLIT.get(attribute(op, "inputPrecision", 2), 0.0)


class Product:
    """A `dot`: what it gives, and how far a device may be from that."""

    def __init__(self, op: Op) -> None:
        self._form = dot_form(op)
        self._types: list[ValueType] = [
            value_type(op.operand(name).type) for name in ("left", "right", "added")
        ]
        self._adder = adder_of(op)
        self._split = split_of(op)

    @property
    def is_exact(self) -> bool:
        """Whether it is of integers, which are not rounded."""
        return self._form.integers

    def of(self, given: list[Any], radii: list[Array | None]) -> tuple[Array, Array]:
        """Return the result, rounded once, and its radius."""
        left, right, start = (
            full_array(value, type_) for value, type_ in zip(given, self._types, strict=True)
        )
        wide = [np.asarray(each, np.float64) for each in (left, right)]
        loose: list[Array | None] = list(radii[:2])
        if self._form.tf32:
            cut = [truncated_to_tf32(each).astype(np.float64) for each in (left, right)]
            for place, (whole, kept) in enumerate(zip(wide, cut, strict=True)):
                # A device may drop the bits, or round them away; of a number that is itself off,
                # what is left may be a step away even if it has no such bits.
                known = loose[place]
                inexact = whole != kept if known is None else (whole != kept) | (known > 0)
                step = np.where(inexact, np.abs(kept) * TF32_STEP, 0.0)
                loose[place] = step if known is None else step + known
            wide = cut
        exact = np.matmul(*wide) + start.astype(np.float64)
        sizes = [np.abs(each) for each in wide]
        magnitude = np.matmul(*sizes)
        given_away = np.asarray(_of_factors(sizes, loose))
        if radii[2] is not None:
            given_away = given_away + radii[2]
        away = self._of_adding(wide, magnitude, start) + self._split * magnitude + given_away
        element = self._types[2].element
        value = exact.astype(element.value)
        narrow = rounding_to(element)
        value = value if narrow is None else narrow(value)
        finite = np.isfinite(exact)
        rounding = np.where(finite, np.abs(value.astype(np.float64) - exact), 0.0)
        # Of certain numbers, what is none in exact arithmetic is none in any order.
        astray = np.where(given_away > 0, np.inf, 0.0)
        away = np.where(finite, away + rounding, np.where(np.isnan(given_away), np.inf, astray))
        return value, np.where(np.isnan(away), np.inf, away)

    def _of_adding(self, wide: list[Array], magnitude: Array, start: Array) -> Array:
        """Return what comes of adding up, and of the order in which it is done."""
        depth = wide[0].shape[-1]
        grown = magnitude + np.abs(start.astype(np.float64))
        if self._types[2].element.bits <= 32:  # on the way sums may leave what float32 holds
            grown = np.where(grown > _LARGEST, np.inf, grown)
        if self._types[2].element.bits == 16:  # sums are rounded to 16 bits as they go
            steps = -(-depth // self._adder.at_once)
            return np.asarray(steps * 2.0**-11 * grown)
        whole = all((each == np.rint(each)).all() for each in (*wide, start))
        if whole and grown.max(initial=0) < LARGEST_EXACT[32] and self._adder.unit <= 2.0**-23:
            return np.zeros((1,) * magnitude.ndim)
        if self._adder.at_once == 1:
            return np.asarray((depth + 1) * self._adder.unit * grown)
        steps = -(-depth // self._adder.at_once)
        each = (self._adder.at_once + 2) * self._adder.unit
        return np.asarray(each * (steps * grown + magnitude))


def _of_factors(sizes: list[Array], loose: list[Array | None]) -> Array | float:
    """Return what comes of factors that are themselves off."""
    left, right = (
        None
        if radius is None
        else np.broadcast_to(radius, np.broadcast_shapes(radius.shape, size.shape))
        for radius, size in zip(loose, sizes, strict=True)
    )
    away: Array | float = 0.0
    if left is not None:
        away = np.matmul(left, sizes[1])
    if right is not None:
        away = away + np.matmul(sizes[0], right)
    if left is not None and right is not None:
        away = away + np.matmul(left, right)
    return away
