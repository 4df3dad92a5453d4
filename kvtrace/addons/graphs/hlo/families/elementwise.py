"""Elementwise functions of one tensor, and of two floats; activations that NumPy lacks."""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import dtype_of
from kvtrace.addons.graphs.hlo.builders import implements, implements_each, operation
from kvtrace.addons.graphs.hlo.dtypes import (
    BOOL,
    float_dtype,
    is_float,
    is_integer,
    is_signed,
    is_weak,
    wide_dtype,
)
from kvtrace.addons.graphs.hlo.errors import BadArgument
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    add,
    alike,
    binary,
    broadcast,
    compare,
    convert,
    divide,
    fresh,
    full,
    is_finite,
    lift,
    multiply,
    select,
    subtract,
    together,
    unary,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor, into


def float_of(x: Operand) -> Tensor:
    """Return the operand as a float tensor: integers and bools become float32."""
    x = lift(x)
    return convert(x, float_dtype(x.dtype))


def floats_together(*values: Operand) -> list[Tensor]:
    """Return the operands as float tensors of one type and shape."""
    tensors = together(*values)
    dtype = float_dtype(tensors[0].dtype)
    return broadcast(*(convert(tensor, dtype) for tensor in tensors))


def in_wide_floats(build: Callable[[Tensor], Tensor]) -> Callable[[Operand], Tensor]:
    """Return a builder that runs `build` in float32 at least, and rounds its result once."""

    @wraps(build)
    def builder(x: Operand) -> Tensor:
        x = float_of(x)
        return convert(build(convert(x, wide_dtype(x.dtype))), x.dtype)

    return builder


def like(x: Tensor, value: float) -> Tensor:
    """Return a constant of one value with the shape and type of a tensor."""
    return full(value, x.shape, x.dtype)


# -- functions that are one op ------------------------------------------------------------------

#: Functions of StableHLO on floats; integers are converted to float32.
_OF_FLOATS = {
    np.exp: "exponential",
    np.expm1: "exponential_minus_one",
    np.log: "log",
    np.log1p: "log_plus_one",
    np.sqrt: "sqrt",
    np.sin: "sine",
    np.cos: "cosine",
    np.tan: "tan",
    np.tanh: "tanh",
}

#: Functions of StableHLO on floats, which do not change integers.
_ROUNDING = {np.ceil: "ceil", np.floor: "floor", np.rint: "round_nearest_even"}

#: Functions of StableHLO on two numbers; `add` is `or` for bools, and `multiply` is `and`.
_OF_TWO = {
    np.add: "add",
    np.multiply: "multiply",
    np.maximum: "maximum",
    np.minimum: "minimum",
}

_OF_TWO_FLOATS = {np.divide: "divide", np.arctan2: "atan2"}


def _rounded(opcode: str, x: Operand) -> Tensor:
    x = lift(x)
    return unary(opcode, x) if is_float(x.dtype) else fresh(x)


implements_each(_OF_FLOATS, lambda opcode, x: unary(opcode, float_of(x)))
implements_each(_ROUNDING, _rounded)
implements_each(_OF_TWO, lambda opcode, x1, x2: binary(opcode, *alike(x1, x2)))
implements_each(_OF_TWO_FLOATS, lambda opcode, x1, x2: binary(opcode, *floats_together(x1, x2)))


# -- simple functions -------------------------------------------------------------------------


@implements(np.absolute)
def absolute(x: Operand) -> Tensor:
    """Return the absolute value."""
    x = lift(x)
    return unary("abs", x) if is_float(x.dtype) or is_signed(x.dtype) else fresh(x)


@implements(np.negative)
def negative(x: Operand) -> Tensor:
    """Return the value with its sign changed."""
    x = lift(x)
    if x.dtype == BOOL:
        raise BadArgument.here("a bool cannot be negated; use ~ or np.logical_not")
    return unary("negate", x)


@implements(np.positive)
def positive(x: Operand) -> Tensor:
    """Return a copy of the operand."""
    return fresh(lift(x))


@implements(np.sign)
def sign(x: Operand) -> Tensor:
    """Return -1, 0 or 1; NaN for NaN."""
    x = lift(x)
    if is_float(x.dtype) or is_signed(x.dtype):
        return unary("sign", x)
    return convert(compare("NE", x, like(x, 0)), x.dtype)


@implements(np.square)
def square(x: Operand) -> Tensor:
    """Return the product of the operand with itself."""
    x = lift(x)
    return multiply(x, x)


@implements(np.reciprocal)
def reciprocal(x: Operand) -> Tensor:
    """Return 1 / x; for integers rounded towards zero, as NumPy does."""
    x = lift(x)
    return divide(like(x, 1), x)


@implements(np.trunc)
def trunc(x: Operand) -> Tensor:
    """Return the value rounded towards zero."""
    x = lift(x)
    if not is_float(x.dtype):
        return fresh(x)
    return select(compare("LT", x, like(x, 0)), unary("ceil", x), unary("floor", x))


@implements(np.round, np.around, methods=("round",))
def round_(a: Operand, decimals: int = 0, out: Any = None) -> Tensor:
    """Return the value rounded to `decimals` places, halves to even."""
    a = lift(a)
    if is_float(a.dtype):
        scale = like(a, 10.0 ** abs(decimals))
        scale_up, scale_down = (multiply, divide) if decimals >= 0 else (divide, multiply)
        scaled = scale_up(a, scale) if decimals else a
        rounded = unary("round_nearest_even", scaled)
        result = scale_down(rounded, scale) if decimals else rounded
    elif decimals < 0:
        raise BadArgument.here(
            "integers cannot be rounded to negative decimals; convert to float with astype"
        )
    else:
        result = fresh(a)
    return into(out, result)


@implements(np.clip, methods=("clip",))
def clip(
    a: Operand,
    a_min: Operand = None,
    a_max: Operand = None,
    out: Any = None,
    *,
    min: Operand = None,  # noqa: A002 - NumPy's name
    max: Operand = None,  # noqa: A002 - NumPy's name
) -> Tensor:
    """Return the value limited to the bounds, each of which may be None."""
    clipped = lift(a)
    low, high = a_min if min is None else min, a_max if max is None else max
    if low is not None:
        clipped = binary("maximum", *alike(clipped, low))
    if high is not None:
        clipped = binary("minimum", *alike(clipped, high))
    return into(out, fresh(clipped))


@implements(np.log2)
@in_wide_floats
def log2(x: Tensor) -> Tensor:
    """Return the logarithm to base 2."""
    return divide(unary("log", x), like(x, math.log(2)))


@implements(np.arctan)
@in_wide_floats
def arctan(x: Tensor) -> Tensor:
    """Return the angle, in radians, whose tangent is `x`."""
    return binary("atan2", x, like(x, 1.0))


# -- predicates of floats -----------------------------------------------------------------------


@implements(np.isnan)
def isnan(x: Operand) -> Tensor:
    """Return bools, true where the operand is NaN."""
    x = lift(x)
    return compare("NE", x, x) if is_float(x.dtype) else full(False, x.shape, BOOL)


@implements(np.isinf)
def isinf(x: Operand) -> Tensor:
    """Return bools, true where the operand is infinite."""
    x = lift(x)
    if not is_float(x.dtype):
        return full(False, x.shape, BOOL)
    return compare("EQ", unary("abs", x), like(x, math.inf))


@implements(np.isfinite)
def isfinite(x: Operand) -> Tensor:
    """Return bools, true where the operand is neither infinite nor NaN."""
    x = lift(x)
    return is_finite(x) if is_float(x.dtype) else full(True, x.shape, BOOL)


@implements(np.signbit)
def signbit(x: Operand) -> Tensor:
    """Return bools, true where the sign is minus, also of a zero."""
    x = lift(x)
    if not is_float(x.dtype):
        return compare("LT", x, like(x, 0))
    one = like(x, 1.0)
    return compare("LT", binary("atan2", x, negative(one)), like(x, 0.0))


@implements(np.copysign)
def copysign(x1: Operand, x2: Operand) -> Tensor:
    """Return the first operand with the sign of the second."""
    x, y = floats_together(x1, x2)
    magnitude = unary("abs", x)
    return select(signbit(y), unary("negate", magnitude), magnitude)


# -- two floats ---------------------------------------------------------------------------------


@implements(np.subtract)
def subtract_(x1: Operand, x2: Operand) -> Tensor:
    """Return the difference."""
    x, y = alike(x1, x2)
    if x.dtype == BOOL:
        raise BadArgument.here("bools cannot be subtracted; use ^ or np.logical_xor")
    return subtract(x, y)


@implements(np.power, "pow")
def power(x1: Operand, x2: Operand) -> Tensor:
    """Return x1 to the power of x2; small whole Python exponents become products."""
    if is_weak(x2) and isinstance(x1, Tensor):
        simple = _simple_power(x1, x2)
        if simple is not None:
            return simple
    x, y = alike(x1, x2)
    if x.dtype == BOOL:
        raise BadArgument.here("bools cannot be raised to a power; convert one of them with astype")
    if is_integer(x.dtype) and is_weak(x2) and x2 < 0:
        raise BadArgument.here(
            "integers cannot be raised to negative powers; convert to float with astype"
        )
    return binary("power", x, y)


def _simple_power(x: Tensor, exponent: Any) -> Tensor | None:
    if x.dtype == BOOL:
        return None
    if is_float(x.dtype) and exponent == 0.5:
        return unary("sqrt", x)
    if isinstance(exponent, float) and not is_float(x.dtype):
        return None
    if exponent == 1:
        return fresh(x)
    if exponent == 2:
        return multiply(x, x)
    if exponent == -1 and is_float(x.dtype):
        return divide(like(x, 1.0), x)
    return None


@implements(np.logaddexp)
def logaddexp(x1: Operand, x2: Operand) -> Tensor:
    """Return log(exp(x1) + exp(x2)), without overflow."""
    x, y = floats_together(x1, x2)
    greater, difference = binary("maximum", x, y), subtract(x, y)
    exponential = unary("exponential", unary("negate", unary("abs", difference)))
    log_sum = add(greater, unary("log_plus_one", exponential))
    # Equal infinities have no difference.
    return select(compare("EQ", x, y), add(x, like(x, math.log(2))), log_sum)


@implements("astype", methods=("astype",))
def astype(x: Operand, dtype: Any, /, *args: Any, copy: bool = True, **_: Any) -> Tensor:
    """Return the values in another element type; floats are rounded towards zero for integers."""
    if args:
        raise BadArgument.here(
            "astype in a graph has no arguments but the type; leave order and casting out"
        )
    x = lift(x)
    converted = convert(x, dtype_of(dtype))
    return fresh(converted) if copy and converted is x else converted


# Activations that NumPy lacks, in `kvtrace.hlo.ops`.


@operation()
@in_wide_floats
def sigmoid(x: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-x))."""
    return unary("logistic", x)


@operation()
@in_wide_floats
def silu(x: Tensor) -> Tensor:
    """Return x · sigmoid(x)."""
    return multiply(x, unary("logistic", x))


@operation()
def relu(x: Operand) -> Tensor:
    """Return `x` where it is positive, else 0."""
    x = lift(x)
    return binary("maximum", x, like(x, 0))


@operation()
@in_wide_floats
def gelu(x: Tensor) -> Tensor:
    """Return the Gaussian error linear unit by its tanh formula: x · (1 + tanh(y)) / 2.

    y is √(2/π) · (x + 0.044715 · x³); see arXiv 1606.08415.
    """
    cubed = multiply(x, multiply(x, x))
    inner = add(x, multiply(like(x, 0.044715), cubed))
    tanh = unary("tanh", multiply(like(x, math.sqrt(2 / math.pi)), inner))
    return multiply(multiply(like(x, 0.5), x), add(like(x, 1.0), tanh))
