"""Logarithms, exponentials and angles that consist of several ops."""

import math

import numpy as np

from kvtrace.addons.graphs.hlo.builders import implements
from kvtrace.addons.graphs.hlo.families.elementwise import (
    copysign,
    floats_together,
    hypot,
    in_wide_floats,
    like,
)
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    add,
    binary,
    compare,
    divide,
    multiply,
    select,
    subtract,
    unary,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor


@implements(np.log2)
@in_wide_floats
def log2(x: Tensor) -> Tensor:
    """Return the logarithm to base 2."""
    return _scaled_log(x, math.log(2))


@implements(np.log10)
@in_wide_floats
def log10(x: Tensor) -> Tensor:
    """Return the logarithm to base 10."""
    return _scaled_log(x, math.log(10))


def _scaled_log(x: Tensor, scale: float) -> Tensor:
    return divide(unary("log", x), like(x, scale))


@implements(np.exp2)
@in_wide_floats
def exp2(x: Tensor) -> Tensor:
    """Return 2 to the power of `x`."""
    return binary("power", like(x, 2.0), x)


@implements(np.sinh)
@in_wide_floats
def sinh(x: Tensor) -> Tensor:
    """Return the hyperbolic sine: by expm1 near zero, else by halved exponentials (no overflow)."""
    exponential_minus_one = unary("exponential_minus_one", x)
    near = divide(
        add(
            exponential_minus_one,
            divide(exponential_minus_one, add(exponential_minus_one, like(x, 1.0))),
        ),
        like(x, 2.0),
    )
    far = subtract(*_halved_exponentials(x))
    return select(compare("LT", unary("abs", x), like(x, 1.0)), near, far)


@implements(np.cosh)
@in_wide_floats
def cosh(x: Tensor) -> Tensor:
    """Return the hyperbolic cosine, without overflow below its own."""
    return add(*_halved_exponentials(x))


def _halved_exponentials(x: Tensor) -> tuple[Tensor, Tensor]:
    half = like(x, math.log(0.5))
    return unary("exponential", add(x, half)), unary("exponential", subtract(half, x))


@implements(np.arctan)
@in_wide_floats
def arctan(x: Tensor) -> Tensor:
    """Return the angle, in radians, whose tangent is `x`."""
    return binary("atan2", x, like(x, 1.0))


@implements(np.arctan2)
def arctan2(x1: Operand, x2: Operand) -> Tensor:
    """Return the angle of the point (x2, x1), in radians."""
    return binary("atan2", *floats_together(x1, x2))


@implements(np.arcsin)
@in_wide_floats
def arcsin(x: Tensor) -> Tensor:
    """Return the angle, in radians, whose sine is `x`."""
    return binary("atan2", x, _root_of_one_minus_square(x))


@implements(np.arccos)
@in_wide_floats
def arccos(x: Tensor) -> Tensor:
    """Return the angle, in radians, whose cosine is `x`."""
    return binary("atan2", _root_of_one_minus_square(x), x)


@implements(np.arcsinh)
@in_wide_floats
def arcsinh(x: Tensor) -> Tensor:
    """Return the inverse hyperbolic sine; exact near zero, and without overflow."""
    size, one = unary("abs", x), like(x, 1.0)
    root = hypot(size, one)
    near = unary("log_plus_one", add(size, divide(multiply(size, size), add(one, root))))
    far = add(unary("log", size), like(x, math.log(2)))
    positive_ = select(compare("GT", size, like(x, 1e9)), far, near)
    return copysign(positive_, x)


@implements(np.arccosh)
@in_wide_floats
def arccosh(x: Tensor) -> Tensor:
    """Return the inverse hyperbolic cosine, defined from 1 on."""
    one = like(x, 1.0)
    less = subtract(x, one)
    # Two roots, so that x < -1 gives NaN: the product of two negative numbers has a root.
    root = multiply(unary("sqrt", less), unary("sqrt", add(x, one)))
    near = unary("log_plus_one", add(less, root))
    far = add(unary("log", x), like(x, math.log(2)))
    return select(compare("GT", x, like(x, 1e9)), far, near)


@implements(np.arctanh)
@in_wide_floats
def arctanh(x: Tensor) -> Tensor:
    """Return the inverse hyperbolic tangent, defined between -1 and 1."""
    above = unary("log_plus_one", x)
    return multiply(like(x, 0.5), subtract(above, unary("log_plus_one", unary("negate", x))))


def _root_of_one_minus_square(x: Tensor) -> Tensor:
    one = like(x, 1.0)
    return unary("sqrt", multiply(subtract(one, x), add(one, x)))


@implements(np.deg2rad, np.radians)
@in_wide_floats
def deg2rad(x: Tensor) -> Tensor:
    """Return degrees as radians."""
    return multiply(x, like(x, math.pi / 180))


@implements(np.rad2deg, np.degrees)
@in_wide_floats
def rad2deg(x: Tensor) -> Tensor:
    """Return radians as degrees."""
    return multiply(x, like(x, 180 / math.pi))
