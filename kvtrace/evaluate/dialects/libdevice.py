"""Functions of CUDA's libdevice (and AMD's OCML), by their names without prefix.

After the libdevice user's guide, https://docs.nvidia.com/cuda/libdevice-users-guide/ . Functions
that the libraries approximate are exact here; approximate forms (fast_…) are computed in the same
steps, each of them exact (`libdevice_single.py`).
"""

from __future__ import annotations

import math as math_
import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import numpy as np

from kvtrace.evaluate import directed
from kvtrace.evaluate.accuracy import EXACT, JUMPS, STEADY, Accuracy
from kvtrace.evaluate.compiler import Compiler
from kvtrace.evaluate.dialects import math, special
from kvtrace.evaluate.dialects.arith import unsigned
from kvtrace.evaluate.dialects.libdevice_single import SINGLE
from kvtrace.evaluate.dialects.tt_elementwise import high_half_signed, mulhiui
from kvtrace.evaluate.directed import TO_INTEGRAL, Direction
from kvtrace.evaluate.flushing import flush, flush_single, flushing
from kvtrace.evaluate.registry import Elementwise, Step, semantics, unsupported
from kvtrace.evaluate.rounding import to_integer
from kvtrace.evaluate.types import element_of
from kvtrace.evaluate.values import Array
from kvtrace.ir import Op
from kvtrace.ir.model import attribute

_Function = Callable[..., Any]

_DIRECTIONS: tuple[Direction, ...] = ("rn", "rz", "rd", "ru")


def _wide(function: _Function) -> _Function:
    """Return `function` computed in float64, with the result in the first float operand's type."""

    def rounded(*arrays: Array) -> Array:
        dtype = next(array.dtype for array in arrays if array.dtype.kind == "f")
        wide = (a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays)
        return np.asarray(function(*wide)).astype(dtype)

    return rounded


def _binary_exponent(array: Array) -> Array:
    return np.asarray(np.frexp(array)[1] - 1)


def ilogb(array: Array) -> Array:
    """Return the exponent as an integer: the smallest for 0 and NaN, the largest for infinity."""
    limits = np.iinfo(np.int32)
    result = np.where((array == 0) | np.isnan(array), limits.min, _binary_exponent(array))
    return np.where(np.isinf(array), limits.max, result).astype(np.int32)


def logb(array: Array) -> Array:
    """Return the binary exponent as a float; minus infinity for 0."""
    result = np.where(array == 0, -np.inf, _binary_exponent(array))
    return np.where(np.isinf(array), np.inf, np.where(np.isnan(array), np.nan, result))


def _ieee_remainder(left: float, right: float) -> float:
    try:
        return math_.remainder(left, right)
    except ValueError:
        return math_.nan


_LIFTED_REMAINDER: Final = np.frompyfunc(_ieee_remainder, 2, 1)


def remainder(left: Array, right: Array) -> Array:
    """Return the IEEE remainder: left minus right times the nearest whole number, ties to even."""
    wide = _LIFTED_REMAINDER(left.astype(np.float64), right.astype(np.float64))
    return np.asarray(wide).astype(left.dtype)


def fdim(left: Array, right: Array) -> Array:
    """Return left - right where that is positive, else 0; NaN if an operand is NaN."""
    unordered = np.isnan(left) | np.isnan(right)
    return np.where(unordered, np.nan, np.where(left > right, left - right, 0))


def saturate(array: Array) -> Array:
    """Return numbers limited to the range 0 to 1; NaN gives 0."""
    return np.asarray(np.fmin(np.fmax(array, 0), 1))


def first_set(array: Array) -> Array:
    """Return the position of the lowest set bit, counted from 1; 0 if no bit is set."""
    bits = array.dtype.itemsize * 8
    zeros = math.cttz(array)
    return np.where(zeros == bits, 0, zeros + 1)


def _ptx(text: str) -> _Function:
    """Return the function of PTX with the result $0 and the operands $1 and so on, of one width."""
    letter, operands = "l" if ".b64" in text else "r", len(set(re.findall(r"\$[1-9]", text)))

    @cache
    def compiled() -> _Function:
        from kvtrace.evaluate.ptx.lanes import snippet  # which few kernels need

        return snippet(text, ",".join((f"={letter}", *letter * operands)))

    def run(*arrays: Array) -> Array:
        registers = [np.ascontiguousarray(a).view(f"u{a.dtype.itemsize}") for a in arrays]
        return np.asarray(compiled()(registers)[0]).view(arrays[0].dtype)

    return run


def _averaged(*, rounding_up: bool, without_sign: bool) -> _Function:
    def average(left: Array, right: Array) -> Array:
        if without_sign:
            left, right = unsigned(left), unsigned(right)
        total = left.astype(np.int64) + right.astype(np.int64) + int(rounding_up)
        return (total >> 1).astype(np.int32)

    return average


def _joined_halves(high: Array, low: Array) -> Array:
    bits = (high.astype(np.int64) << 32) | unsigned(low).astype(np.int64)
    return np.ascontiguousarray(bits).view(np.float64)


def _half_of(array: Array, shift: int) -> Array:
    return (np.ascontiguousarray(array).view(np.int64) >> shift).astype(np.int32)


def reciprocal_of_high_word(array: Array) -> Array:
    """Return 1 / x, with the low halves of x and of the result taken as 0; denormals flush."""
    mask = np.int64(-1) << np.int64(32)
    high = (np.ascontiguousarray(array).view(np.int64) & mask).view(np.float64)
    inverse = flush(1 / flush(high))
    return (np.ascontiguousarray(inverse).view(np.int64) & mask).view(np.float64)


def _viewed_as(dtype: type[np.generic]) -> _Function:
    return lambda array: np.ascontiguousarray(array).view(dtype)


def _to_whole(direction: Direction, target: str, *, signed: bool) -> _Function:
    element = element_of(target)
    integral = TO_INTEGRAL[direction]
    return lambda array: to_integer(integral(array), element, signed=signed)


def _from_whole(direction: Direction, target: type[np.floating], *, signed: bool) -> _Function:
    def convert(array: Array) -> Array:
        return directed.from_integer(direction, array if signed else unsigned(array), target)

    return convert


FUNCTIONS: dict[str, _Function] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "cospi": _wide(special.cospi),
    "cyl_bessel_i0": _wide(partial(special.bessel_i, 0)),
    "cyl_bessel_i1": _wide(partial(special.bessel_i, 1)),
    "erf": math.erf,
    "erfc": _wide(special.erfc),
    "erfcinv": _wide(special.erfcinv),
    "erfcx": _wide(special.erfcx),
    "erfinv": _wide(special.erfinv),
    "exp": np.exp,
    "exp10": lambda array: np.power(array.dtype.type(10), array),
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fabs": np.abs,
    "abs": np.abs,
    "llabs": np.abs,
    "fdim": fdim,
    "finite": np.isfinite,
    "isfinite": np.isfinite,
    "floor": np.floor,
    "fma": math.fma,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": np.fmod,
    "hypot": _wide(special.norm),
    "ilogb": ilogb,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "j0": _wide(partial(special.bessel_of_orders, "j", np.array(0))),
    "j1": _wide(partial(special.bessel_of_orders, "j", np.array(1))),
    "jn": _wide(partial(special.bessel_of_orders, "j")),
    "ldexp": np.ldexp,
    "scalbn": np.ldexp,
    "lgamma": _wide(special.lgamma),
    "llrint": lambda array: to_integer(np.rint(array), element_of("i64"), signed=True),
    "llround": lambda array: to_integer(
        math.round_half_away(array), element_of("i64"), signed=True
    ),
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "logb": logb,
    "max": np.maximum,
    "min": np.minimum,
    "nearbyint": np.rint,
    "nextafter": np.nextafter,
    "norm3d": _wide(special.norm),
    "norm4d": _wide(special.norm),
    "normcdf": _wide(special.normcdf),
    "normcdfinv": _wide(special.normcdfinv),
    "pow": np.power,
    "powi": np.power,
    "rcbrt": _wide(lambda array: 1 / np.cbrt(array)),
    "remainder": remainder,
    "rhypot": _wide(special.inverse_norm),
    "rint": np.rint,
    "rnorm3d": _wide(special.inverse_norm),
    "rnorm4d": _wide(special.inverse_norm),
    "round": math.round_half_away,
    "rsqrt": math.rsqrt,
    "saturate": saturate,
    "signbit": np.signbit,
    "sin": np.sin,
    "sinh": np.sinh,
    "sinpi": _wide(special.sinpi),
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "tgamma": _wide(special.tgamma),
    "trunc": np.trunc,
    "y0": _wide(partial(special.bessel_of_orders, "y", np.array(0))),
    "y1": _wide(partial(special.bessel_of_orders, "y", np.array(1))),
    "yn": _wide(partial(special.bessel_of_orders, "y")),
    "rcp64h": reciprocal_of_high_word,
    # bits and integers
    "brev": _ptx("brev.b32 $0, $1;"),
    "brevll": _ptx("brev.b64 $0, $1;"),
    "byte_perm": _ptx("{.reg .b32 low; and.b32 low, $3, 0x7777; prmt.b32 $0, $1, $2, low;}"),
    "clz": math.ctlz,
    "clzll": math.ctlz,
    "ffs": first_set,
    "ffsll": first_set,
    "popc": math.ctpop,
    "popcll": math.ctpop,
    "hadd": _averaged(rounding_up=False, without_sign=False),
    "uhadd": _averaged(rounding_up=False, without_sign=True),
    "rhadd": _averaged(rounding_up=True, without_sign=False),
    "urhadd": _averaged(rounding_up=True, without_sign=True),
    "mulhi": high_half_signed,
    "mul64hi": high_half_signed,
    "umulhi": mulhiui,
    "umul64hi": mulhiui,
    "mul24": _ptx("mul24.lo.s32 $0, $1, $2;"),
    "umul24": _ptx("mul24.lo.u32 $0, $1, $2;"),
    "sad": _ptx("sad.s32 $0, $1, $2, $3;"),
    "usad": _ptx("sad.u32 $0, $1, $2, $3;"),
    # bits under another type
    "double2hiint": lambda array: _half_of(array, 32),
    "double2loint": lambda array: _half_of(array, 0),
    "hiloint2double": _joined_halves,
    "double_as_longlong": _viewed_as(np.int64),
    "longlong_as_double": _viewed_as(np.float64),
    "float_as_int": _viewed_as(np.int32),
    "float_as_uint": _viewed_as(np.int32),
    "int_as_float": _viewed_as(np.float32),
    "uint_as_float": _viewed_as(np.float32),
}
"""Functions by name; a trailing f or d for the type may be left out."""

for _direction in _DIRECTIONS:
    for _letter in ("f", "d"):
        FUNCTIONS[f"{_letter}add_{_direction}"] = partial(directed.add, _direction)
        FUNCTIONS[f"{_letter}sub_{_direction}"] = partial(directed.subtract, _direction)
        FUNCTIONS[f"{_letter}mul_{_direction}"] = partial(directed.multiply, _direction)
        FUNCTIONS[f"{_letter}div_{_direction}"] = partial(directed.divide, _direction)
        FUNCTIONS[f"{_letter}rcp_{_direction}"] = partial(directed.reciprocal, _direction)
        FUNCTIONS[f"{_letter}sqrt_{_direction}"] = partial(directed.square_root, _direction)
    for _name in ("fmaf", "fma"):
        FUNCTIONS[f"{_name}_{_direction}"] = partial(directed.fused_multiply_add, _direction)
    FUNCTIONS[f"double2float_{_direction}"] = partial(directed.narrowed, _direction)
    for _source in ("float", "double"):
        for _short, _target, _is_signed in (
            ("int", "i32", True),
            ("uint", "i32", False),
            ("ll", "i64", True),
            ("ull", "i64", False),
        ):
            FUNCTIONS[f"{_source}2{_short}_{_direction}"] = _to_whole(
                _direction, _target, signed=_is_signed
            )
            FUNCTIONS[f"{_short}2{_source}_{_direction}"] = _from_whole(
                _direction,
                np.float32 if _source == "float" else np.float64,
                signed=_is_signed,
            )
FUNCTIONS["frsqrt_rn"] = _wide(lambda array: 1 / np.sqrt(array))


_WAVE: Final = Accuracy(2, follows="steady")

ACCURACY: Final[dict[str, Accuracy]] = {
    **dict.fromkeys(("exp", "fast_exp"), Accuracy(2, argument=1)),
    **dict.fromkeys(("exp2", "expm1", "cbrt", "erf", "tanh", "log", "log1p", "log2"), Accuracy(2)),
    **dict.fromkeys(("atan", "acos", "sqrt", "rsqrt", "rcbrt", "exp10"), Accuracy(2)),
    **dict.fromkeys(("sinh", "asinh", "atanh", "log10", "erfinv"), Accuracy(3)),
    **dict.fromkeys(("asin", "acosh", "erfcinv"), Accuracy(4)),
    **dict.fromkeys(("erfc", "normcdf", "erfcx", "normcdfinv"), Accuracy(6)),
    **dict.fromkeys(("sin", "cos"), _WAVE),
    **dict.fromkeys(("fast_dividef", "fast_fdivide"), Accuracy(2, pole=1)),
    **dict.fromkeys(("div_rn", "fdiv_rn"), Accuracy(pole=1)),
    **dict.fromkeys(("abs", "fabs"), STEADY),
    **dict.fromkeys(("cosh", "sinpi", "cospi", "rhypot", "rnorm3d"), Accuracy(2, follows="jumps")),
    **dict.fromkeys(
        ("atan2", "hypot", "norm3d", "norm4d", "rnorm4d"), Accuracy(3, follows="jumps")
    ),
    "tan": Accuracy(4, follows="jumps"),
    **dict.fromkeys(("pow", "powi"), Accuracy(8, follows="jumps")),
    "tgamma": Accuracy(11, follows="jumps"),
    **dict.fromkeys(
        (
            "ceil", "floor", "rint", "nearbyint", "round", "trunc", "fmax", "fmin", "max", "min",
            "fma", "saturate", "sqrt_rn", "fsqrt_rn", "fmul_rn", "fadd_rn", "fsub_rn",
        ),
        EXACT,
    ),
    **dict.fromkeys(("copysign", "fdim", "fmod", "ldexp", "logb", "nextafter"), JUMPS),
    **dict.fromkeys(("remainder", "scalbn"), JUMPS),
}  # fmt: skip
"""Error bounds of the functions whose documentation states them; most others have none."""

_DIRECTED: Final = tuple(f"_{direction}" for direction in _DIRECTIONS)

UNDOCUMENTED: Final = Accuracy(float("inf"), follows="jumps")


def accuracy_of(symbol: str) -> Accuracy:
    """Return the error bound of a device's function, by its symbol; infinite if undocumented."""
    name = _base_name(symbol)
    accuracy = ACCURACY.get(name) or ACCURACY.get(name[:-1] if name[-1:] in ("f", "d") else name)
    if accuracy is None and name.endswith(_DIRECTED):
        return JUMPS  # rounded as its name says; no radius is passed on
    return UNDOCUMENTED if accuracy is None else accuracy


_UNFLUSHED: Final = frozenset({
    "copysign", "fmax", "fmin", "fdim", "isinf", "isnan", "signbit", "finite", "isfinited", "log",
    "log2", "log10", "erfinv", "float_as_int", "float_as_uint", "int_as_float", "uint_as_float",
    "trunc",
})  # fmt: skip
"""Functions of libdevice that keep denormals, as an H100 shows."""


_FLUSHING_OPERANDS: Final = frozenset({"exp", "j1", "rhypot", "rnorm3d", "rnorm4d"})
"""Functions of libdevice that flush operands alone."""


def library_function(symbol: str) -> _Function | None:
    """Return the function of `__nv_tanhf`, `__ocml_tanh_f32` and the like; None if unknown."""
    name = function_name(symbol)
    function = FUNCTIONS.get(name)
    single = SINGLE.get(symbol.removeprefix("__nv_")) if symbol.startswith("__nv_") else None
    if single is not None:
        return single if function is None else partial(_by_type, single, function)
    if function is None or not symbol.startswith("__nv_") or name in _UNFLUSHED:
        return function
    if name in ("cbrt", "rcbrt"):
        return partial(_without_denormals, function)
    return partial(_of_flushed, function) if name in _FLUSHING_OPERANDS else flushing(function)


def _by_type(single: _Function, exact: _Function, *arrays: Array) -> Array:
    """Return a float32 function's value; of float64, as shadows compute in, the exact one's."""
    is_wide = any(array.dtype == np.float64 for array in arrays)
    return np.asarray((exact if is_wide else single)(*arrays))


def _of_flushed(function: _Function, *arrays: Array) -> Array:
    return np.asarray(function(*map(flush_single, arrays)))


def _without_denormals(function: _Function, array: Array) -> Array:
    return np.where(
        (flush_single(array) == 0) & (array != 0), array.dtype.type(np.nan), function(array)
    )


def function_name(symbol: str) -> str:
    """Return a function's name without the library's prefix and its type, as `tanh`."""
    name = _base_name(symbol)
    return name[:-1] if name not in FUNCTIONS and name[-1:] in ("f", "d") else name


def _base_name(symbol: str) -> str:
    """Return a function's name without the library's prefix and the suffix of its type."""
    name = symbol
    for prefix in ("__nv_", "__ocml_", "llvm."):
        name = name.removeprefix(prefix)
    for suffix in ("_f16", "_f32", "_f64", ".f32", ".f64"):
        name = name.removesuffix(suffix)
    return name


@semantics("tt.extern_elementwise")
def extern_elementwise(op: Op, compiler: Compiler) -> Step:
    """Return the step of a device library's function, found by the op's symbol."""
    symbol = str(attribute(op, "symbol"))
    function = library_function(symbol)
    if function is None:
        raise unsupported(op, compiler.kernel, f"with symbol {symbol!r}")
    return compiler.elementwise(op, Elementwise(function, 1, (), accuracy_of(symbol)))
