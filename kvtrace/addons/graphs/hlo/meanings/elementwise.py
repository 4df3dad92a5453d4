"""Semantics of elementwise ops.

Floats of 8 and 16 bits are computed in float32 and rounded once, as XLA does.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from kvtrace.addons.graphs.hlo.dtypes import FLOAT8, FLOAT32, FLOAT64, is_float, wide_dtype
from kvtrace.addons.graphs.hlo.meanings import MEANINGS, meaning
from kvtrace.addons.graphs.hlo.op import Op
from kvtrace.evaluate.directed import to_odd

Array = np.ndarray[Any, Any]

_ONE_FUNCTION: Final[dict[str, Callable[..., Any]]] = {
    "abs": np.abs,
    "add": np.add,
    "and": np.bitwise_and,
    "atan2": np.arctan2,
    "ceil": np.ceil,
    "cosine": np.cos,
    "exponential": np.exp,
    "exponential_minus_one": np.expm1,
    "floor": np.floor,
    "log": np.log,
    "log_plus_one": np.log1p,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "negate": np.negative,
    "not": np.invert,
    "or": np.bitwise_or,
    "remainder": np.fmod,
    "round_nearest_even": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sign": np.sign,
    "sine": np.sin,
    "sqrt": np.sqrt,
    "subtract": np.subtract,
    "tan": np.tan,
    "tanh": np.tanh,
    "xor": np.bitwise_xor,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
}

_RELATIONS: Final[dict[str, Callable[..., Any]]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


def computed(function: Callable[..., Any], op: Op, *operands: Array) -> Array:
    """Return a NumPy function's result in the op's type; small floats are computed in float32."""
    assert op.dtype is not None
    if (wide := wide_dtype(op.dtype)) != op.dtype:
        operands = tuple(operand.astype(wide) for operand in operands)
    result: Array = np.asarray(function(*operands))
    return result.astype(op.dtype, copy=False)


for _opcode, _function in _ONE_FUNCTION.items():
    MEANINGS[_opcode] = partial(computed, _function)
MEANINGS["is_finite"] = lambda _op, x: np.asarray(np.isfinite(x))
MEANINGS["select"] = lambda op, b, x, y: np.where(b, x, y).astype(op.dtype, copy=False)


@meaning("divide")
def _divide(op: Op, x: Array, y: Array) -> Array:
    if is_float(x.dtype):
        return computed(np.divide, op, x, y)
    # Towards zero; by zero all bits are set, as XLA has it.
    remainder = np.fmod(x, np.where(y == 0, 1, y)).astype(x.dtype)
    quotient = np.floor_divide(x - remainder, np.where(y == 0, 1, y).astype(x.dtype))
    return np.where(y == 0, np.array(-1).astype(x.dtype), quotient).astype(x.dtype)


@meaning("power")
def _power(op: Op, x: Array, y: Array) -> Array:
    if is_float(x.dtype):
        return computed(np.power, op, x, y)
    powers = np.power(x, np.maximum(y, 0)).astype(x.dtype)
    inverses = np.where(np.abs(x) == 1, np.power(x, np.abs(y) % 2), 0)
    return np.where(y < 0, inverses, powers).astype(x.dtype)


@meaning("shift_left", "shift_right_arithmetic", "shift_right_logical")
def _shift(op: Op, x: Array, y: Array) -> Array:
    bits = x.dtype.itemsize * 8
    in_range = (y >= 0) & (y < bits)
    distance = np.where(in_range, y, 0).astype(x.dtype)
    if op.opcode == "shift_left":
        return np.where(in_range, np.left_shift(x, distance), 0).astype(x.dtype)
    if op.opcode == "shift_right_arithmetic":
        shifted: Array = np.right_shift(x, np.where(in_range, y, bits - 1).astype(x.dtype))
        return shifted
    unsigned = x.view(f"u{x.dtype.itemsize}") if x.dtype.kind == "i" else x
    shifted = np.right_shift(unsigned, distance.astype(unsigned.dtype))
    return np.where(in_range, shifted, 0).astype(unsigned.dtype).view(x.dtype)


@meaning("compare")
def _compare(op: Op, x: Array, y: Array) -> Array:
    result: Array = np.asarray(_RELATIONS[op.attributes["comparison_direction"]](x, y))
    return result


@meaning("convert")
def _convert(op: Op, x: Array) -> Array:
    if x.dtype == FLOAT64 and op.dtype in FLOAT8:
        nearest = x.astype(FLOAT32)  # as ml_dtypes does, which would round it once more
        with np.errstate(invalid="ignore"):
            x = to_odd(nearest, x - nearest)
    return x.astype(op.dtype)
