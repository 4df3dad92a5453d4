"""Code of elementwise operations; results go to a cell, an operand's cell, or memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.plan import torch_kernels
from kvtrace.evaluate.plan.array_functions import ROUND_AND_NARROW
from kvtrace.evaluate.plan.code.memory import target_of_store
from kvtrace.evaluate.plan.code.writer import Writer, listed
from kvtrace.evaluate.plan.instructions import Instruction, Map, Store
from kvtrace.evaluate.plan.values import Register


def is_fused(
    writer: Writer, instruction: Map, store: Instruction | None, uses: dict[Register, int]
) -> bool:
    """Return whether a result can go straight to the memory of `store`, its only use."""
    register = instruction.target
    assert register is not None
    if type(store) is not Store or store.operands[0] is not register:
        return False
    operation = instruction.operation
    if uses[register] != 1 or len(store.operands) > 1 or register.dtype != store.dtype:
        return False
    if not isinstance(operation.into, np.ufunc) and operation is not ROUND_AND_NARROW:
        return False
    _, axes, lanes = target_of_store(writer, store)
    return axes == register.axes and lanes == register.lanes


def write_stored(writer: Writer, instruction: Map, store: Store, depth: int) -> None:
    """Write an operation whose result goes directly to the memory of a store."""
    steady = writer.unsteady.isdisjoint(instruction.sources())
    function = writer.constant(
        _function(writer, instruction) if steady else instruction.operation.into, "f"
    )
    operands = [writer.operand(operand) for operand in instruction.operands]
    writer.write(depth, f"{function}({listed([*operands, target_of_store(writer, store)[0]])})")


def _function(writer: Writer, instruction: Map) -> Any:
    """Return the function for an operation that writes into an array, NumPy's or PyTorch's."""
    operation = instruction.operation
    if not writer.torch:
        return operation.into
    if operation in torch_kernels.CONVERSIONS:
        return torch_kernels.CONVERSIONS[operation]
    if operation.dtype == np.float32 and _repeats(instruction):
        return torch_kernels.BROADCAST.get(operation.into, operation.into)
    return operation.into


def _repeats(instruction: Map) -> bool:
    """Return whether an operand that is not constant is repeated along some axes."""
    target = instruction.target
    assert target is not None
    return any(
        (source.axes, source.lanes) != (target.axes, target.lanes)
        and (any(source.axes) or max(source.lanes, default=1) > 1)
        for source in instruction.sources()
    )


def write_map(
    writer: Writer, instruction: Map, depth: int, dying: set[Register]
) -> frozenset[Register]:
    """Write an operation; return the register (if any) whose cell the result reuses."""
    register, operation = instruction.target, instruction.operation
    assert register is not None
    if operation.into is None:
        arrays = [
            operand
            if isinstance(operand, Register)
            else np.full((1,) * (len(writer.axes) + len(register.lanes)), operand)
            for operand in instruction.operands
        ]
        names = [
            writer.names[array] if isinstance(array, Register) else writer.constant(array)
            for array in arrays
        ]
        function = writer.constant(operation.function, "f")
        name = writer.as_new(register, instruction.sources())
        writer.write(depth, f"{name} = {function}({listed(names)})")
        return frozenset()
    operands = [writer.operand(operand) for operand in instruction.operands]
    reused = _reused_operand(writer, instruction, dying)
    name = writer.into_cell(register, None if reused is None else writer.names[reused])
    function = writer.constant(_function(writer, instruction), "f")
    writer.write(depth, f"{function}({listed([*operands, name])})")
    return frozenset() if reused is None else frozenset({reused})


def _reused_operand(writer: Writer, instruction: Map, dying: set[Register]) -> Register | None:
    """Return an operand whose cell the result can overwrite; None if there is none."""
    register = instruction.target
    assert register is not None
    cell = writer.cell_of(register)
    for position, operand in enumerate(instruction.operands):
        if not isinstance(operand, Register) or operand not in dying:
            continue
        if position not in instruction.operation.in_place or writer.cell_of(operand) != cell:
            continue
        other_sources = [source for source in instruction.sources() if source is not operand]
        if any(operand in writer.roots[source] for source in other_sources):
            continue
        return operand
    return None
