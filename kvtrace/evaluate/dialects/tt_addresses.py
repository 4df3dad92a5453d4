"""`tt`: conversion of pointers to integers and back, through the addresses of storages.

An address that lies in no storage stays a pointer whose offset counts from address 0: it can be
stored and turned into an integer again, but nothing can be accessed there.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.evaluate.compiler import Compiler
from kvtrace.evaluate.registry import Step, semantics
from kvtrace.evaluate.scope import Launch, Scope
from kvtrace.evaluate.sums import add
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
from kvtrace.ir.feeding import feeding_values
from kvtrace.ir.ops import MOVING, READING, computing

_COMPUTED: Final = "an address computed from integers, which may be meant for another tensor"
_MOVING: Final = (
    READING | MOVING | computing("cast", "bitcast", "reshape", "expand_dims", "trans", "constant")
)
_UNEXPLAINED: Final = "an address that lies in no argument"


def address_of(tensor: TensorArgument) -> int | None:
    """Return the address of a tensor's data pointer, None if it is not known."""
    start = tensor.storage.start
    return None if start is None else start + tensor.offset_bytes


@semantics("tt.ptr_to_int")
def ptr_to_int(op: Op, compiler: Compiler) -> Step:
    """Return the step that converts pointers to addresses, unknown for tensors without data."""
    type_ = value_type(op.results[0].type)
    slot, result = op.operand("source").id, op.results[0].id

    def step(values: list[Any], scope: Scope) -> None:
        values[result] = addresses_of(scope.launch, values[slot], type_)

    return compiler.counting_step(op, step, type_.size, 0)


def addresses_of(launch: Launch, pointer: Any, type_: ValueType) -> Any:
    """Return pointers as integer addresses; Unknown if an argument's address is not known."""
    if isinstance(pointer, PointerChoice):
        if_true, if_false = (
            addresses_of(launch, option, type_) for option in (pointer.first, pointer.second)
        )
        unknown = unknown_of((if_true, if_false))
        if unknown is not None:
            return unknown
        return np.where(pointer.condition, to_array(if_true, type_), to_array(if_false, type_))
    if not isinstance(pointer, Pointer):
        return Unknown(frozenset({_UNEXPLAINED}))
    if pointer.argument is None:
        return pointer.offset
    tensor = launch.arguments[pointer.argument]
    assert isinstance(tensor, TensorArgument)
    address = address_of(tensor)
    if isinstance(pointer.offset, Unknown) or address is None:
        return Unknown(frozenset({f"the address of {tensor.name}"}))
    return add(pointer.offset, constant_sum(address), type_)


@semantics("tt.int_to_ptr")
def int_to_ptr(op: Op, compiler: Compiler) -> Step:
    """Return the step that converts addresses to pointers into the arguments at them."""
    type_ = value_type(op.operand("source").type)
    slot, result = op.operand("source").id, op.results[0].id
    is_computed = any(
        compiler.module.ops[index].name not in _MOVING
        for index in feeding_values([op.operand("source")], compiler.module)
    )

    def step(values: list[Any], scope: Scope) -> None:
        address = values[slot]
        if is_computed and _is_replayed_at_addresses(scope.launch):
            address = Unknown(frozenset({_COMPUTED}))
        values[result] = pointers_at(scope.launch, address, type_)

    return compiler.counting_step(op, step, type_.size, 0)


def _is_replayed_at_addresses(launch: Launch) -> bool:
    """Return whether tensors are at recorded addresses, of which not all neighbors are known."""
    return not launch.memory.executes and any(
        isinstance(argument, TensorArgument) and argument.storage.address is not None
        for argument in launch.arguments
    )


def pointers_at(launch: Launch, address: Any, type_: ValueType) -> Pointer | PointerChoice:
    """Return addresses as pointers into the arguments at them, preferring those in view.

    Other addresses become pointers without an argument, whose offset is the address.
    """
    if isinstance(address, Unknown):
        return Pointer(None, address)
    addresses = to_array(address, type_).astype(np.int64, copy=False)
    remaining = np.ones(addresses.shape, np.bool_)
    located_parts: list[tuple[Array, Pointer]] = []
    for position, start, low, high in _ranges(launch):
        inside = remaining & (addresses >= start + low) & (addresses < start + high)
        if not inside.any():
            continue
        offsets = np.where(inside, addresses - start, 0)
        located_parts.append((inside, Pointer(position, to_sum(offsets))))
        remaining &= ~inside
    result: Pointer | PointerChoice = Pointer(None, to_sum(addresses))
    if located_parts and not remaining.any():
        result = located_parts.pop()[1]
    for inside, pointer in located_parts:
        result = PointerChoice(inside, pointer, result)
    return result


def _ranges(launch: Launch) -> list[tuple[int, int, int, int]]:
    """Return (argument, pointer's address, byte range) of the views, then of the storages."""
    tensors = [
        (position, argument, start)
        for position, argument in enumerate(launch.arguments)
        if isinstance(argument, TensorArgument) and (start := address_of(argument)) is not None
    ]
    views = [(position, start, *argument.view_bytes) for position, argument, start in tensors]
    return views + [(position, start, *a.storage_bytes) for position, a, start in tensors]
