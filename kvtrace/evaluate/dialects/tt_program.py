"""`tt`: program ids, ranges, assertions, printing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import Compiler, slots_of
from kvtrace.evaluate.errors import DeviceAssertion
from kvtrace.evaluate.observe import FailedAssertion
from kvtrace.evaluate.registry import Step, place, semantics, unsupported
from kvtrace.evaluate.rounding import to_memory
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.sums import ADDRESS
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import (
    Array,
    Sum,
    Unknown,
    constant_sum,
    full_array,
)
from kvtrace.ir import Op
from kvtrace.ir.model import attribute
from kvtrace.ir.types import TensorType


@semantics("tt.get_program_id")
def program_id(op: Op, compiler: Compiler) -> Step:
    """Return the step that sets a program's index along an axis of the grid."""
    axis, result = int(attribute(op, "axis")), op.results[0].id
    known = compiler.known

    def ids_of(scope: Scope) -> Sum:
        if scope.launch.grid[axis] == 1:
            return constant_sum(0)
        ids = scope.axis(axis).astype(np.int64)
        if len(ids) == 1:
            return constant_sum(int(ids[0]))
        return Sum(0, (ids,), int(ids.min()), int(ids.max()))

    def step(values: list[Any], scope: Scope) -> None:
        key = op.index, scope.launch.grid, id(scope.linear)
        ids = partial(ids_of, scope)
        values[result] = ids() if known is None else known.once(key, ids, scope.linear)

    return step


@semantics("tt.get_num_programs")
def num_programs(op: Op, compiler: Compiler) -> Step:
    """Return the step that sets the grid's extent along an axis."""
    axis, result = int(attribute(op, "axis")), op.results[0].id

    def step(values: list[Any], scope: Scope) -> None:
        values[result] = compiler.integer(scope.launch.grid[axis])

    return step


def range_of(op: Op, kernel: str) -> tuple[int, int]:
    r"""Return the first integer of a `tt.make_range`, and one past its last.

    Raises:
        UnsupportedOp: the range has not as many integers as its tensor has elements.
    """
    start, end = int(attribute(op, "start", 0)), int(attribute(op, "end", 0))
    kind = op.results[0].type
    if not isinstance(kind, TensorType) or kind.size != end - start:
        raise unsupported(op, kernel, f"of {end - start} elements for {kind}")
    return start, end


@semantics("tt.make_range")
def make_range(op: Op, compiler: Compiler) -> Step:
    """Return the step that sets consecutive integers along a lane axis."""
    start, end = range_of(op, compiler.kernel)
    result = op.results[0].id
    line = np.arange(start, end, dtype=np.int64).reshape(1, -1)
    several = end - start > 1
    value = compiler.constant(Sum(0, (line,), start, end - 1) if several else constant_sum(start))

    def step(values: list[Any], _scope: Scope) -> None:
        values[result] = value

    return step


@semantics("ub.poison", "llvm.mlir.undef", "llvm.mlir.poison")
def poison(op: Op, compiler: Compiler) -> Step:
    """Return the step that sets an undefined value to zero, so that runs can be repeated."""
    type_ = value_type(op.results[0].type)
    result = op.results[0].id
    zero: Any
    if type_.element.kind == "b":
        zero = False
    elif type_.element.kind == "i":
        zero = constant_sum(0)
    else:
        zero = np.zeros((1,) * (len(type_.shape) + 1), type_.element.value)
    compiler.constant(zero)

    def step(values: list[Any], _scope: Scope) -> None:
        values[result] = zero

    return step


@semantics("tt.assert")
def assert_(op: Op, _compiler: Compiler) -> Step:
    """Return the step that raises DeviceAssertion, after a report, if a known condition fails."""
    slot, message = op.operand("condition").id, attribute(op, "message", "")
    kind = value_type(op.operand("condition").type)

    def step(values: list[Any], scope: Scope) -> None:
        condition = values[slot]
        if isinstance(condition, Unknown) or not scope.certain or condition is True:
            return
        combined = isinstance(condition, np.ndarray) and condition.ndim > 1 + len(kind.shape)
        holds = condition if combined else full_array(condition, kind)
        if holds.all():
            return
        # where elements are combined, a scalar of the region has all lanes
        failed = np.broadcast_to(~holds, (scope.programs, *holds.shape[1:]))
        failure = _first_failure(op, scope, failed, message)
        for observer in scope.launch.observers:
            observer.device_assert(failure)
        x, y, z = failure.program
        raise DeviceAssertion(
            f"tl.device_assert failed at {place(op)} in kernel {scope.launch.kernel!r}, "
            f"program ({x}, {y}, {z}): {message}"
        )

    return step


def _first_failure(op: Op, scope: Scope, failed: Array, message: str) -> FailedAssertion:
    program_position, *lane = map(int, np.argwhere(failed)[0])
    return FailedAssertion(
        op,
        scope.program(program_position),
        scope.iteration,
        tuple(lane),
        int(np.count_nonzero(failed)),
        message,
    )


_MOST_LINES = 10_000
"""The most lines that one `tl.device_print` prints; CUDA's buffer has room for fewer."""


@semantics("tt.print")
def print_(op: Op, _compiler: Compiler) -> Step:
    """Return the step that prints every element, as on NVIDIA GPUs, if the launch is executed."""
    slots = slots_of(op.group("value"))
    types = [value_type(value.type) for value in op.group("value")]
    prefix = str(attribute(op, "prefix", ""))
    in_hex = bool(attribute(op, "hex", default=False))
    signed = attribute(op, "isSigned") or [1] * len(slots)

    def lines(shown: list[Any], scope: Scope) -> Iterator[str]:
        for position in range(scope.programs):
            x, y, z = scope.program(position)
            head = f"pid ({x}, {y}, {z}) "
            if not slots:
                yield f"{head.rstrip()}{prefix}"
            for operand_number, (value, type_) in enumerate(zip(shown, types, strict=True)):
                array = full_array(value, type_)
                lanes = array[position if array.shape[0] > 1 else 0]
                operand_label = f"(operand {operand_number}) " if len(slots) > 1 else ""
                for lane_index, item in np.ndenumerate(lanes):
                    index = f"idx ({', '.join(map(str, lane_index))})" if lane_index else "idx ()"
                    text = _formatted(
                        item, type_, in_hex=in_hex, signed=bool(signed[operand_number])
                    )
                    yield f"{head}{index}{prefix}{operand_label}{text}"

    def step(values: list[Any], scope: Scope) -> None:
        shown = [_printable(scope, values[s], t) for s, t in zip(slots, types, strict=True)]
        is_known = not any(isinstance(value, Unknown) for value in shown)
        if not (is_known and scope.certain and scope.launch.memory.executes):
            return
        for count, line in enumerate(lines(shown, scope)):
            if count == _MOST_LINES:
                print("… kvtrace does not print the remaining lines")
                return
            print(line)

    return step


def _printable(scope: Scope, value: Any, type_: ValueType) -> Any:
    """Return pointers as integer addresses, and other values unchanged."""
    if not type_.pointer:
        return value
    from kvtrace.evaluate.dialects.tt_addresses import addresses_of

    address_type = ValueType("i64", type_.shape, ADDRESS.element)
    addresses = addresses_of(scope.launch, value, address_type)
    return addresses if isinstance(addresses, Unknown) else full_array(addresses, address_type)


def _formatted(item: Any, type_: ValueType, *, in_hex: bool, signed: bool) -> str:
    if type_.pointer:
        return hex(int(item))
    if in_hex:
        bits = to_memory(np.asarray(item)[None], type_.element)
        return f"0x{int(bits.view(f'u{bits.itemsize}')[0]):0{2 * bits.itemsize}x}"
    if type_.element.kind == "f":
        return f"{float(item):f}"
    integer = int(item)
    return str(integer if signed or integer >= 0 else integer + (1 << type_.element.bits))
