"""`arith`: conversions between types. Each function takes the result's element type last."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from kvtrace.evaluate.compiler import Compiler, computed, passed_on, typed_result
from kvtrace.evaluate.dialects.arith import unsigned
from kvtrace.evaluate.directed import from_integer_with_rest, to_odd
from kvtrace.evaluate.registry import Step, elementwise, semantics
from kvtrace.evaluate.rounding import from_memory, to_integer, to_memory
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import ElementType, element_of, value_type
from kvtrace.evaluate.values import (
    Array,
    Sum,
    Unknown,
    constant_sum,
    to_array,
    unknown_of,
)
from kvtrace.ir import Module, Op
from kvtrace.ir.flow import constant_of
from kvtrace.ir.integers import signed_range
from kvtrace.ir.locations import version_numbers
from kvtrace.ir.ops import UNSIGNED


def truncated_float(array: Array, element: ElementType) -> Array:
    """Return floats in another float type; the caller rounds to types that NumPy lacks.

    float64 becomes bfloat16 or an 8-bit type through float32 rounded to odd, so that the caller's
    rounding is the only one.
    """
    if array.dtype == np.float64 and element.rounded:
        nearest = array.astype(element.value)
        return to_odd(nearest, array - nearest)
    return array.astype(element.value, copy=False)


def signed_to_float(array: Array, element: ElementType) -> Array:
    """Return signed integers as floats, rounded once."""
    if array.dtype == np.bool_:
        return -array.astype(element.value)
    return _whole_to_float(array, element)


def _whole_to_float(array: Array, element: ElementType) -> Array:
    """Return integers as floats; for types that NumPy lacks, to odd, as the caller rounds again."""
    if not element.rounded or array.dtype.itemsize < 4:
        return array.astype(element.value)
    return to_odd(*from_integer_with_rest(array, np.float32))


def unsigned_to_float(array: Array, element: ElementType) -> Array:
    """Return unsigned integers as floats, rounded once."""
    return _whole_to_float(unsigned(array), element)


def _by_way_of_float32(function: Callable[..., Array], array: Array, element: ElementType) -> Array:
    """Return integers as floats; the caller rounds the float32 once more to narrower types."""
    return function(array, replace(element, memory=element.value))


def _whole_by_target(function: Callable[..., Any], target: str, _op: Op) -> Callable[..., Any]:
    """Return conversions that round to bfloat16 once, from sm_90 on, or twice."""
    backend, _, architecture = target.partition(":")
    twice = backend == "hip" or (architecture.isdigit() and int(architecture) < 90)
    return partial(_by_way_of_float32, function) if twice else function


def float_to_signed(array: Array, element: ElementType) -> Array:
    """Return floats as signed integers, rounded toward zero and saturated."""
    return to_integer(array, element, signed=True)


def float_to_unsigned(array: Array, element: ElementType) -> Array:
    """Return floats as unsigned integers, rounded toward zero and saturated."""
    return to_integer(array, element, signed=False)


def _narrow_by_target(function: Callable[..., Any], target: str, op: Op) -> Callable[..., Any]:
    """Return conversions to 8 bits, on AMD to 16 too, that keep the low bits of a wider integer.

    GPUs have none to 8 bits. NVIDIA's is to 16 bits, saturated, with or without a sign. AMD's is
    to 32 bits, of float16 to 16 bits, and to 8 bits always with a sign.
    """
    source, result = (value_type(value.type).element for value in (op.operands[0], op.results[0]))
    if not target.startswith("hip:"):
        return partial(_low_bits, function, element_of("i16")) if result.bits == 8 else function
    wide = element_of("i16" if source.name == "f16" else "i32")
    if result.bits not in (8, 16) or result.bits == wide.bits:
        return function
    return partial(_low_bits, float_to_signed if result.bits == 8 else function, wide)


def _low_bits(
    function: Callable[..., Array], wide: ElementType, array: Array, element: ElementType
) -> Array:
    return function(array, wide).astype(element.value)


def zero_extended(array: Array, element: ElementType) -> Array:
    """Return integers widened with zero bits."""
    return unsigned(array).astype(element.value)


def truncated_integer(array: Array, element: ElementType) -> Array:
    """Return integers in another type: low bits, or widened with the sign."""
    if element.kind == "b":
        return (array & 1).astype(np.bool_)
    return array.astype(element.value)


elementwise("arith.truncf", "arith.extf")(truncated_float)
elementwise("arith.sitofp", by_target=_whole_by_target)(signed_to_float)
elementwise("arith.uitofp", by_target=_whole_by_target)(unsigned_to_float)
elementwise("arith.fptosi", by_target=_narrow_by_target)(float_to_signed)
elementwise("arith.fptoui", by_target=_narrow_by_target)(float_to_unsigned)


def integers_of(op: Op) -> tuple[int, int] | None:
    """Return the smallest and the largest integer that a conversion of floats gives, else None."""
    if op.name not in ("arith.fptosi", "arith.fptoui"):
        return None
    bits = value_type(op.results[0].type).element.bits
    return (0, (1 << bits) - 1) if op.name == "arith.fptoui" else signed_range(bits)


typed_result(
    "arith.truncf", "arith.extf", "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui"
)


_LEAST_SHORT: Final = -(1 << 15)


def _keeps_overflow(op: Op, module: Module) -> bool:
    """Return whether a 16-bit negation or absolute value is widened as it was computed.

    NVIDIA's assembler computes both in 32 bits and does not cut them off, the first before Triton
    3.9, the second before 3.8: -(-32768) is 32768.
    """
    inner, version = op.operands[0].owner, version_numbers(module.options.triton)
    if version is None or not module.target.startswith("cuda:"):
        return False
    if op.name != "arith.extsi" or not isinstance(inner, Op):
        return False
    if value_type(op.operands[0].type).element.name != "i16":
        return False
    negates = inner.name == "arith.subi" and constant_of(inner.operands[0]) == 0
    return (negates and version < (3, 9)) or (inner.name == "math.absi" and version < (3, 8))


def integer_conversion(op: Op, module: Module) -> Callable[[Array], Array]:
    """Return the array function of an op that changes the width of integers."""
    keeps_overflow = _keeps_overflow(op, module)
    source = value_type(op.operand("source").type).element
    target = value_type(op.results[0].type).element
    as_unsigned = op.name in UNSIGNED

    def convert(array: Array) -> Array:
        if source.kind == "b":
            wide = array.astype(target.value)
            return wide if as_unsigned else -wide
        wide = (zero_extended if as_unsigned else truncated_integer)(array, target)
        return np.where(wide == _LEAST_SHORT, -wide, wide) if keeps_overflow else wide

    return convert


@semantics("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui")
def integer_cast(op: Op, compiler: Compiler) -> Step:
    """Return the step of a change of width; a Sum that fits both types is unchanged."""
    source = value_type(op.operand("source").type)
    target = value_type(op.results[0].type)
    slot, result = op.operand("source").id, op.results[0].id
    unsigned_source = op.name in UNSIGNED
    convert = integer_conversion(op, compiler.module)

    def step(values: list[Any], _scope: Scope) -> None:
        value = values[slot]
        if isinstance(value, Unknown):
            values[result] = unknown_of((value,))
            return
        if isinstance(value, Sum) and _same_number(value):
            values[result] = value
            return
        if isinstance(value, bool):
            as_integer = int(value) if unsigned_source else -int(value)
            values[result] = constant_sum(as_integer) if target.element.kind == "i" else value
            return
        values[result] = convert(to_array(value, source))

    low, high = signed_range(target.element.bits)

    def _same_number(value: Sum) -> bool:
        if target.element.kind == "b":
            return False
        if unsigned_source and value.low < 0:
            return False
        return low <= value.low and value.high <= high

    return compiler.counting_step(op, step, target.size, 0)


def rebits(array: Array, source: ElementType, target: ElementType) -> Array:
    """Return the values that the same bits have in another type of the same width."""
    if source.kind == "b" or target.kind == "b":
        return array.astype(target.value)
    stored = np.ascontiguousarray(to_memory(array, source)).view(target.memory)
    return from_memory(stored, target)


@semantics("arith.bitcast", "tt.bitcast")
def bitcast(op: Op, compiler: Compiler) -> Step:
    """Return the step of a bitcast; pointers are unchanged."""
    source = value_type(op.operand("source").type)
    target = value_type(op.results[0].type)
    if source.pointer or source.element == target.element:
        return passed_on(op)

    def retyped(value: Any) -> Array:
        return rebits(to_array(value, source), source.element, target.element)

    step = computed(op, retyped)
    return compiler.counting_step(op, step, target.size, 0)
