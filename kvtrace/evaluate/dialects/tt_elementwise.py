"""`tt`: elementwise ops and calls of device libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import Compiler, attribute, typed_result
from kvtrace.evaluate.dialects import math
from kvtrace.evaluate.dialects.arith_casts import truncated_float
from kvtrace.evaluate.numerics import toward_zero
from kvtrace.evaluate.registry import Elementwise, Step, elementwise, semantics, unsupported
from kvtrace.evaluate.types import ElementType
from kvtrace.evaluate.values import Array
from kvtrace.ir import Op

elementwise("tt.precise_divf", flops=1)(np.divide)
elementwise("tt.precise_sqrt", flops=1)(np.sqrt)
typed_result("tt.fp_to_fp")


@elementwise("tt.fp_to_fp", attributes=("rounding",))
def fp_to_fp(rounding: Any, array: Array, element: ElementType) -> Array:
    """Convert between float types; rounding mode 0 (rtz) drops bits, 1 (rtne) is the usual one."""
    if rounding in (0, "rtz"):
        return toward_zero(array, element)
    return truncated_float(array, element)


@elementwise("tt.mulhiui")
def mulhiui(left: Array, right: Array) -> Array:
    """High half of the product of unsigned integers."""
    if left.dtype.itemsize < 8:
        bits = left.dtype.itemsize * 8
        narrow = np.dtype(f"u{left.dtype.name}")
        wide = left.view(narrow).astype(np.uint64) * right.view(narrow).astype(np.uint64)
        return (wide >> np.uint64(bits)).astype(narrow).view(left.dtype)
    return _high_half_of_64(left.view(np.uint64), right.view(np.uint64)).view(np.int64)


def _high_half_of_64(left: Array, right: Array) -> Array:
    """Multiply in halves of 32 bits, carrying by hand."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a, b = left >> half, left & low
    c, d = right >> half, right & low
    carry = ((b * d) >> half) + ((a * d) & low) + ((b * c) & low)
    return np.asarray(a * c + ((a * d) >> half) + ((b * c) >> half) + (carry >> half))


@elementwise("tt.clampf", attributes=("propagateNan",), flops=2)
def clampf(propagate: Any, array: Array, low: Array, high: Array) -> Array:
    """Limit to a range; NaN stays if propagateNan says so (0xFFFF), else gives the lower bound."""
    if propagate in (None, 0, "none"):
        result: Array = np.fmin(np.fmax(array, low), high)
        return result
    return np.asarray(np.minimum(np.maximum(array, low), high))


_LIBRARY: dict[str, Callable[..., Any]] = {
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
    "div_rn": np.divide,
    "erf": math.erf,
    "exp": np.exp,
    "exp10": lambda array: np.power(array.dtype.type(10), array),
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fabs": np.abs,
    "fast_cosf": np.cos,
    "fast_dividef": np.divide,
    "fast_expf": np.exp,
    "fast_logf": np.log,
    "fast_log2f": np.log2,
    "fast_powf": np.power,
    "fast_sinf": np.sin,
    "floor": np.floor,
    "fma": math.fma,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "isfinited": np.isfinite,
    "finite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "ldexp": np.ldexp,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "max": np.maximum,
    "min": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "mul_rn": np.multiply,
    "nearbyint": np.rint,
    "pow": np.power,
    "powi": np.power,
    "rcp_rn": np.reciprocal,
    "rint": np.rint,
    "round": math.round_half_away,
    "rsqrt": math.rsqrt,
    "signbit": np.signbit,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "sqrt_rn": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
    "tanhf": np.tanh,
}
"""Functions of CUDA's libdevice (and AMD's OCML) by their name without prefix and type suffix."""


def library_function(symbol: str) -> Callable[..., Any] | None:
    """Find the meaning of `__nv_tanhf`, `__ocml_tanh_f32` and the like."""
    name = symbol
    for prefix in ("__nv_", "__ocml_", "llvm."):
        name = name.removeprefix(prefix)
    for suffix in ("_f16", "_f32", "_f64", ".f32", ".f64"):
        name = name.removesuffix(suffix)
    if name in _LIBRARY:
        return _LIBRARY[name]
    return _LIBRARY.get(name[:-1]) if name[-1:] in ("f", "d") else None


@semantics("tt.extern_elementwise")
def extern_elementwise(op: Op, compiler: Compiler) -> Step:
    """Call a function of a device library, by its symbol."""
    symbol = str(attribute(op, "symbol"))
    function = library_function(symbol)
    if function is None:
        raise unsupported(op, compiler.kernel, f"with symbol {symbol!r}")
    return compiler.elementwise(op, Elementwise(function, 1, ()))
