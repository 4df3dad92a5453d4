"""`tt`: pointers, loads and stores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import gcd
from typing import Any

from kvtrace.evaluate.compiler import Compiler, slot_of
from kvtrace.evaluate.dialects.tt_addresses import addresses_of, pointers_at
from kvtrace.evaluate.known import KnownValues
from kvtrace.evaluate.registry import Step, semantics
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.sums import ADDRESS, joined_terms, scaled, wrapped
from kvtrace.evaluate.turns import let_others_run
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import (
    Pointer,
    PointerChoice,
    Sum,
    Unknown,
    to_array,
    to_sum,
    unknown_of,
)
from kvtrace.ir import Op
from kvtrace.ir.model import attribute


def moved(pointer: Any, steps: Any, size: int, known: KnownValues | None = None) -> Any:
    """Return pointers moved by `steps` elements of `size` bytes; `known` keeps distances."""
    if isinstance(pointer, PointerChoice):
        return PointerChoice(
            pointer.condition,
            moved(pointer.first, steps, size, known),
            moved(pointer.second, steps, size, known),
        )
    if isinstance(pointer, Unknown):
        return pointer
    offset = pointer.offset
    unknown = unknown_of((offset, steps))
    if unknown is not None:
        return Pointer(pointer.argument, unknown)
    compute = partial(scaled, to_sum(steps), size)
    # One object for known steps, so that what loads and stores reach by it is computed once.
    key = "distance", id(steps), size
    distance = compute() if known is None else known.once(key, compute, steps)
    total = Sum(
        offset.constant + distance.constant,
        joined_terms(offset.terms, distance.terms),
        offset.low + distance.low,
        offset.high + distance.high,
    )
    return Pointer(pointer.argument, to_sum(wrapped(total, ADDRESS)), gcd(pointer.unit, size))


@semantics("tt.addptr")
def addptr(op: Op, compiler: Compiler) -> Step:
    """Return the step that moves pointers by an index in elements."""
    size = value_type(op.operand("pointer").type).element.bytes
    pointer, index = op.operand("pointer").id, op.operand("offset").id
    result = op.results[0].id

    def step(values: list[Any], _scope: Scope) -> None:
        values[result] = moved(values[pointer], values[index], size, compiler.known)

    return compiler.counting_step(op, step, value_type(op.results[0].type).size, 0)


@semantics("tt.load", "tt.atomic_load")
def load(op: Op, _compiler: Compiler) -> Step:
    """Return the step of a load."""
    loaded_type, result = value_type(op.results[0].type), op.results[0].id
    type_, pointer = _type_in_memory(loaded_type), op.operand("pointer").id
    loaded = masked_load(op, loaded_type)
    is_strong = op.name != "tt.load" or bool(attribute(op, "isVolatile", default=False))

    def step(values: list[Any], scope: Scope) -> None:
        if is_strong:
            let_others_run(op, scope, values[pointer], type_.element.bytes)
        value = loaded(values, scope)
        values[result] = pointers_at(scope.launch, value, type_) if loaded_type.pointer else value

    return step


def masked_load(op: Op, loaded_type: ValueType) -> Callable[[list[Any], Scope], Any]:
    """Return a function that loads as an op says; pointers are loaded as addresses.

    Masked-off lanes have `other`, or zero as in NVIDIA's code.
    """
    type_ = _type_in_memory(loaded_type)
    pointer, mask, other = op.operand("pointer").id, slot_of(op, "mask"), slot_of(op, "other")

    def loaded(values: list[Any], scope: Scope) -> Any:
        fill = None if other is None else values[other]
        if loaded_type.pointer and other is not None:
            fill = addresses_of(scope.launch, fill, type_)
        if fill is not None and not isinstance(fill, Unknown):
            fill = to_array(fill, type_)
        mask_value = None if mask is None else values[mask]
        return scope.launch.memory.load(op, scope, values[pointer], mask_value, fill, type_)

    return loaded


def _type_in_memory(type_: ValueType) -> ValueType:
    return ValueType("i64", type_.shape, ADDRESS.element) if type_.pointer else type_


@semantics("tt.store", "tt.atomic_store")
def store(op: Op, _compiler: Compiler) -> Step:
    """Return the step of a store, with a mask if the op has one."""
    stored_type = value_type(op.operand("value").type)
    type_ = _type_in_memory(stored_type)
    pointer, data, mask = op.operand("pointer").id, op.operand("value").id, slot_of(op, "mask")

    def step(values: list[Any], scope: Scope) -> None:
        value = values[data]
        if stored_type.pointer:
            value = addresses_of(scope.launch, value, type_)
        if not isinstance(value, Unknown):
            value = to_array(value, type_)
        mask_value = None if mask is None else values[mask]
        scope.launch.memory.store(op, scope, values[pointer], value, mask_value, type_)

    return step
