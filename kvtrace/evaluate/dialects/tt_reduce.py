"""`tt`: reductions, scans, histograms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from kvtrace.evaluate.compiler import CompiledBlock, Compiler, computed, slots_of
from kvtrace.evaluate.fixed_order import by_halves, half_sum, is_order_fixed
from kvtrace.evaluate.registry import Step, semantics
from kvtrace.evaluate.rounding import rounding_to
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import (
    Array,
    ShadowedValue,
    actual,
    full_array,
    full_arrays,
    map_arrays,
    to_array,
    unknown_of,
    with_rank,
)
from kvtrace.evaluate.zeros import sign_reduced_zeros, sign_scanned_zeros
from kvtrace.ir import Block, Op
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import KINDS, Kind

_UFUNCS: dict[str, Any] = {
    "arith.addf": np.add,
    "arith.addi": np.add,
    "arith.mulf": np.multiply,
    "arith.muli": np.multiply,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
}


_AS_FAR_AS_NUMBERS: dict[Any, Any] = {np.fmax: np.maximum, np.fmin: np.minimum}
"""Ufuncs with the same results where no operand is NaN, several times faster."""


def simple_ufunc(block: Block, type_: ValueType) -> Any:
    """Return the ufunc of a combining region that consists of a single op; None for others."""
    functions = component_ufuncs(block, [type_])
    return None if functions is None else functions[0]


def component_ufuncs(block: Block, types: Sequence[ValueType]) -> list[Any] | None:
    """Return a ufunc for each tensor that a region combines on its own; None for other regions."""
    *ops, terminator = block.ops
    producers = {op.results[0].id: op for op in ops if op.results}
    if not len(ops) == len(producers) == len(types):
        return None
    functions = []
    for place, (value, type_) in enumerate(zip(terminator.operands, types, strict=True)):
        op = producers.get(value.id)
        pair = {block.arguments[place].id, block.arguments[place + len(types)].id}
        if op is None or op.name not in _UFUNCS or {part.id for part in op.operands} != pair:
            return None
        if type_.element.kind == "b" and op.name in ("arith.addi", "arith.muli"):
            return None
        functions.append(_UFUNCS[op.name])
    return functions


def _float_op_count(block: Block) -> int:
    return sum(
        1
        for op in block.ops
        if op.name.startswith(("arith.", "math."))
        and op.results
        and value_type(op.results[0].type).element.kind == "f"
        and op.name not in ("arith.select", "arith.constant")
    )


def reduced(function: Any, array: Array, axis: int, type_: ValueType) -> Array:
    """Return an array reduced along an axis by a ufunc, rounded to the element type.

    float16 sums round each partial sum, so they overflow as on a device. Hardware combines within
    threads, then between them, in another order, so the last bits of float sums differ there.
    """
    dtype = type_.element.value
    rounded = rounding_to(type_.element)
    if dtype == np.float16 and function is np.add:
        return half_sum(array, axis)
    if type_.element.kind == "f" and function in (np.add, np.multiply) and is_order_fixed():
        total = by_halves(function, array, axis).astype(dtype)
        return total if rounded is None else rounded(total)
    quick = _AS_FAR_AS_NUMBERS.get(function, function)
    result: Array = np.asarray(quick.reduce(array, axis=axis, dtype=dtype))
    if quick is not function and np.isnan(result).any():
        result = np.asarray(function.reduce(array, axis=axis, dtype=dtype))
    result = sign_reduced_zeros(function, array, axis, result)
    return result if rounded is None else rounded(result)


def along(op: Op, function: Any, array: Array) -> Array:
    """Return an array reduced or scanned by a ufunc along an op's axis, as the op's kind says."""
    axis = int(attribute(op, "axis")) + 1
    if KINDS[op.name].kind is Kind.REDUCTION:
        return np.asarray(function.reduce(array, axis=axis))
    if not attribute(op, "reverse", default=False):
        return np.asarray(function.accumulate(array, axis=axis))
    return np.flip(function.accumulate(np.flip(array, axis), axis=axis), axis)


def _slice_along(value: Any, axis: int, low: int, high: int) -> Any:
    index = (slice(None),) * axis + (slice(low, high),)
    return map_arrays(value, lambda array: array[index])


class _Combiner:
    """Runs a reduction's or scan's combining region on whole arrays, with or without shadows."""

    def __init__(self, block: Block, compiler: Compiler) -> None:
        inside = compiler.instrument
        if inside is not None and not inside.enters_reductions:
            inside = None
        quiet = Compiler(compiler.module, observed=False, instrument=inside)
        self.compiled: CompiledBlock = quiet.block(block)
        self.types = [value_type(value.type) for value in compiled_operands(self.compiled)]

    def combine(
        self, values: list[Any], scope: Scope, left: list[Any], right: list[Any]
    ) -> list[Any]:
        """Return two lists of arrays combined; the region's scalars stand for whole arrays."""
        inner = list(values)
        shape = _shape_of(left[0])
        for slot in self.compiled.outer:
            inner[slot] = with_rank(values[slot], len(shape))
        for slot, value in zip(self.compiled.arguments, (*left, *right), strict=True):
            inner[slot] = value
        outcome = self.compiled.outcome(inner, scope)
        return [
            _broadcast(value, type_, shape)
            for value, type_ in zip(outcome, self.types, strict=True)
        ]


def compiled_operands(block: CompiledBlock) -> Any:
    """Return the IR values of the operands of a block's terminator."""
    return block.terminator.operands


def _shape_of(value: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = actual(value).shape
    return shape


def _broadcast(value: Any, type_: ValueType, shape: tuple[int, ...]) -> Any:
    """Return a value, and its shadow if it has one, broadcast to a shape."""
    array = to_array(actual(value), type_)
    if array.shape != shape:
        array = np.broadcast_to(array, shape)
    if not isinstance(value, ShadowedValue):
        return array
    return replace(value, actual=array, shadow=np.broadcast_to(value.shadow, shape))


@semantics("tt.reduce")
def reduce(op: Op, compiler: Compiler) -> Step:
    """Return the step of a reduction: by a ufunc, or in a tree if the region has several ops."""
    block = op.regions[0].blocks[0]
    axis = int(attribute(op, "axis")) + 1
    types = [value_type(value.type) for value in op.group("source")]
    function = simple_ufunc(block, types[0]) if len(types) == 1 else None
    rows = types[0].size // types[0].shape[axis - 1]
    flops = (types[0].size - rows) * _float_op_count(block)
    extent = types[0].shape[axis - 1]
    if function is not None:
        step = _reduce_by_ufunc(op, function, axis, types[0])
        return compiler.counting_step(op, step, types[0].size, flops)
    combiner = _Combiner(block, compiler)

    def in_tree(values: list[Any], scope: Scope, arrays: list[Any]) -> list[Any]:
        count = extent
        while count > 1:
            half = count // 2
            left = [_slice_along(array, axis, 0, half) for array in arrays]
            right = [_slice_along(array, axis, half, 2 * half) for array in arrays]
            arrays = combiner.combine(values, scope, left, right)
            count = half
        return [map_arrays(array, lambda part: np.squeeze(part, axis)) for array in arrays]

    return compiler.counting_step(op, _combining_step(op, in_tree), types[0].size, flops)


_Combination = Callable[[list[Any], Scope, list[Any]], list[Any]]
"""Combines operands of full shape along an axis: a function of the values, the scope and them."""


def _combining_step(op: Op, combine: _Combination) -> Step:
    """Return the step that sets an op's results to its combined operands, unknown if one is."""
    types = [value_type(value.type) for value in op.group("source")]
    slots, results = slots_of(op.group("source")), slots_of(op.results)

    def step(values: list[Any], scope: Scope) -> None:
        operands = [values[slot] for slot in slots]
        unknown = unknown_of(operands)
        combined: list[Any] = [unknown] * len(results)
        if unknown is None:
            combined = combine(values, scope, _full_operands(operands, types))
        for slot, value in zip(results, combined, strict=True):
            values[slot] = value

    return step


def _reduce_by_ufunc(op: Op, function: Any, axis: int, type_: ValueType) -> Step:
    extent = type_.shape[axis - 1]
    idempotent = function not in (np.add, np.multiply, np.bitwise_xor)

    def reduced_value(value: Any) -> Array:
        array = to_array(value, type_)
        if array.shape[axis] != extent and not idempotent:
            shape = list(array.shape)
            shape[axis] = extent
            array = np.broadcast_to(array, shape)
        return reduced(function, array, axis, type_)

    return computed(op, reduced_value)


def _full_operands(operands: list[Any], types: list[ValueType]) -> list[Any]:
    """Return operands, with their shadows, broadcast to a common shape."""
    arrays = [
        full_array(actual(value), type_) for value, type_ in zip(operands, types, strict=True)
    ]
    shadows = [value.shadow for value in operands if isinstance(value, ShadowedValue)]
    programs = max(array.shape[0] for array in (*arrays, *shadows))
    return [
        _broadcast(value, type_, (programs, *type_.shape))
        for value, type_ in zip(operands, types, strict=True)
    ]


@semantics("tt.scan")
def scan(op: Op, compiler: Compiler) -> Step:
    """Return the step of a scan: all prefixes (suffixes if reverse) along an axis are combined."""
    block = op.regions[0].blocks[0]
    axis = int(attribute(op, "axis")) + 1
    reverse = bool(attribute(op, "reverse", default=False))
    types = [value_type(value.type) for value in op.group("source")]
    function = simple_ufunc(block, types[0]) if len(types) == 1 else None
    combine = (
        _scan_by_ufunc(function, axis, types[0])
        if function is not None
        else _scan_by_region(_Combiner(block, compiler), axis)
    )
    rows = types[0].size // types[0].shape[axis - 1]

    def flipped(array: Array) -> Array:
        return np.flip(array, axis)

    def backwards(values: list[Any], scope: Scope, arrays: list[Any]) -> list[Any]:
        arrays = combine(values, scope, [map_arrays(array, flipped) for array in arrays])
        return [map_arrays(array, flipped) for array in arrays]

    step = _combining_step(op, backwards if reverse else combine)
    flops = (types[0].size - rows) * _float_op_count(block)
    return compiler.counting_step(op, step, types[0].size, flops)


def _scan_by_ufunc(function: Any, axis: int, type_: ValueType) -> _Combination:
    rounded = rounding_to(type_.element)

    def run(_values: list[Any], _scope: Scope, arrays: list[Array]) -> list[Array]:
        result = function.accumulate(arrays[0], axis=axis, dtype=type_.element.value)
        result = sign_scanned_zeros(function, arrays[0], axis, result)
        return [result if rounded is None else rounded(result)]

    return run


def _scan_by_region(combiner: _Combiner, axis: int) -> _Combination:
    """Return a scan in log2(n) passes that combine elements at a distance (Hillis, Steele)."""

    def run(values: list[Any], scope: Scope, arrays: list[Any]) -> list[Any]:
        extent, distance = _shape_of(arrays[0])[axis], 1
        while distance < extent:
            left = [_slice_along(array, axis, 0, extent - distance) for array in arrays]
            right = [_slice_along(array, axis, distance, extent) for array in arrays]
            later = combiner.combine(values, scope, left, right)
            arrays = [
                _concatenated((_slice_along(array, axis, 0, distance), new), axis, type_)
                for array, new, type_ in zip(arrays, later, combiner.types, strict=True)
            ]
            distance *= 2
        return arrays

    return run


def _concatenated(parts: Sequence[Any], axis: int, type_: ValueType) -> Any:
    array = np.concatenate([actual(part) for part in parts], axis)
    shadowed = next((part for part in parts if isinstance(part, ShadowedValue)), None)
    if shadowed is None:
        return array
    shadows = [
        np.broadcast_to(shadowed.shadow_of(part, type_), actual(part).shape) for part in parts
    ]
    return shadowed.joined(array, np.concatenate(shadows, axis), parts)


@semantics("tt.histogram")
def histogram(op: Op, compiler: Compiler) -> Step:
    """Return the step that counts the values 0 to bins - 1 in lanes that are not masked off."""
    type_ = value_type(op.operand("source").type)
    bins = value_type(op.results[0].type).shape[0]
    dtype = value_type(op.results[0].type).element.value
    types = [value_type(value.type) for value in op.operands]

    def counts(*values: Any) -> Array:
        array, *masks = full_arrays(values, types)
        array = array.astype(np.int64)
        counted = (array >= 0) & (array < bins) & (masks[0] if masks else True)
        row = np.arange(len(array))[:, None] * bins
        flat = np.bincount((array + row)[counted], minlength=len(array) * bins)
        return flat.reshape(-1, bins).astype(dtype)

    return compiler.counting_step(op, computed(op, counts), type_.size, 0)
