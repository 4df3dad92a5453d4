"""The lanes of tensors as the registers of a PTX snippet.

As in Triton, each run of the snippet has `packed` lanes as operands; several elements of less than
32 bits share a register. Triton does not specify which lanes are in a run; here they are neighbors.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.ptx.running import snippet
from kvtrace.evaluate.rounding import from_memory, to_memory
from kvtrace.evaluate.types import ElementType, ValueType
from kvtrace.evaluate.values import Array


def on_lanes(
    text: str,
    constraints: str,
    packed: int,
    types: list[ValueType],
    result_types: list[ValueType],
) -> Callable[..., tuple[Array, ...]]:
    r"""Return a function that runs a snippet on one array per operand; its results are a tuple.

    Raises:
        UnsupportedOp: a part of the snippet, which the text names, is not implemented.
    """
    if any(type_.pointer or type_.descriptor for type_ in types):
        raise UnsupportedOp("a pointer as an operand")
    run = snippet(text, constraints)
    shape = result_types[0].shape

    def function(*arrays: Array) -> tuple[Array, ...]:
        lanes = _common_shape(arrays, shape, packed)
        inputs: list[Array] = []
        for array, type_ in zip(arrays, types, strict=True):
            spread = array if packed == 1 else np.broadcast_to(array, lanes)
            inputs += _into_registers(spread, type_.element, packed)
        outputs = run(inputs)
        results, position = [], 0
        for type_ in result_types:
            count = packed // _elements_per_register(type_.element, packed)
            registers = outputs[position : position + count]
            results.append(_out_of_registers(registers, type_.element, packed, lanes))
            position += count
        if position != len(outputs):
            raise UnsupportedOp(f"a snippet of {len(outputs)} result registers, not {position},")
        return tuple(results)

    return function


def _common_shape(
    arrays: tuple[Array, ...], shape: tuple[int, ...], packed: int
) -> tuple[int, ...]:
    """Return the broadcast shape of the operands; with several packed lanes, of all lanes."""
    programs = max((array.shape[0] for array in arrays), default=1)
    if packed == 1:
        return np.broadcast_shapes((1,) * (len(shape) + 1), *(array.shape for array in arrays))
    return (programs, *shape)


def _elements_per_register(element: ElementType, packed: int) -> int:
    return min(max(1, 32 // element.bits), packed)


def _into_registers(array: Array, element: ElementType, packed: int) -> list[Array]:
    stored = to_memory(array, element)
    raw = np.ascontiguousarray(stored).view(f"u{element.bytes}").reshape(array.shape)
    if packed == 1:
        return [raw]
    per_register = _elements_per_register(element, packed)
    register_groups = raw.reshape(-1, packed // per_register, per_register)
    if per_register > 1:
        register_groups = _packed_registers(register_groups, element, per_register)
    return [
        np.ascontiguousarray(register_groups[:, position, 0])
        for position in range(packed // per_register)
    ]


def _packed_registers(groups: Array, element: ElementType, per_register: int) -> Array:
    """Return elements joined to registers, the first element in the lowest bits."""
    wide = groups.astype(np.uint32) << (
        np.arange(per_register, dtype=np.uint32) * np.uint32(element.bits)
    )
    return np.asarray(np.bitwise_or.reduce(wide, axis=-1, keepdims=True))


def _out_of_registers(
    registers: list[Array], element: ElementType, packed: int, lanes: tuple[int, ...]
) -> Array:
    raw = np.dtype(f"u{element.bytes}")
    if packed == 1:
        return _values(np.broadcast_to(registers[0], lanes), element, raw)
    per_register, runs = _elements_per_register(element, packed), prod(lanes) // packed
    columns = [
        whole >> whole.dtype.type(position * element.bits)
        for whole in (np.broadcast_to(register, (runs,)) for register in registers)
        for position in range(per_register)
    ]
    return _values(np.stack(columns, axis=-1).reshape(lanes), element, raw)


def _values(bits: Array, element: ElementType, raw: np.dtype[np.unsignedinteger]) -> Array:
    """Return the low bits of registers as values in flight."""
    if element.kind == "b":
        return (bits & 1).astype(np.bool_)
    return from_memory(np.ascontiguousarray(bits.astype(raw)).view(element.memory), element)
