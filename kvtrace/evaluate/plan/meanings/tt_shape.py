"""Planning of ops that only rearrange elements."""

from __future__ import annotations

from collections.abc import Callable

from kvtrace.evaluate.errors import Unplannable
from kvtrace.evaluate.plan.instructions import Reshape
from kvtrace.evaluate.plan.meanings import PlanStep, planned
from kvtrace.evaluate.plan.steps import Axes, PlanCompiler, rearranged, unit_axes
from kvtrace.evaluate.plan.values import Constant, Integer, Pointer, Tensor
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.evaluate.types import value_type
from kvtrace.ir import Op
from kvtrace.ir.model import attribute


def _planner(axes_of: Callable[[Op], Axes]) -> Callable[[Op, PlanCompiler], PlanStep]:
    """Return a planner that moves lane axes as `axes_of(op)` says."""

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
    """Return the result's axes, all new, of a repeated scalar."""
    return (None,) * len(value_type(op.results[0].type).shape)


@planned("tt.expand_dims")
@_planner
def expand_dims(op: Op) -> Axes:
    """Return the source axis of each result axis, None for the new one of extent 1."""
    axis = int(attribute(op, "axis"))
    rank = len(value_type(op.results[0].type).shape)
    return tuple(
        None if position == axis else position - (position > axis) for position in range(rank)
    )


@planned("tt.broadcast", "ttg.convert_layout")
@_planner
def broadcast(op: Op) -> Axes:
    """Return all axes in their order: those of extent 1 need not be repeated."""
    return tuple(range(len(value_type(op.results[0].type).shape)))


@planned("tt.trans")
@_planner
def trans(op: Op) -> Axes:
    """Return the source axis of each result axis of a permutation."""
    return tuple(attribute(op, "order"))


@planned("tt.reshape")
def reshape(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan a change of shape, in row-major order."""
    slot, result = op.operand("source").id, op.results[0].id
    source = value_type(op.operand("source").type).shape
    shape = value_type(op.results[0].type).shape
    axes = unit_axes(source, shape)

    def step(walk: Walk) -> None:
        value = walk.values[slot]
        if axes is not None:
            walk.values[result] = rearranged(walk, value, axes, shape)
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
