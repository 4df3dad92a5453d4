"""Planned values: the forms and registers that a walk has for each IR value.

Integers, pointers and masks stay affine; floats, and integers that are not affine, are registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kvtrace.evaluate.plan.affine import Affine

Box = tuple[tuple[int, int] | None, ...]
"""Active lanes per axis: first and one past the last; None: the whole axis."""


class Register:
    """An array of the generated code.

    Its axes are the region's program axes, then lanes. `axes` are flags of the program axes that
    the array varies over (extent 1 along others); `lanes` are physical extents, 1 if constant.
    """

    __slots__ = ("axes", "dtype", "lanes", "number")

    def __init__(
        self, number: int, axes: tuple[bool, ...], lanes: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.number = number
        self.axes = axes
        self.lanes = lanes
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"r{self.number}{self.axes}{self.lanes}"


@dataclass(slots=True, eq=False)
class Integer:
    """An exact integer value as an affine form; it never wraps. `bits` is its type's width."""

    form: Affine
    shape: tuple[int, ...]
    bits: int


@dataclass(slots=True, eq=False)
class Pointer:
    """Pointers into an argument: `form` counts bytes from its data pointer."""

    argument: int
    form: Affine
    shape: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Condition:
    """A Boolean value that is true where every form is >= 0."""

    forms: tuple[Affine, ...]
    shape: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Constant:
    """A float or Boolean value that is the same for all programs and lanes."""

    value: np.generic
    shape: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Tensor:
    """A value in a register, with its logical shape.

    With a `box`, the register has only the lanes inside the box; outside the value is `fill`, which
    does not vary along the axes that the box cuts.
    """

    register: Register
    shape: tuple[int, ...]
    box: Box | None = None
    fill: Constant | Tensor | None = None


@dataclass(slots=True, eq=False)
class Descriptor:
    """A tensor descriptor: base, extents and strides in elements."""

    base: Pointer
    extents: tuple[Integer, ...]
    strides: tuple[Integer, ...]
    padding_nan: bool


Number = Integer | Condition | Constant | Tensor
