"""Division with remainder, bits and shifts."""

import numpy as np

from kvtrace.addons.graphs.hlo.builders import implements, implements_each
from kvtrace.addons.graphs.hlo.dtypes import BOOL, INT32, is_float, is_signed
from kvtrace.addons.graphs.hlo.errors import BadArgument
from kvtrace.addons.graphs.hlo.families.elementwise import copysign, like
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    add,
    alike,
    binary,
    broadcast,
    compare,
    convert,
    divide,
    lift,
    select,
    subtract,
    together,
    unary,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor


def _numeric_operands(x1: Operand, x2: Operand) -> tuple[Tensor, Tensor]:
    x, y = alike(x1, x2)
    if x.dtype == BOOL:
        return convert(x, INT32), convert(y, INT32)
    return x, y


@implements(np.floor_divide)
def floor_divide(x1: Operand, x2: Operand) -> Tensor:
    """Return the quotient rounded down; an integer divided by 0 is 0, as in NumPy."""
    return divmod_(x1, x2)[0]


@implements(np.remainder, np.mod)
def remainder(x1: Operand, x2: Operand) -> Tensor:
    """Return `x1 - floor_divide(x1, x2) * x2`; for integers, 0 if `x2` is 0."""
    return divmod_(x1, x2)[1]


@implements(np.divmod)
def divmod_(x1: Operand, x2: Operand) -> tuple[Tensor, Tensor]:
    """Return the results of `floor_divide` and `remainder`."""
    x, y = _numeric_operands(x1, x2)
    return _float_divmod(x, y) if is_float(x.dtype) else _integer_divmod(x, y)


def _integer_divmod(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    zero, one = like(x, 0), like(x, 1)
    by_zero = compare("EQ", y, zero)
    divisor = select(by_zero, one, y)
    quotient, remainder_ = divide(x, divisor), binary("remainder", x, divisor)
    if is_signed(x.dtype):
        signs_differ = compare("NE", compare("LT", remainder_, zero), compare("LT", divisor, zero))
        rounds_down = binary("and", signs_differ, compare("NE", remainder_, zero))
        quotient = select(rounds_down, subtract(quotient, one), quotient)
        remainder_ = select(rounds_down, add(remainder_, divisor), remainder_)
    return select(by_zero, zero, quotient), select(by_zero, zero, remainder_)


def _float_divmod(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the quotient rounded down, and the exact remainder that it is computed from."""
    zero, one = like(x, 0.0), like(x, 1.0)
    remainder_ = binary("remainder", x, y)
    exact_quotient = divide(subtract(x, remainder_), y)
    signs_differ = compare("NE", compare("LT", remainder_, zero), compare("LT", y, zero))
    rounds_down = binary("and", signs_differ, compare("NE", remainder_, zero))
    exact_quotient = select(rounds_down, subtract(exact_quotient, one), exact_quotient)
    remainder_ = select(rounds_down, add(remainder_, y), remainder_)
    remainder_ = select(compare("EQ", remainder_, zero), copysign(zero, y), remainder_)
    floor = unary("floor", exact_quotient)
    is_above = compare("GT", subtract(exact_quotient, floor), like(x, 0.5))
    quotient = select(is_above, add(floor, one), floor)
    ratio = divide(x, y)
    quotient = select(compare("EQ", exact_quotient, zero), copysign(zero, ratio), quotient)
    return select(compare("EQ", y, zero), ratio, quotient), remainder_


# -- bits ---------------------------------------------------------------------------------------


def _integers(*values: Operand) -> list[Tensor]:
    tensors = together(*values)
    if is_float(tensors[0].dtype):
        raise BadArgument.here(
            f"bits of {tensors[0].dtype.name} cannot be changed; convert with astype(np.int32)"
        )
    return tensors


implements_each(
    {np.bitwise_and: "and", np.bitwise_or: "or", np.bitwise_xor: "xor"},
    lambda opcode, x1, x2: binary(opcode, *broadcast(*_integers(x1, x2))),
)


@implements(np.invert)
def invert(x: Operand) -> Tensor:
    """Return the operand with every bit inverted."""
    return unary("not", _integers(lift(x))[0])


@implements(np.left_shift)
def left_shift(x1: Operand, x2: Operand) -> Tensor:
    """Return `x1` shifted to the left by `x2` bits, with zeros shifted in."""
    return binary("shift_left", *_shift_operands(x1, x2))


@implements(np.right_shift)
def right_shift(x1: Operand, x2: Operand) -> Tensor:
    """Return `x1` shifted to the right by `x2` bits; a negative number stays negative."""
    x, y = _shift_operands(x1, x2)
    opcode = "shift_right_arithmetic" if is_signed(x.dtype) else "shift_right_logical"
    return binary(opcode, x, y)


def _shift_operands(x1: Operand, x2: Operand) -> tuple[Tensor, Tensor]:
    x, y = broadcast(*_integers(x1, x2))
    return (convert(x, INT32), convert(y, INT32)) if x.dtype == BOOL else (x, y)
