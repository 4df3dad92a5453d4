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
from kvtrace.evaluate.values import Pointer, Unknown, constant_sum, to_array, to_sum
from kvtrace.ir import Op


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
        pointer = values[slot]
        if not isinstance(pointer, Pointer) or pointer.argument is None:
            values[result] = Unknown(frozenset({"an address that no argument explains"}))
            return
        tensor = scope.launch.arguments[pointer.argument]
        assert isinstance(tensor, TensorArgument)
        address = address_of(tensor)
        if isinstance(pointer.offset, Unknown) or address is None:
            values[result] = Unknown(frozenset({f"the address of {tensor.name}"}))
            return
        values[result] = add(pointer.offset, constant_sum(address), type_)

    return compiler.counted(op, step, type_.size, 0)


@semantics("tt.int_to_ptr")
def int_to_ptr(op: Op, compiler: Compiler) -> Step:
    """Find the argument whose storage addresses lie in; unknown if there is not exactly one."""
    type_ = value_type(op.operands[0].type)
    slot, result = op.operands[0].id, op.results[0].id

    def step(values: list[Any], scope: Scope) -> None:
        address = values[slot]
        if isinstance(address, Unknown):
            values[result] = Pointer(None, address)
            return
        values[result] = located(scope.launch, address, type_)

    return compiler.counted(op, step, type_.size, 0)


def located(launch: Launch, address: Any, type_: ValueType) -> Pointer:
    """Turn addresses into a pointer to the argument whose storage holds all of them."""
    numbers = to_array(address, type_).astype(np.int64, copy=False)
    for position, argument in enumerate(launch.arguments):
        if not isinstance(argument, TensorArgument):
            continue
        start = address_of(argument)
        if start is None:
            continue
        low, high = argument.storage_bytes
        if ((numbers >= start + low) & (numbers < start + high)).all():
            return Pointer(position, to_sum(numbers - start))
    return Pointer(None, Unknown(frozenset({"an address that no argument explains"})))
