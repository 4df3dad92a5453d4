"""Element types: their names, the types of each target, and promotion of two types.

An element type is a `numpy.dtype`, those of `ml_dtypes` included; its name in tables is NumPy's
(`float32`, `bfloat16`, `float8_e4m3fn`, `bool`).

Promotion (docs/hlo.md has it as a table):
- equal types stay; bool gives way to every other type;
- two integers: NumPy's result, but int64 where NumPy's is float64 (uint64 with a signed type);
- an integer and a float: the float, whatever the widths;
- two floats: the wider; float16 with bfloat16 is float32; a float8 gives way to every other float,
  and two different float8 make bfloat16, which holds both exactly;
- a Python scalar (and NumPy's float64, int64 and bool scalars, as Python arithmetic on sizes
  returns) is weak: the tensor's type wins, unless the scalar's kind is higher (float over integer
  over bool); then the scalar is float32 or int32;
- functions with fractional results convert integers and bools to float32.
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

#: Type that no target, or not every target, has → the advice for messages: what to use instead.
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
    """Return whether a type is a float, 8-bit floats included."""
    return dtype in _FLOAT_SET


def is_integer(dtype: Dtype) -> bool:
    """Return whether a type is an integer; bool is not."""
    return dtype in _INTEGER_SET


def is_signed(dtype: Dtype) -> bool:
    """Return whether a type is a signed integer."""
    return dtype in _SIGNED_SET


def native(dtype: Dtype) -> Dtype:
    """Return the type in this machine's byte order, which all tensors use."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


_promoted: dict[tuple[Dtype, Dtype], Dtype] = {}


def promote(left: Dtype, right: Dtype) -> Dtype:
    """Return the common element type of two tensors, by the table above."""
    if left == right:
        return left
    promoted = _promoted.get((left, right))
    if promoted is None:
        promoted = _promoted[left, right] = _promote(left, right)
    return promoted


def _promote(left: Dtype, right: Dtype) -> Dtype:
    if left == BOOL:
        return right
    if right == BOOL:
        return left
    if is_float(left) and is_float(right):
        return _promote_floats(left, right)
    if is_float(left) or is_float(right):
        return left if is_float(left) else right
    common = np.promote_types(left, right)
    return INT64 if common == FLOAT64 else common


def _promote_floats(left: Dtype, right: Dtype) -> Dtype:
    if left in _FLOAT8_SET or right in _FLOAT8_SET:
        if left in _FLOAT8_SET and right in _FLOAT8_SET:
            return BFLOAT16
        return right if left in _FLOAT8_SET else left
    if {left, right} == {FLOAT16, BFLOAT16}:
        return FLOAT32
    return left if left.itemsize > right.itemsize else right


def is_weak(value: object) -> bool:
    """Return whether a value is a weak scalar, whose type gives way to a tensor's."""
    return isinstance(value, bool | int | float | np.float64 | np.int64 | np.bool_)


def promote_with_scalar(dtype: Dtype, value: object) -> Dtype:
    """Return the result type of a tensor of `dtype` combined with a weak scalar."""
    if isinstance(value, bool | np.bool_):
        return dtype
    if isinstance(value, int | np.integer):
        return INT32 if dtype == BOOL else dtype
    return dtype if is_float(dtype) else FLOAT32


def scalar_dtype(value: object) -> Dtype:
    """Return the type that a weak scalar has by itself: bool, int32 or float32."""
    if isinstance(value, bool | np.bool_):
        return BOOL
    return INT32 if isinstance(value, int | np.integer) else FLOAT32


def float_dtype(dtype: Dtype) -> Dtype:
    """Return the result type of sqrt, divide or mean: a float stays, others become float32."""
    return dtype if is_float(dtype) else FLOAT32


def wide_dtype(dtype: Dtype) -> Dtype:
    """Return the type in which `dtype` is computed: float32 for 8- and 16-bit floats."""
    return FLOAT32 if is_float(dtype) and dtype.itemsize < 4 else dtype


def lowest(dtype: Dtype) -> Any:
    """Return a type's smallest value as a Python scalar: minus infinity if the type has it."""
    if dtype == BOOL:
        return False
    if is_integer(dtype):
        return int(np.iinfo(dtype).min)
    return _extreme(dtype, -np.inf, "min")


def highest(dtype: Dtype) -> Any:
    """Return a type's greatest value as a Python scalar: infinity if the type has it."""
    if dtype == BOOL:
        return True
    if is_integer(dtype):
        return int(np.iinfo(dtype).max)
    return _extreme(dtype, np.inf, "max")


def _extreme(dtype: Dtype, infinity: float, bound: str) -> float:
    """Return the infinity if the type can hold it, else the type's finite `bound` (min or max)."""
    with np.errstate(all="ignore"):
        rounded = float(np.asarray(infinity).astype(dtype))
    return rounded if rounded == infinity else float(getattr(ml_dtypes.finfo(dtype), bound))
