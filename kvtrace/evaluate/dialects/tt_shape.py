"""`tt`: ops that only rearrange a tensor's elements, as views where NumPy can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kvtrace.evaluate.compiler import Compiler, computed, passed_on
from kvtrace.evaluate.registry import Step, place, semantics
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Array, Unknown, full_array, full_arrays, map_arrays, unknown_of
from kvtrace.ir import Op
from kvtrace.ir.model import attribute


def _mapped(op: Op, change: Callable[[Array], Array]) -> Step:
    """Return a step that applies a change of shape to the op's source."""
    slot, result = op.operand("source").id, op.results[0].id

    def step(values: list[Any], _scope: Scope) -> None:
        values[result] = map_arrays(values[slot], change)

    return step


@semantics("tt.splat", "tt.unsplat")
def splat(op: Op, _compiler: Compiler) -> Step:
    """Return the step that turns a scalar into a block of one lane for all, or back."""
    rank = len(value_type(op.results[0].type).shape)
    ones = (1,) * rank
    return _mapped(op, lambda array: array.reshape(array.shape[0], *ones))


@semantics("tt.expand_dims")
def expand_dims(op: Op, _compiler: Compiler) -> Step:
    """Return the step that adds an axis of extent 1."""
    axis = int(attribute(op, "axis")) + 1
    return _mapped(op, lambda array: np.expand_dims(array, axis))


@semantics("tt.broadcast", "ttg.convert_layout", "tt.descriptor_to_tensor")
def broadcast(op: Op, _compiler: Compiler) -> Step:
    """Return the step that passes the array on: constant axes have extent 1 anyway."""
    return passed_on(op)


@semantics("tt.trans")
def trans(op: Op, _compiler: Compiler) -> Step:
    """Return the step that permutes axes."""
    order = (0, *(axis + 1 for axis in attribute(op, "order")))
    return _mapped(op, lambda array: array.transpose(order))


@semantics("tt.reshape")
def reshape(op: Op, _compiler: Compiler) -> Step:
    """Return the step of a change of shape, in row-major order."""
    source = value_type(op.operand("source").type).shape
    target = value_type(op.results[0].type).shape

    def change(array: Array) -> Array:
        lanes = _reshaped_lanes(array.shape[1:], source, target)
        if lanes is not None:
            return array.reshape(array.shape[0], *lanes)
        full = np.broadcast_to(array, (array.shape[0], *source))
        return full.reshape(array.shape[0], *target)

    return _mapped(op, change)


def _reshaped_lanes(
    lanes: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the array's extents after a reshape, if no element must be repeated, else None."""
    if all(extent == 1 for extent in lanes):
        return (1,) * len(target)
    if lanes == source:
        return target
    long_axes = [extent for extent in source if extent != 1]
    if long_axes != [extent for extent in target if extent != 1]:
        return None
    # Only axes of extent 1 come or go.
    physical = iter(lane for lane, extent in zip(lanes, source, strict=True) if extent != 1)
    return tuple(1 if extent == 1 else next(physical) for extent in target)


@semantics("tt.join")
def join(op: Op, compiler: Compiler) -> Step:
    """Return the step that stacks two tensors along a new last axis."""
    return _of_full_arrays(op, compiler, lambda *arrays: np.stack(arrays, axis=-1))


def _of_full_arrays(op: Op, compiler: Compiler, function: Callable[..., Array]) -> Step:
    """Return the step of a function of an op's operands, as arrays of equally many programs."""
    types = [value_type(value.type) for value in op.operands]

    def arranged(*values: Any) -> Array:
        return function(*full_arrays(values, types))

    size = value_type(op.results[0].type).size
    return compiler.counting_step(op, computed(op, arranged), size, 0)


@semantics("tt.split")
def split(op: Op, compiler: Compiler) -> Step:
    """Return the step that splits the last axis, of extent 2, into two results."""
    type_ = value_type(op.operand("source").type)
    slot = op.operand("source").id
    left, right = op.results[0].id, op.results[1].id

    def step(values: list[Any], _scope: Scope) -> None:
        value = values[slot]
        if isinstance(value, Unknown):
            values[left] = values[right] = Unknown(value.sources)
            return
        array = full_array(value, type_)
        values[left], values[right] = array[..., 0], array[..., 1]

    return compiler.counting_step(op, step, type_.size, 0)


@semantics("tt.cat")
def cat(op: Op, compiler: Compiler) -> Step:
    """Return the step that concatenates two tensors along their only axis."""
    return _of_full_arrays(op, compiler, lambda *arrays: np.concatenate(arrays, axis=1))


@semantics("tt.gather")
def gather(op: Op, compiler: Compiler) -> Step:
    """Return the step that selects elements along an axis by an index tensor.

    An index outside the axis gives any element of it where a launch is executed, as on a device.
    """
    axis = int(attribute(op, "axis")) + 1
    operands = (op.operand("source"), op.operand("index"))
    types = [value_type(value.type) for value in operands]
    extent = types[0].shape[axis - 1]

    def step(values: list[Any], scope: Scope) -> None:
        unknown = unknown_of(values[operand.id] for operand in operands)
        if unknown is None:
            source, index = full_arrays([values[operand.id] for operand in operands], types)
            places = index.astype(np.int64) % extent
            if not scope.launch.memory.executes and (places != index).any():
                unknown = Unknown(frozenset({f"an element beyond a block ({place(op)})"}))
        values[op.results[0].id] = unknown or np.take_along_axis(source, places, axis)

    return compiler.counting_step(op, step, value_type(op.results[0].type).size, 0)
