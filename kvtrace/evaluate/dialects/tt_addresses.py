"""`tt`: pointers made into integers and back, through the addresses of storages with data."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.evaluate.compiler import Compiler
from kvtrace.evaluate.integers import add
from kvtrace.evaluate.registry import Step, semantics
from kvtrace.evaluate.scope import Launch, Scope
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import (
    Array,
    Pointer,
    PointerChoice,
    Unknown,
    constant_sum,
    to_array,
    to_sum,
    unknown_of,
)
from kvtrace.ir import Op

_UNEXPLAINED = "an address that no argument explains"


def address_of(tensor: TensorArgument) -> int | None:
    """Give the address of a tensor's data pointer in this process, None without data."""
    data = tensor.storage.data
    return None if data is None else int(data.ctypes.data) + tensor.offset_bytes


@semantics("tt.ptr_to_int")
def ptr_to_int(op: Op, compiler: Compiler) -> Step:
    """Give addresses; they are unknown for tensors without data."""
    type_ = value_type(op.results[0].type)
    slot, result = op.operands[0].id, op.results[0].id

    def step(values: list[Any], scope: Scope) -> None:
        values[result] = addresses_of(scope.launch, values[slot], type_)

    return compiler.counted(op, step, type_.size, 0)


def addresses_of(launch: Launch, pointer: Any, type_: ValueType) -> Any:
    """Turn pointers into addresses in this process."""
    if isinstance(pointer, PointerChoice):
        first, second = (
            addresses_of(launch, part, type_) for part in (pointer.first, pointer.second)
        )
        unknown = unknown_of((first, second))
        if unknown is not None:
            return unknown
        return np.where(pointer.condition, to_array(first, type_), to_array(second, type_))
    if not isinstance(pointer, Pointer) or pointer.argument is None:
        return Unknown(frozenset({_UNEXPLAINED}))
    tensor = launch.arguments[pointer.argument]
    assert isinstance(tensor, TensorArgument)
    address = address_of(tensor)
    if isinstance(pointer.offset, Unknown) or address is None:
        return Unknown(frozenset({f"the address of {tensor.name}"}))
    return add(pointer.offset, constant_sum(address), type_)


@semantics("tt.int_to_ptr")
def int_to_ptr(op: Op, compiler: Compiler) -> Step:
    """Find the arguments whose storages addresses lie in; unknown if there is none."""
    type_ = value_type(op.operands[0].type)
    slot, result = op.operands[0].id, op.results[0].id

    def step(values: list[Any], scope: Scope) -> None:
        values[result] = located(scope.launch, values[slot], type_)

    return compiler.counted(op, step, type_.size, 0)


def located(launch: Launch, address: Any, type_: ValueType) -> Pointer | PointerChoice:
    """Turn addresses into pointers into the arguments whose storages hold them."""
    if isinstance(address, Unknown):
        return Pointer(None, address)
    numbers = to_array(address, type_).astype(np.int64, copy=False)
    result: Pointer | PointerChoice = Pointer(None, Unknown(frozenset({_UNEXPLAINED})))
    left = np.ones(numbers.shape, np.bool_)
    parts: list[tuple[Array, Pointer]] = []
    for position, argument in enumerate(launch.arguments):
        start = address_of(argument) if isinstance(argument, TensorArgument) else None
        if start is None or not isinstance(argument, TensorArgument):
            continue
        low, high = argument.storage_bytes
        inside = left & (numbers >= start + low) & (numbers < start + high)
        if not inside.any():
            continue
        offsets = np.where(inside, numbers - start, 0)
        parts.append((inside, Pointer(position, to_sum(offsets))))
        left &= ~inside
    if parts and not left.any():
        result = parts.pop()[1]
    for inside, pointer in parts:
        result = PointerChoice(inside, pointer, result)
    return result
