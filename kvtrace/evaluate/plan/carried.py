"""Shapes of the registers that a loop carries: the program axes and lanes they vary over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvtrace.evaluate.plan.instructions import (
    Dot,
    Instruction,
    Load,
    Map,
    Ramp,
    Reduce,
    Store,
    View,
)
from kvtrace.evaluate.plan.values import Constant, Register, Tensor
from kvtrace.evaluate.plan.walk import Walk


class Shape(NamedTuple):
    """Flags of the program axes that a register varies over, and its physical lanes."""

    axes: tuple[bool, ...]
    lanes: tuple[int, ...]


def shape_of(walk: Walk, value: Constant | Tensor) -> Shape:
    """Return the shape of a value's register."""
    if isinstance(value, Tensor):
        return Shape(value.register.axes, value.register.lanes)
    return Shape((False,) * len(walk.axes), (1,) * len(value.shape))


def full_shape(walk: Walk, value: Constant | Tensor) -> Shape:
    """Return the shape of a register that varies over all axes."""
    return Shape((True,) * len(walk.axes), value.shape)


def joined(shape: Shape, other: Shape | Register) -> Shape:
    """Return the shape of a register that varies over the axes of both."""
    return Shape(
        tuple([a or b for a, b in zip(shape.axes, other.axes, strict=True)]),
        tuple([max(a, b) for a, b in zip(shape.lanes, other.lanes, strict=True)]),
    )


def are_reached(
    body: Sequence[Instruction],
    carried: Sequence[Register],
    outcomes: Sequence[Register],
    starts: Sequence[Shape],
    tried: Sequence[Shape],
) -> bool:
    """Return whether carried registers come to vary over the tried shapes, from their starts.

    `body` was planned with the tried shapes. False also for instructions of which it is not certain
    that a narrower operand changes no other instruction.
    """
    least: dict[Register, Shape] = dict(zip(carried, starts, strict=True))
    for instruction in body:
        if isinstance(instruction, Store):
            continue
        if type(instruction) not in _PLAIN and not isinstance(instruction, Dot):
            return False
        sources = instruction.sources()
        target = instruction.target
        if target is None:
            return False
        if not any(source in least for source in sources):
            continue  # it does not depend on carried registers
        shapes = [least.get(s) or Shape(s.axes, s.lanes) for s in sources]
        least[target] = _least(instruction, target, shapes)
    return all(
        joined(start, least.get(outcome, outcome)) == shape
        for start, outcome, shape in zip(starts, outcomes, tried, strict=True)
    )


_PLAIN = frozenset({Load, Map, Ramp, Reduce, View})


def _least(instruction: Instruction, target: Register, shapes: Sequence[Shape]) -> Shape:
    """Return the smallest shape of a result whose operands have the given shapes."""
    first, *others = shapes
    if isinstance(instruction, View):
        count = len(first.axes)
        moved = instruction.axes[count:]
        return Shape(
            first.axes, tuple([1 if axis is None else first.lanes[axis - count] for axis in moved])
        )
    if isinstance(instruction, Reduce):
        axis = instruction.axis
        return Shape(first.axes, first.lanes[:axis] + first.lanes[axis + 1 :])
    if isinstance(instruction, Dot):
        axes = tuple([any(flags) for flags in zip(*[shape.axes for shape in shapes], strict=True)])
        return Shape(axes, target.lanes)
    for other in others:
        first = joined(first, other)
    return first
