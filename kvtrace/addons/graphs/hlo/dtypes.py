"""Element types: names, which target has which, and what two of them make together.

An element type is a `numpy.dtype`, those of `ml_dtypes` included; its name in tables is NumPy's
(`float32`, `bfloat16`, `float8_e4m3fn`, `bool`).

Promotion (docs/hlo.md has it as a table):
- equal types stay; bool gives way to every other type;
- two integers: NumPy's result, and int64 where NumPy would go to float64 (uint64 with a signed);
- an integer and a float: the float, whatever the widths;
- two floats: the wider; float16 with bfloat16 is float32; a float8 gives way to every other float,
  and two different float8 make bfloat16, which holds both exactly;
- a Python scalar (and NumPy's float64, int64 and bool scalars, which Python arithmetic on sizes
  gives) is weak: it takes the tensor's type, unless its kind is higher (float over integer over
  bool), when it counts as float32 or int32;
- functions with fractional results make float32 of integers and bools.
"""

from typing import Any, Final

import ml_dtypes
import numpy as np

Dtype = np.dtype[Any]

BOOL: Final[Dtype] = np.dtype(np.bool_)
INT32: Final[Dtype] = np.dtype(np.int32)
UINT32: Final[Dtype] = np.dtype(np.uint32)
INT64: Final[Dtype] = np.dtype(np.int64)
FLOAT16: Final[Dtype] = np.dtype(np.float16)
FLOAT32: Final[Dtype] = np.dtype(np.float32)
FLOAT64: Final[Dtype] = np.dtype(np.float64)
BFLOAT16: Final[Dtype] = np.dtype(ml_dtypes.bfloat16)

#: The small floats of `ml_dtypes` that StableHLO has.
FLOAT8: Final[tuple[Dtype, ...]] = tuple(
    np.dtype(getattr(ml_dtypes, name))
    for name in (
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3",
        "float8_e3m4",
        "float8_e4m3b11fnuz",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
    )
    if hasattr(ml_dtypes, name)
)

SIGNED: Final[tuple[Dtype, ...]] = tuple(np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
UNSIGNED: Final[tuple[Dtype, ...]] = tuple(np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
INTEGERS: Final = (*SIGNED, *UNSIGNED)
FLOATS: Final = (*FLOAT8, BFLOAT16, FLOAT16, FLOAT32, FLOAT64)

_FLOAT_SET: Final = frozenset(FLOATS)
_INTEGER_SET: Final = frozenset(INTEGERS)
_SIGNED_SET: Final = frozenset(SIGNED)
_FLOAT8_SET: Final = frozenset(FLOAT8)

#: Element types of each target. XLA has all of StableHLO's. Neuron's devices have none of 64 bits
#: (architecture pages of NeuronCore-v2 and v3 in the Neuron documentation), and these float8, some
#: of them on some generations only (error codes EVRF051 and EVRF052 there).
TARGETS: Final[dict[str, frozenset[Dtype]]] = {
    "xla": frozenset((BOOL, *INTEGERS, *FLOATS)),
    "neuron": frozenset(
        (BOOL, BFLOAT16, FLOAT16, FLOAT32)
        + tuple(dtype for dtype in INTEGERS if dtype.itemsize <= FLOAT32.itemsize)
        + tuple(d for d in FLOAT8 if d.name in ("float8_e4m3", "float8_e4m3fn", "float8_e5m2"))
    ),
}

#: What to use instead of a type that a target does not have.
INSTEAD: Final[dict[str, str]] = {
    "float64": "float32",
    "int64": "int32",
    "uint64": "uint32",
    "longdouble": "float32",
    "float128": "float32",
    "complex64": "two float32 tensors",
    "complex128": "two float32 tensors",
}


def is_float(dtype: Dtype) -> bool:
    """Whether it is one of the floats, small ones included."""
    return dtype in _FLOAT_SET


def is_integer(dtype: Dtype) -> bool:
    """Whether it is an integer; bool is none."""
    return dtype in _INTEGER_SET


def is_signed(dtype: Dtype) -> bool:
    """Whether it is a signed integer."""
    return dtype in _SIGNED_SET


def native(dtype: Dtype) -> Dtype:
    """The type in this machine's order of bytes, which tensors have."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


_promoted: dict[tuple[Dtype, Dtype], Dtype] = {}


def promote(left: Dtype, right: Dtype) -> Dtype:
    """The type that two tensors' elements make together."""
    if left == right:
        return left
    known = _promoted.get((left, right))
    if known is None:
        known = _promoted[left, right] = _promote(left, right)
    return known


def _promote(left: Dtype, right: Dtype) -> Dtype:
    if left == BOOL:
        return right
    if right == BOOL:
        return left
    if is_float(left) and is_float(right):
        return _promote_floats(left, right)
    if is_float(left) or is_float(right):
        return left if is_float(left) else right
    together = np.promote_types(left, right)
    return INT64 if together == FLOAT64 else together


def _promote_floats(left: Dtype, right: Dtype) -> Dtype:
    if left in _FLOAT8_SET or right in _FLOAT8_SET:
        if left in _FLOAT8_SET and right in _FLOAT8_SET:
            return BFLOAT16
        return right if left in _FLOAT8_SET else left
    if {left, right} == {FLOAT16, BFLOAT16}:
        return FLOAT32
    return left if left.itemsize > right.itemsize else right


def is_weak(value: object) -> bool:
    """Whether a scalar takes the type of the tensor that it meets."""
    return isinstance(value, bool | int | float | np.float64 | np.int64 | np.bool_)


def with_weak(dtype: Dtype, value: object) -> Dtype:
    """The type that a tensor of `dtype` and a weak scalar make together."""
    if isinstance(value, bool | np.bool_):
        return dtype
    if isinstance(value, int | np.integer):
        return INT32 if dtype == BOOL else dtype
    return dtype if is_float(dtype) else FLOAT32


def of_weak(value: object) -> Dtype:
    """The type of a weak scalar that meets no tensor."""
    if isinstance(value, bool | np.bool_):
        return BOOL
    return INT32 if isinstance(value, int | np.integer) else FLOAT32


def fractional(dtype: Dtype) -> Dtype:
    """The type of a function's result that has fractions: sqrt, divide, mean."""
    return dtype if is_float(dtype) else FLOAT32


def wide(dtype: Dtype) -> Dtype:
    """The type that sums of `dtype` are made in: float32 for the smaller floats."""
    return FLOAT32 if is_float(dtype) and dtype.itemsize < 4 else dtype


def lowest(dtype: Dtype) -> Any:
    """The smallest value: minus infinity where the type has it."""
    if dtype == BOOL:
        return False
    if is_integer(dtype):
        return int(np.iinfo(dtype).min)
    return _extreme(dtype, -np.inf, "min")


def highest(dtype: Dtype) -> Any:
    """The greatest value: infinity where the type has it."""
    if dtype == BOOL:
        return True
    if is_integer(dtype):
        return int(np.iinfo(dtype).max)
    return _extreme(dtype, np.inf, "max")


def _extreme(dtype: Dtype, infinity: float, bound: str) -> float:
    with np.errstate(all="ignore"):
        held = float(np.asarray(infinity).astype(dtype))
    return held if held == infinity else float(getattr(ml_dtypes.finfo(dtype), bound))
