"""Planning of ops that only rearrange elements: on affine values, which axis is which changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvtrace.evaluate.compiler import attribute
from kvtrace.evaluate.plan.affine import Affine
from kvtrace.evaluate.plan.instructions import Reshape
from kvtrace.evaluate.plan.signals import Unplannable
from kvtrace.evaluate.plan.steps import PlanCompiler, PlanStep, planned
from kvtrace.evaluate.plan.values import (
    Condition,
    Constant,
    Integer,
    Pointer,
    Tensor,
)
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.evaluate.types import value_type
from kvtrace.ir import Op

Axes = tuple[int | None, ...]
"""Source lane axis per axis of the result; None: new, of extent 1 (or repeated)."""


def _moved_form(form: Affine, axes: Axes) -> Affine:
    if not form.lanes:
        return form
    lanes = tuple([0 if axis is None else form.lanes[axis] for axis in axes])
    return Affine(form.constant, form.outer, lanes if any(lanes) else ())


def rearranged(walk: Walk, value: Any, axes: Axes, shape: tuple[int, ...]) -> Any:
    """Return a value with its lane axes moved; `shape` is the result's."""
    if isinstance(value, Integer):
        return Integer(_moved_form(value.form, axes), shape, value.bits)
    if isinstance(value, Pointer):
        return Pointer(value.argument, _moved_form(value.form, axes), shape)
    if isinstance(value, Condition):
        return Condition(tuple(_moved_form(form, axes) for form in value.forms), shape)
    if isinstance(value, Constant):
        return Constant(value.value, shape)
    if isinstance(value, Tensor):
        return _moved_tensor(walk, value, axes, shape)
    raise Unplannable(f"a {type(value).__name__} is rearranged")


def _moved_tensor(walk: Walk, value: Tensor, axes: Axes, shape: tuple[int, ...]) -> Tensor:
    register = value.register
    if axes != tuple(range(len(register.lanes))):
        register = walk.view(register, axes)
    box = value.box
    if box is not None:
        box = tuple(None if axis is None else box[axis] for axis in axes)
    fill = value.fill
    if fill is not None:
        fill = rearranged(walk, fill, axes, shape)
    return Tensor(register, shape, box, fill)


def _planner(axes_of: Callable[[Op], Axes]) -> Callable[[Op, PlanCompiler], PlanStep]:
    def planner(op: Op, _compiler: PlanCompiler) -> PlanStep:
        slot, result = op.operand("source").id, op.results[0].id
        axes = axes_of(op)
        shape = value_type(op.results[0].type).shape

        def step(walk: Walk) -> None:
            walk.values[result] = rearranged(walk, walk.values[slot], axes, shape)

        return step

    return planner


@planned("tt.splat")
@_planner
def splat(op: Op) -> Axes:
    """Repeat a scalar."""
    return (None,) * len(value_type(op.results[0].type).shape)


@planned("tt.expand_dims")
@_planner
def expand_dims(op: Op) -> Axes:
    """Add an axis of extent 1."""
    axis = int(attribute(op, "axis"))
    rank = len(value_type(op.results[0].type).shape)
    return tuple(
        None if position == axis else position - (position > axis) for position in range(rank)
    )


@planned("tt.broadcast", "ttg.convert_layout")
@_planner
def broadcast(op: Op) -> Axes:
    """Repeat along axes of extent 1, which no value varies along."""
    return tuple(range(len(value_type(op.results[0].type).shape)))


@planned("tt.trans")
@_planner
def trans(op: Op) -> Axes:
    """Permute axes."""
    return tuple(attribute(op, "order"))


@planned("tt.reshape")
def reshape(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Give the elements another shape, in row-major order."""
    slot, result = op.operand("source").id, op.results[0].id
    source = value_type(op.operand("source").type).shape
    shape = value_type(op.results[0].type).shape
    kept = _only_unit_axes(source, shape)

    def step(walk: Walk) -> None:
        value = walk.values[slot]
        if kept is not None:
            walk.values[result] = rearranged(walk, value, kept, shape)
            return
        if isinstance(value, Constant):
            walk.values[result] = Constant(value.value, shape)
            return
        if isinstance(value, Integer | Pointer) and not value.form.lanes:
            walk.values[result] = rearranged(walk, value, (None,) * len(shape), shape)
            return
        if isinstance(value, Pointer):
            raise Unplannable("pointers are reshaped")
        register = walk.spread(value).register
        target = walk.register(register.axes, shape, register.dtype)
        walk.emit(Reshape(target, (register,)))
        walk.values[result] = Tensor(target, shape)

    return step


def _only_unit_axes(source: tuple[int, ...], shape: tuple[int, ...]) -> Axes | None:
    """Say which axis each one was if only axes of extent 1 come or go."""
    kept = [axis for axis, extent in enumerate(source) if extent != 1]
    if [source[axis] for axis in kept] != [extent for extent in shape if extent != 1]:
        return None
    remaining = iter(kept)
    return tuple(None if extent == 1 else next(remaining) for extent in shape)


@planned("arith.bitcast", "tt.bitcast")
def bitcast(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan a change of what pointers point to; bits of numbers go to the array function."""
    from kvtrace.evaluate.plan.bridge import bridged

    source, target = value_type(op.operand("source").type), value_type(op.results[0].type)
    slot, result = op.operand("source").id, op.results[0].id
    if not source.pointer and source.element != target.element:
        return bridged(op, compiler)

    def step(walk: Walk) -> None:
        walk.values[result] = walk.values[slot]

    return step
